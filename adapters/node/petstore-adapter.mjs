// The kit for clients in Node: copy this file into your project. It needs Node 18 or newer, and no package.
//
//     import { serve } from './petstore-adapter.mjs';
//     serve({ open, listPets, createPet, getPet, close, error });
//
// `open({ url, apiKey, timeout, ca })` returns a client. Every other function takes the client, and the arguments by the
// names of the interface. All of them may be async. `close` and `error` are optional. With `cancel: true`, the functions of
// calls get a third argument, `{ signal }`, and the check cancels calls by this AbortSignal.

const VERSION = 1;
const OWN = new Set(['open', 'close', 'error', 'cancel']);
const MARK = `integer-${globalThis.crypto?.randomUUID?.() ?? Math.random()}:`;

// JSON with integers beyond 2^53, which Node would round. They become BigInt.

export function parseJson(text) {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
    /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${MARK}${token}"` : token,
  );
  return JSON.parse(marked, (_, value) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}

export function stringifyJson(value) {
  const marked = JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${MARK}${member}` : member));
  return marked === undefined ? 'null' : marked.replaceAll(new RegExp(`"${MARK}(-?\\d+)"`, 'g'), '$1');
}

// What an error means, for the errors of Node, fetch, undici, axios and got. Your own classes need `error`.

const UNREADABLE = /^(HPE_|Z_|ERR_BODY_PARSE|ERR_BAD_RESPONSE_BODY|ERR_TOO_MANY_REDIRECTS|ERR_FR_)/;
const LOST = /^(E[A-Z]+|UND_ERR_\w+|ERR_NETWORK|ERR_STREAM_PREMATURE_CLOSE|ERR_READING_RESPONSE_STREAM)$/;

export function errorOf(error) {
  for (let link = error; link != null; link = link.cause) {
    const status = link.status ?? link.statusCode ?? link.response?.status ?? link.response?.statusCode;
    const code = String(link.code ?? '');
    // An error with the status of a success means that the body is broken.
    const isBroken = link instanceof SyntaxError || link.name === 'HTTPParserError' || (status >= 200 && status < 300);
    if (isBroken || UNREADABLE.test(code)) return { kind: 'protocol' };
    if (/TIMEDOUT|TIMEOUT|ECONNABORTED/.test(code) || /^(Abort|Timeout|Canceled)Error$/.test(link.name)) return { kind: 'timeout' };
    if (Number.isInteger(status)) return { kind: 'status', status };
    if (LOST.test(code)) return { kind: 'transport' };
  }
  return { kind: 'other' };
}

class CancelledError extends Error {
  kind = 'cancelled';
}

/** A call whose promise can't settle any more. Without the adapter, Node would end the program with exit code 13. */
class NeverSettledError extends Error {
  kind = 'other';
}

const IDLE = 4000; // milliseconds without a timer, a connection, or anything else that could settle a promise
const LOOKS = 20; // in this time
const BUSY = 0.1; // the part of a time in which a thread that computes uses a processor, at least
const STREAM = /^(Pipe|TTY)Wrap$/;

let streams = 0; // that stand open when the adapter begins
let workers = 0; // threads of the client
process.on('worker', (worker) => {
  workers += 1;
  worker.once('exit', () => (workers -= 1));
});

/**
 * Whether nothing keeps the process alive beside its standard streams: no timer, no connection, no file, no program.
 * An empty list comes from a runtime that does not tell.
 */
function isAtRest() {
  const active = process.getActiveResourcesInfo?.() ?? [];
  const others = active.filter((name) => !STREAM.test(name));
  const isQuiet = others.length === 0 && active.length <= streams;
  return workers === 0 && active.length > 0 && isQuiet;
}

/** Returns the result of a call, or rejects if nothing is left that could settle its promise. */
function settled(call) {
  return new Promise((resolve, reject) => {
    let looks = 0;
    let before = process.cpuUsage();
    const look = () => {
      // Compressing, encrypting and the like use a processor, and no resource that Node lists.
      const used = process.cpuUsage(before);
      before = process.cpuUsage();
      const computes = used.user + used.system > (BUSY * 1000 * IDLE) / LOOKS;
      looks = isAtRest() && !computes ? looks + 1 : 0;
      if (looks < LOOKS) return;
      clearInterval(timer);
      reject(new NeverSettledError('no timer and no connection can settle its promise'));
    };
    const timer = setInterval(look, IDLE / LOOKS).unref();
    call.then(resolve, reject).finally(() => clearInterval(timer));
  });
}

export function serve(adapter) {
  const clients = new Map();
  const running = new Map();
  const write = process.stdout.write.bind(process.stdout);
  const reply = (message) => write(`${stringifyJson(message)}\n`);
  // What a library prints must not stand between the replies.
  process.stdout.write = process.stderr.write.bind(process.stderr);

  const requests = {
    async open({ client, url, api_key: apiKey, timeout, ca }) {
      clients.set(client, await adapter.open({ url, apiKey, timeout, ca }));
      return null;
    },
    async call({ id, client, operation, arguments: given }) {
      const controller = new AbortController();
      running.set(id, controller);
      try {
        return await adapter[operation](clients.get(client), given, { signal: controller.signal });
      } catch (error) {
        const isOfSignal = controller.signal.aborted && /^(Abort|Canceled)Error$/.test(error?.name);
        throw isOfSignal ? new CancelledError(error.message) : error;
      } finally {
        running.delete(id);
      }
    },
    async cancel({ call }) {
      running.get(call)?.abort();
      return null;
    },
    async close({ client }) {
      const made = clients.get(client);
      clients.delete(client);
      await adapter.close?.(made);
      return null;
    },
  };

  async function take(request) {
    if (request.hello !== undefined) {
      const operations = Object.keys(adapter).filter((name) => !OWN.has(name));
      reply({ hello: VERSION, operations, concurrent: true, cancel: adapter.cancel === true, name: `Node ${process.version}` });
      return;
    }
    try {
      reply({ id: request.id, ok: (await settled(requests[request.do](request))) ?? null });
    } catch (error) {
      const isOwn = error instanceof CancelledError || error instanceof NeverSettledError;
      const told = isOwn ? { kind: error.kind } : ((await adapter.error?.(error)) ?? errorOf(error));
      const shown = { message: String(error?.message ?? error), type: error?.constructor?.name ?? typeof error };
      reply({ id: request.id, error: { ...shown, ...told } });
    }
  }

  // The process ends with standard input, unless the client keeps it alive.
  let half = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = (half + chunk).split('\n');
    half = lines.pop();
    for (const line of lines) take(parseJson(line));
  });
  streams = (process.getActiveResourcesInfo?.() ?? []).filter((name) => STREAM.test(name)).length;
}
