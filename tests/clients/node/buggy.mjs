// Clients with bugs that people reported. Each replaces one method of a correct client.
import { parseJson } from '../../../adapters/node/petstore-adapter.mjs';
import { AxiosPets, FetchPets, GotPets, HttpPets, RetryingPets, StatusError, UndiciPets } from './correct.mjs';

// What is sent

/** Sends the text "undefined" for an argument that was not given (samchon/nestia#268). */
class UndefinedInQuery extends FetchPets {
  query({ limit, status }) {
    return `?${new URLSearchParams({ limit, status })}`;
  }
}

/** Counts UTF-16 units for Content-Length, not bytes (optimizely/javascript-sdk#1155). */
class LengthOfText extends HttpPets {
  length(body) {
    return body.length;
  }
}

/** Leaves fetch's own text/plain (strapi/client#47). */
class NoContentType extends FetchPets {
  headers() {
    return super.headers();
  }
}

/** Rounds the ids of its arguments (christophergregory/shopify-node-api#42). */
class RoundsArguments extends UndiciPets {
  get(petId) {
    return super.get(Number(petId));
  }
}

/** Sends all headers, with the key, to the target of a redirection (axios/axios#2855). */
class KeyTakenAlong extends HttpPets {
  async send(method, url, body, headers) {
    const response = await super.send(method, url, body, headers);
    const isRead = method === 'GET' && response.status >= 301 && response.headers.location;
    return isRead ? super.send(method, new URL(response.headers.location, url), body, headers) : response;
  }
}

/** Follows the redirection of a POST with a GET (axios/axios#3607). */
class PostFollowed extends AxiosPets {
  settings() {
    return { maxRedirects: 5 };
  }

  read({ status, text }, success) {
    return super.read({ status: status === 200 ? success : status, text }, success);
  }
}

/** Sends requests for the local machine to the proxy (axios/axios#2667). */
class ProxyForAll extends AxiosPets {
  settings() {
    const proxy = process.env.http_proxy && new URL(process.env.http_proxy);
    return proxy ? { proxy: { host: proxy.hostname, port: proxy.port } } : {};
  }
}

// What is read

/** Asks for gzip, and does not unpack it (cozy/request-json#58). */
class GzipNotUnpacked extends HttpPets {
  headers(body) {
    return { ...super.headers(body), 'accept-encoding': 'gzip' };
  }
}

/** Rounds the ids of results (brettlangdon/node-dogapi#16). */
class RoundsResults extends FetchPets {
  parse(text) {
    return JSON.parse(text);
  }
}

/** Returns a large id as text (manticoresoftware/manticoresearch-javascript#13). */
class IdsAsText extends FetchPets {
  parse(text) {
    return JSON.parse(text.replace(/"id":\s*(-?\d{16,})/g, '"id": "$1"'));
  }
}

/** Decodes each chunk alone, so a character between two chunks breaks (faye/faye#149). */
class ChunksDecodedAlone extends HttpPets {
  joined(chunks) {
    return chunks.map(String).join('');
  }
}

/** Never looks at the status (open-telemetry/opentelemetry-demo#3782). */
class StatusIgnored extends FetchPets {
  read({ text }) {
    return this.parse(text);
  }
}

/** Takes every 2xx for a success (whatwg/fetch#18 recommends `ok`). */
class AnyTwoHundred extends FetchPets {
  read({ status, text }) {
    if (status < 200 || status > 299) throw this.refused(status);
    return this.parse(text);
  }
}

/** Parses the page of a gateway before it looks at the status (Agoric/agoric-sdk#12522). */
class ParsesBeforeStatus extends FetchPets {
  read({ status, text }, success) {
    const document = parseJson(text);
    if (status !== success) throw this.refused(status);
    return document;
  }
}

/** Returns null for every failure (currents-dev/currents-mcp#163). */
class NullForFailure extends FetchPets {
  create(pet) {
    return super.create(pet).catch(() => null);
  }
}

/** Reads the body of a refused request a second time (FalkorDB/falkordb-browser#259). */
class BodyReadTwice extends FetchPets {
  async send(method, url, body, headers) {
    const response = await fetch(url, { method, headers, body, signal: this.signal(), redirect: 'manual' });
    const text = await response.text();
    if (response.status >= 400) await response.json();
    return { status: response.status, headers: {}, text };
  }
}

// Time

/** Has no timeout (dmuth/IsSeptaFcked#37). */
class NoTimeout extends FetchPets {
  signal() {
    return undefined;
  }
}

/** Passes `timeout` to fetch, which has no such option (node-fetch/node-fetch#885). */
class TimeoutNotAnOption extends FetchPets {
  async send(method, url, body, headers) {
    const response = await fetch(url, { method, headers, body, timeout: this.timeout, redirect: 'manual' });
    return { status: response.status, headers: {}, text: await response.text() };
  }
}

/** Rejects with a text after its timeout, and leaves the request alone (Flagsmith/flagsmith-nodejs-client#160). */
class TimeoutOfPromise extends FetchPets {
  signal() {
    return undefined;
  }

  ask(...given) {
    const late = new Promise((_, reject) => setTimeout(() => reject('error: timeout'), this.timeout).unref());
    return Promise.race([super.ask(...given), late]);
  }
}

// Sending again

/** Sends a create again after its timeout (sindresorhus/got#786). */
class PostRetried extends GotPets {
  settings() {
    return { retry: { limit: 1, methods: ['GET', 'POST'] }, timeout: { request: this.timeout / 2 } };
  }
}

