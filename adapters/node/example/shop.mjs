// A client on fetch, with its own error classes. Its ids are exact, because it reads JSON with parseJson.
import { parseJson, stringifyJson } from '../petstore-adapter.mjs';

export class ShopError extends Error {}
export class StatusError extends ShopError {
  constructor(status) {
    super(`the service returned ${status}`);
    this.status = status;
  }
}
export class Unreachable extends ShopError {}
export class Unreadable extends ShopError {}

export class ShopClient {
  constructor(url, apiKey, { timeout = 1 } = {}) {
    this.url = url;
    this.headers = { Authorization: `Bearer ${apiKey}` };
    this.timeout = timeout;
  }

  list({ limit, status } = {}) {
    const query = new URLSearchParams();
    if (limit !== undefined) query.set('limit', limit);
    if (status !== undefined) query.set('status', status);
    return this.ask('GET', `/pets${query.size ? `?${query}` : ''}`, 200);
  }

  create(pet) {
    return this.ask('POST', '/pets', 201, pet);
  }

  get(petId) {
    return this.ask('GET', `/pets/${petId}`, 200);
  }

  async ask(method, path, success, pet) {
    const headers = pet === undefined ? this.headers : { ...this.headers, 'Content-Type': 'application/json' };
    const body = pet === undefined ? undefined : stringifyJson(pet);
    const signal = AbortSignal.timeout(this.timeout * 1000);
    let status, text;
    try {
      const response = await fetch(this.url + path, { method, headers, body, signal, redirect: 'manual' });
      status = response.status;
      text = await response.text();
    } catch (error) {
      throw new Unreachable('no response', { cause: error });
    }
    if (status !== success) throw new StatusError(status);
    try {
      return parseJson(text);
    } catch (error) {
      throw new Unreadable('no JSON', { cause: error });
    }
  }
}
