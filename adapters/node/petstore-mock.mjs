// The module for `import`; see petstore-mock.cjs.
export { PetStoreMockError, VerificationError, createWorld, startStub, withWorld } from './petstore-mock.cjs';
