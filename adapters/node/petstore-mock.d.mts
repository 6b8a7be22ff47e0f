export * from './petstore-mock.cjs';