/** Sends each failed read again and again (unkeyed/unkey#7119). */
class RetriesManyTimes extends HttpPets {
  async ask(...given) {
    let response = await super.ask(...given);
    const isRead = given[0] === 'GET';
    for (let tries = 0; isRead && response.status >= 500 && tries < 30; tries++) response = await super.ask(...given);
    return response;
  }
}

/** Waits for no time if Retry-After is a date (elizaOS/eliza#22162). */
class DateIsNoNumber extends RetryingPets {
  wait(hint) {
    return hint === undefined ? undefined : Math.min(parseInt(hint, 10) * 1000, 2500);
  }
}

/** Computes the wait from the number that it has made of the date (nodejs/undici#4084). */
class DateOfNumber extends RetryingPets {
  wait(hint) {
    if (hint === undefined) return undefined;
    const seconds = Number(hint);
    return Number.isNaN(seconds) ? new Date(seconds).getTime() - Date.now() : Math.min(seconds * 1000, 2500);
  }
}

/** Uses the body of a request again, which is consumed (sindresorhus/ky#230). */
class BodyConsumed extends FetchPets {
  async send(method, url, body, headers) {
    const request = new Request(url, { method, headers, body, redirect: 'manual', signal: this.signal() });
    let response = await fetch(request);
    if (response.status === 401) response = await fetch(request);
    return { status: response.status, headers: {}, text: await response.text() };
  }
}

// The key

/** Puts the whole request into the message of an error (axios/axios#6919). */
class KeyInError extends AxiosPets {
  refused(status) {
    const error = new StatusError(status);
    error.message += ` for ${JSON.stringify(this.headers())}`;
    return error;
  }
}

/** Logs a failed request with its headers (clusterzx/paperless-ai#966). */
class KeyLogged extends AxiosPets {
  refused(status) {
    console.error('request failed', this.headers());
    return super.refused(status);
  }
}

/** Warns of a refused key, and shows it (alexandercerutti/passkit-webservice-toolkit#4). */
class KeyInWarning extends FetchPets {
  refused(status) {
    if (status === 401) process.emitWarning(`Authorization token validation failed. Received: ${this.key}`);
    return super.refused(status);
  }
}

// Connections and the process

/** Does not read the bodies of refused requests, so their connections stay (vercel/storage#91). */
class BodyNotConsumed extends HttpPets {
  received(response, resolve, reject) {
    if (response.statusCode < 400) return super.received(response, resolve, reject);
    resolve({ status: response.statusCode, headers: response.headers, text: '' });
  }

  async close() {}
}

/** Keeps the connections of its agent after its close (node-modules/agentkeepalive#17). */
class AgentKept extends HttpPets {
  async close() {}
}

/** Has no listener for errors of a connection (aacerox/node-rest-client#97). */
class ErrorsUnheard extends HttpPets {
  signal() {
    return undefined;
  }

  listen(request) {
    request.setTimeout(this.timeout, () => request.destroy());
  }
}

/** Starts a promise that nobody awaits (matrix-org/matrix-hookshot#612). */
class PromiseUnheard extends HttpPets {
  create(pet) {
    const created = super.create(pet);
    this.counted(created);
    return created;
  }

  async counted(created) {
    this.last = await created;
  }
}

/** Leaves its own timeout running after a failed request (sindresorhus/got#974). */
class TimeoutNotCleared extends HttpPets {
  async ask(...given) {
    const late = setTimeout(() => {
      throw new Error('the request timed out');
    }, this.timeout / 2);
    const response = await super.ask(...given);
    clearTimeout(late);
    return response;
  }
}

/** Cleans up after an error, which causes the same error, and blocks the event loop (sindresorhus/wait-for-localhost#19). */
class CleansUpForEver extends HttpPets {
  ask(...given) {
    return super.ask(...given).catch(() => new Promise(() => this.cleanUp()));
  }

  cleanUp() {
    process.nextTick(() => this.cleanUp());
  }
}

/** Hears neither the error nor the end of a response that is cut off (sindresorhus/got#1096). */
class CutUnheard extends HttpPets {
  received(response, resolve) {
    super.received(response, resolve, () => {});
  }
}

/** Takes the lock again that it holds, to try again after a 401 (medplum/medplum#10559). */
class LockTakenAgain extends FetchPets {
  lock = Promise.resolve();

  async ask(...given) {
    const before = this.lock;
    let release;
    this.lock = new Promise((resolve) => (release = resolve));
    await before;
    try {
      const response = await super.ask(...given);
      return response.status === 401 ? await this.ask(...given) : response;
    } finally {
      release();
    }
  }
}

/** Keeps its timer after its close, and the process with it (simonlast/node-persist#76). */
class TimerKept extends UndiciPets {
  timer = setInterval(() => {}, 60_000);
}

export const BUGGY = {
  UndefinedInQuery,
  LengthOfText,
  NoContentType,
  RoundsArguments,
  KeyTakenAlong,
  PostFollowed,
  ProxyForAll,
  GzipNotUnpacked,
  RoundsResults,
  IdsAsText,
  ChunksDecodedAlone,
  StatusIgnored,
  AnyTwoHundred,
  ParsesBeforeStatus,
  NullForFailure,
  BodyReadTwice,
  NoTimeout,
  TimeoutNotAnOption,
  TimeoutOfPromise,
  PostRetried,
  RetriesManyTimes,
  DateIsNoNumber,
  DateOfNumber,
  BodyConsumed,
  KeyInError,
  KeyLogged,
  KeyInWarning,
  BodyNotConsumed,
  AgentKept,
  ErrorsUnheard,
  PromiseUnheard,
  TimeoutNotCleared,
  CleansUpForEver,
  CutUnheard,
  LockTakenAgain,
  TimerKept,
};
