import type { Animal, AnimalChanges, Amounts, Behaviour, Clock as ClockState, Criteria, Exchange, Fault, GapChoices } from './door.cjs';
import type { NewAnimal, Operations, PlannedFault, Problem, Verification } from './door.cjs';

export * from './door.cjs';

type Body<Name extends keyof Operations> = Operations[Name]['body'];
type Result<Name extends string> = Name extends keyof Operations ? Operations[Name]['result'] : any;
type Sent<Name extends string> = Name extends keyof Operations ? Operations[Name]['body'] : unknown;
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type OperationName = NonNullable<PlannedFault['on']>;
export type Rule = Omit<Body<'POST faults'>, 'fault'>;
export type WorldOptions = Body<'PUT world'>;

/** The door refused a call; the message says what it expected. */
export class PetStoreMockError extends Error {}

/** The world has problems. The message lists them, and then the journal, with a curl command for each violation. */
export class VerificationError extends Error {
  problems: Problem[];
}

export interface Stub {
  /** The base address of the stub, ending in /v1. */
  url: string;
  stop(): Promise<void>;
}

/**
 * Start a stub in a process of its own, and tell createWorld() of this process and its children about it.
 * `command` is the program, `petstore-mock` by default; `args` are further options of `serve`.
 */
export function startStub(options?: { command?: string; args?: string[] }): Promise<Stub>;

/** Make a world at the stub, which `stub` or the variable PETSTORE_URL names. It is strict by default. */
export function createWorld(options?: WorldOptions & { stub?: string; token?: string }): Promise<World>;

/** Run a test in a world of its own, verify the world, and end it. If the test fails, its error shows the requests. */
export function withWorld<T>(
  options: WorldOptions & { stub?: string; token?: string },
  test: (petstore: World) => T | Promise<T>,
): Promise<T>;

export interface PlannedHandle {
  id: number;
  hits(): Promise<number>;
  cancel(): Promise<void>;
}

/** The state that one test sees. */
export interface World {
  readonly name: string;
  /** The base address for the client, ending in /v1. */
  readonly url: string;
  readonly apiKey: string;
  readonly headers: { Authorization: string };
  readonly journal: Journal;
  readonly clock: Clock;
  /** Add one animal. Fields that are left out get plausible values; `status` stays absent. */
  seed(pet?: NewAnimal): Promise<Animal>;
  /** Add several animals, or a number of them. */
  seedMany(pets: number | NewAnimal[]): Promise<Animal[]>;
  pets(): Promise<Animal[]>;
  /** Change an animal, as another actor of the store would. null removes the status. */
  update(petId: number | bigint, changes: AnimalChanges): Promise<Animal>;
  /** Remove an animal, as another actor of the store would. */
  remove(petId: number | bigint): Promise<void>;
  /** Plan a fault: a status, or a kind with its arguments, such as { kind: 'delay', seconds: 0.2 }. */
  inject(fault: Fault, rule?: Rule): Promise<PlannedHandle>;
  faults(): Promise<PlannedFault[]>;
  cancelFaults(): Promise<void>;
  /** Choose alternatives for gaps, such as { list_order: 'by_name' }. */
  configure(gaps: GapChoices): Promise<Behaviour>;
  issueKey(expires?: number | string | null): Promise<string>;
  revokeKey(apiKey?: string): Promise<void>;
  reset(): Promise<unknown>;
  /** Fail with a VerificationError if the client broke the contract, or a planned fault never fired. */
  verify(): Promise<void>;
  /** Verify the world and end it. Call it after each test. */
  close(): Promise<void>;
  /** End the world without a verification, and return the problems. */
  end(): Promise<Verification>;
  /** Add the journal to the message of an error. */
  explain(error: unknown): Promise<void>;
  /** Send any operation of the door; `GET gaps`, for example. */
  door<M extends Method, Path extends string>(method: M, path: Path, body?: Sent<`${M} ${Path}`>): Promise<Result<`${M} ${Path}`>>;
}

export interface Journal {
  /** Return the requests, oldest first. */
  list(filters?: {
    operation?: OperationName;
    status?: number;
    violations?: boolean;
    after?: number;
    limit?: number;
    last?: number;
  }): Promise<Exchange[]>;
  last(): Promise<Exchange | undefined>;
  /** Fail unless the client has sent matching requests: exactly `times`, or at least one. The error shows near misses. */
  assertCalled(operation: OperationName, criteria?: Criteria & { times?: number }): Promise<void>;
  assertNotCalled(operation?: OperationName): Promise<void>;
  /** Wait for matching requests, and return them. Fail after `timeout` seconds. */
  waitFor(operation: OperationName, criteria?: Criteria & { times?: number; timeout?: number }): Promise<Exchange[]>;
  clear(): Promise<void>;
  /** Return the journal as text, with the violations and a curl command for each. */
  text(): Promise<string>;
}

export interface Clock {
  now(): Promise<Date>;
  travelTo(moment: string | Date): Promise<ClockState>;
  advance(amounts: Amounts): Promise<ClockState>;
  freeze(): Promise<ClockState>;
  unfreeze(): Promise<ClockState>;
}
