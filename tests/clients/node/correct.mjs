// Correct clients of the pet store service in Node, on five HTTP libraries. A buggy client replaces one method.
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import axios from 'axios';
import got from 'got';
import { Agent, Pool, request } from 'undici';
import { parseJson, stringifyJson } from '../../../adapters/node/petstore-adapter.mjs';

export class StatusError extends Error {
  constructor(status) {
    super(`the service returned ${status}`);
    this.status = status;
  }
}

/** The body of a response is no JSON. */
export class UnreadableError extends Error {}

/** What all clients share. Each library has its own `send`, which returns `{ status, headers, text }`. */
export class Pets {
  constructor(url, key, timeout) {
    Object.assign(this, { url, key, timeout: timeout * 1000 });
  }

  async list(given) {
    return this.read(await this.ask('GET', `/pets${this.query(given)}`), 200);
  }

  async create(pet) {
    return this.read(await this.ask('POST', '/pets', this.body(pet)), 201);
  }

  async get(petId) {
    return this.read(await this.ask('GET', `/pets/${petId}`), 200);
  }

  async close() {}

  query(given) {
    const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== undefined));
    return query.size ? `?${query}` : '';
  }

  body(pet) {
    return stringifyJson(pet);
  }

  headers(body) {
    const own = { authorization: `Bearer ${this.key}` };
    return body === undefined ? own : { ...own, 'content-type': 'application/json' };
  }

  ask(method, path, body) {
    return this.send(method, this.url + path, body, this.headers(body));
  }

  signal() {
    return AbortSignal.timeout(this.timeout);
  }

  read({ status, text }, success) {
    if (status !== success) throw this.refused(status);
    return this.parse(text);
  }

  refused(status) {
    return new StatusError(status);
  }

  parse(text) {
    try {
      return parseJson(text);
    } catch (error) {
      throw new UnreadableError('no JSON', { cause: error });
    }
  }
}

/** On `fetch`. Its connections belong to the process. */
export class FetchPets extends Pets {
  redirect = 'manual';

  async send(method, url, body, headers) {
    const given = { method, headers, body, signal: this.signal(), redirect: this.redirect };
    const response = await fetch(url, given);
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  }
}

/** On undici's `request`, with an agent of its own. */
export class UndiciPets extends Pets {
  constructor(...given) {
    super(...given);
    this.dispatcher = this.opened();
  }

  opened() {
    return new Agent({ headersTimeout: this.timeout, bodyTimeout: this.timeout });
  }

  async send(method, url, body, headers) {
    const given = { method, headers, body, dispatcher: this.dispatcher, signal: this.signal() };
    const response = await request(url, given);
    return { status: response.statusCode, headers: response.headers, text: await this.text(response.body) };
  }

  text(body) {
    return body.text();
  }

  close() {
    return this.dispatcher.destroy();
  }
}

/** On undici, with a pool for one origin. */
export class PoolPets extends UndiciPets {
  opened() {
    return new Pool(new URL(this.url).origin, { connections: 2 });
  }
}

/** On `node:http`, with an agent that keeps connections. */
export class HttpPets extends Pets {
  constructor(...given) {
    super(...given);
    this.agent = this.opened();
  }

  opened() {
    return new http.Agent({ keepAlive: true });
  }

  send(method, url, body, headers) {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': this.length(body) };
      const given = { method, agent: this.agent, signal: this.signal(), headers: { ...headers, ...length } };
      const request = http.request(url, given, (response) => this.received(response, resolve, reject));
      this.listen(request, reject);
      request.end(body);
    });
  }

  listen(request, reject) {
    request.on('error', reject);
  }

  length(body) {
    return Buffer.byteLength(body);
  }

  received(response, resolve, reject) {
    const chunks = [];
    response.on('data', (chunk) => chunks.push(chunk));
    response.on('error', reject);
    response.on('end', () => {
      resolve({ status: response.statusCode, headers: response.headers, text: this.joined(chunks) });
    });
  }

  joined(chunks) {
    return Buffer.concat(chunks).toString();
  }

  async close() {
    this.agent.destroy();
  }
}

/** On `node:http`, with a connection for each request. */
export class UnpooledPets extends HttpPets {
  opened() {
    return new http.Agent({ keepAlive: false });
  }
}

/** On axios. */
export class AxiosPets extends Pets {
  constructor(...given) {
    super(...given);
    this.agent = new http.Agent({ keepAlive: true });
    this.axios = axios.create({
      proxy: false,
      maxRedirects: 0,
      httpAgent: this.agent,
      responseType: 'text',
      transformResponse: (text) => text,
      transformRequest: (body) => body,
      validateStatus: () => true,
      ...this.settings(),
    });
  }

  settings() {
    return {};
  }

  async send(method, url, data, headers) {
    const response = await this.axios.request({ method, url, data, headers, signal: this.signal() });
    return { status: response.status, headers: response.headers, text: response.data };
  }

  async close() {
    this.agent.destroy();
  }
}

/** On got. */
export class GotPets extends Pets {
  constructor(...given) {
    super(...given);
    this.agent = new http.Agent({ keepAlive: true });
    this.got = got.extend({
      agent: { http: this.agent },
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      timeout: { request: this.timeout },
      ...this.settings(),
    });
  }

  settings() {
    return {};
  }

  async send(method, url, body, headers) {
    const response = await this.got(url, { method, body, headers });
    return { status: response.statusCode, headers: response.headers, text: response.body };
  }

  async close() {
    this.agent.destroy();
  }
}

/** Sends a read again after a 429 or 503, when `Retry-After` says, and only if that is soon. */
export class RetryingPets extends HttpPets {
  tries = 1;

  async ask(method, path, body) {
    const response = await super.ask(method, path, body);
    const wait = this.wait(response.headers['retry-after']);
    const isTemporary = response.status === 429 || response.status === 503;
    if (method !== 'GET' || !isTemporary || wait === undefined) return response;
    await pause(wait);
    return super.ask(method, path, body);
  }

  /** Returns the milliseconds to wait, or undefined for no second try. */
  wait(hint = '') {
    const wait = /^\d+$/.test(hint) ? Number(hint) * 1000 : Date.parse(hint) - Date.now() + 1000;
    return wait <= 2500 ? Math.max(wait, 0) : undefined;
  }
}

export const CORRECT = {
  FetchPets,
  UndiciPets,
  PoolPets,
  HttpPets,
  UnpooledPets,
  AxiosPets,
  GotPets,
  RetryingPets,
};
