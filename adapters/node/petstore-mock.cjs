// The control door of petstore-mock: worlds, faults, journal, clock and verification, for tests in Node.
//
//     import { withWorld } from 'petstore-mock';
//     test('lists the animals', () => withWorld({ seed: [{ name: 'Rex' }] }, async (petstore) => { ... }));
//
// Each test gets a world of its own, with an address of its own. At its end the world is verified: a violation of the
// contract, and a fault that never fired, fail the test, and the error shows the requests.
//
// The file is a CommonJS module, because Jest loads no other one without an option. petstore-mock.mjs exports it again.

'use strict';

const { spawn } = require('node:child_process');
const { randomUUID } = require('node:crypto');

const DEFAULT = 'http://127.0.0.1:8080/v1';

// JSON with integers beyond 2^53, which Node would round. They become BigInt, as in petstore-adapter.mjs.
const MARK = `integer-${randomUUID()}:`;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function parseJson(text) {
  const isRounded = (token) => /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
  const marked = text.replace(TOKENS, (token) => (isRounded(token) ? `"${MARK}${token}"` : token));
  const isMarked = (value) => typeof value === 'string' && value.startsWith(MARK);
  return JSON.parse(marked, (_, value) => (isMarked(value) ? BigInt(value.slice(MARK.length)) : value));
}

function stringifyJson(value) {
  const marked = JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${MARK}${member}` : member));
  return marked.replaceAll(new RegExp(`"${MARK}(-?\\d+)"`, 'g'), '$1');
}

/** The door refused a call; the message says what it expected. */
class PetStoreMockError extends Error {
  name = 'PetStoreMockError';
}

/** The world has problems. The message lists them, and then the journal, with a curl command for each violation. */
class VerificationError extends Error {
  name = 'VerificationError';

  constructor(message, problems) {
    super(message);
    this.problems = problems;
  }
}

/** Start a stub in a process of its own, and tell createWorld() of this process and its children about it. */
async function startStub({ command = process.env.PETSTORE_MOCK_COMMAND ?? 'petstore-mock', args = [] } = {}) {
  const options = ['serve', '--port', '0', '--log-format', 'json', '--quiet', ...args];
  const stub = spawn(command, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  const first = await new Promise((resolve, reject) => {
    let text = '';
    const failed = (why) => reject(new PetStoreMockError(`expected '${command} serve' to start; ${why}. Install it with: pip install petstore-mock`));
    stub.once('error', (error) => failed(error.message));
    stub.once('exit', (code) => failed(`it ended with code ${code}`));
    stub.stdout.setEncoding('utf8');
    stub.stdout.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) resolve(JSON.parse(text.slice(0, text.indexOf('\n'))));
    });
  });
  const before = process.env.PETSTORE_URL;
  process.env.PETSTORE_URL = first.url;
  const ended = new Promise((resolve) => stub.once('exit', resolve));
  // The stub must not keep the tests alive, and must not outlive them.
  const kill = () => stub.kill();
  process.once('exit', kill);
  stub.unref();
  stub.stdout.unref();
  return {
    url: first.url,
    async stop() {
      process.off('exit', kill);
      if (before === undefined) delete process.env.PETSTORE_URL;
      else process.env.PETSTORE_URL = before;
      stub.ref();
      stub.kill();
      await ended;
    },
  };
}

/** Make a world at the stub, which `stub` or the variable PETSTORE_URL names. Options are those of the door. */
async function createWorld({ stub = process.env.PETSTORE_URL ?? DEFAULT, token = process.env.PETSTORE_CONTROL_TOKEN, ...options } = {}) {
  const root = stub.replace(/\/(v1\/?)?$/, '');
  const name = `js-${randomUUID()}`;
  const door = new Door(`${root}/w/${name}/__petstore`, token);
  return new World(door, name, await door.send('PUT', 'world', { strict: true, ...options }));
}

/** Run a test in a world of its own, verify the world, and end it. If the test fails, its error shows the requests. */
async function withWorld(options, test) {
  const petstore = await createWorld(options);
  let result;
  try {
    result = await test(petstore);
  } catch (error) {
    // The error of the test counts, even if the stub has gone.
    await petstore.explain(error).catch(() => undefined);
    await petstore.end().catch(() => undefined);
    throw error;
  }
  await petstore.close();
  return result;
}

class Door {
  constructor(address, token) {
    this.address = address;
    this.headers = token === undefined ? {} : { 'Petstore-Control-Token': token };
  }

  async send(method, path, body) {
    const json = body === undefined ? {} : { body: stringifyJson(body) };
    const headers = body === undefined ? this.headers : { ...this.headers, 'Content-Type': 'application/json' };
    let response;
    try {
      response = await fetch(`${this.address}/${path}`, { method, headers, ...json });
    } catch (error) {
      const why = error.cause?.message ?? error.message;
      throw new PetStoreMockError(`expected a stub at ${this.address}: ${why}. Start one with startStub(), or set PETSTORE_URL`, { cause: error });
    }
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const value = isJson && text !== '' ? parseJson(text) : text || undefined;
    if (!response.ok) throw new PetStoreMockError(value?.detail ?? `${method} ${path}: ${response.status} ${text}`);
    return value;
  }
}

class World {
  #door;
  #ended = false;

  constructor(door, name, made) {
    this.#door = door;
    this.name = name;
    this.url = made.url;
    this.apiKey = made.api_key;
    this.headers = { Authorization: `Bearer ${made.api_key}` };
    this.journal = new Journal(door);
    this.clock = new Clock(door);
  }

  /** Send any operation of the door. */
  door(method, path, body) {
    return this.#door.send(method, path, body);
  }

  /** Add one animal. Fields that are left out get plausible values; `status` stays absent. */
  async seed(pet = {}) {
    return (await this.door('POST', 'pets', pet)).pets[0];
  }

  /** Add several animals, or a number of them. */
  async seedMany(pets) {
    return (await this.door('POST', 'pets', typeof pets === 'number' ? { count: pets } : pets)).pets;
  }

  async pets() {
    return (await this.door('GET', 'pets')).pets;
  }

  update(petId, changes) {
    return this.door('PATCH', `pets/${petId}`, changes);
  }

  remove(petId) {
    return this.door('DELETE', `pets/${petId}`);
  }

  /** Plan a fault: a status, or a kind with its arguments, such as { kind: 'delay', seconds: 0.2 }. */
  async inject(fault, rule = {}) {
    const { id } = await this.door('POST', 'faults', { fault, ...rule });
    return {
      id,
      hits: async () => (await this.faults()).find((one) => one.id === id)?.hits ?? 0,
      cancel: () => this.door('DELETE', `faults/${id}`),
    };
  }

  async faults() {
    return (await this.door('GET', 'faults')).faults;
  }

  cancelFaults() {
    return this.door('DELETE', 'faults');
  }

  /** Choose alternatives for gaps, such as { list_order: 'by_name' }. */
  configure(gaps) {
    return this.door('PATCH', 'behaviour', gaps);
  }

  async issueKey(expires = null) {
    return (await this.door('POST', 'keys', { expires })).api_key;
  }

  revokeKey(apiKey = this.apiKey) {
    return this.door('DELETE', `keys/${encodeURIComponent(apiKey)}`);
  }

  reset() {
    return this.door('POST', 'world/reset');
  }

  /** Fail with a VerificationError if the client broke the contract, or a planned fault never fired. */
  async verify() {
    await this.#judge(await this.door('POST', 'world/verification'));
  }

  /** Verify the world and end it. Call it after each test. */
  async close() {
    if (this.#ended) return;
    const journal = await this.journal.text();
    await this.#judge(await this.end(), journal);
  }

  /** End the world without a verification, and return the problems. */
  async end() {
    this.#ended = true;
    return this.door('DELETE', 'world');
  }

  [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    return this.close();
  }

  /** Add the journal to the message of an error. */
  async explain(error) {
    if (!(error instanceof Error)) return;
    const { problems } = await this.door('GET', 'world/verification');
    const also = problems.map((problem) => `also: ${problem.message}`);
    const text = [...also, ...(await this.#report())].join('\n');
    const message = `${error.message}\n${text}`;
    // Test runners print the stack, which begins with the message.
    error.stack = error.stack?.replace(error.message, () => message);
    error.message = message;
  }

  async #judge({ problems }, journal) {
    if (problems.length === 0) return;
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    const lines = problems.map((problem) => problem.message);
    const report = await this.#report(journal);
    throw new VerificationError([`petstore: ${count}`, ...lines, ...report].join('\n'), problems);
  }

  async #report(journal) {
    return ['', `petstore journal of ${this.url}:`, journal ?? (await this.journal.text())];
  }
}

class Journal {
  #door;

  constructor(door) {
    this.#door = door;
  }

  /** Return the requests, oldest first; filters are operation, status, violations, after, limit and last. */
  async list(filters = {}) {
    const query = new URLSearchParams(Object.entries(filters).map(([name, value]) => [name, String(value)]));
    return (await this.#door.send('GET', `requests?${query}`)).requests;
  }

  /** Return the newest request, or undefined. */
  async last() {
    return (await this.list({ last: 1 }))[0];
  }

  /** Fail unless the client has sent matching requests: exactly `times`, or at least one. The error shows near misses. */
  async assertCalled(operation, { times, ...where } = {}) {
    const asked = { operation, where, ...(times === undefined ? {} : { times }) };
    const { passed, message } = await this.#door.send('POST', 'requests/assert', asked);
    if (!passed) throw new VerificationError(message, []);
  }

  assertNotCalled(operation) {
    return this.assertCalled(operation, { times: 0 });
  }

  /** Wait for matching requests, and return them. Fail after `timeout` seconds. */
  async waitFor(operation, { times = 1, timeout = 1, ...where } = {}) {
    const { met, requests } = await this.#door.send('POST', 'requests/wait', { operation, times, timeout, where });
    if (!met) throw new VerificationError(`expected ${operation} ${times} times within ${timeout} s; got ${requests.length}\n${await this.text()}`, []);
    return requests;
  }

  clear() {
    return this.#door.send('DELETE', 'requests');
  }

  /** Return the journal as text, with the violations and a curl command for each. */
  text() {
    return this.#door.send('GET', 'requests.txt');
  }
}

class Clock {
  #door;

  constructor(door) {
    this.#door = door;
  }

  now() {
    return this.#door.send('GET', 'clock').then((clock) => new Date(clock.now));
  }

  travelTo(moment) {
    return this.#door.send('PATCH', 'clock', { travel_to: moment instanceof Date ? moment.toISOString() : moment });
  }

  advance(amounts) {
    return this.#door.send('PATCH', 'clock', { advance: amounts });
  }

  freeze() {
    return this.#door.send('PATCH', 'clock', { freeze: true });
  }

  unfreeze() {
    return this.#door.send('PATCH', 'clock', { freeze: false });
  }
}

module.exports = { PetStoreMockError, VerificationError, createWorld, startStub, withWorld };
