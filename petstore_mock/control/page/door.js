// The door: what is asked of it, and the stream of what happens. The page knows no other way in.

const [, prefix, mount = ""] = /^(.*?)(\/w\/[^/]+)?\/__petstore\//.exec(location.pathname);

export const ROOT = `${prefix}/__petstore/`;
export const HERE = `${prefix}${mount}/__petstore/`;
export const WORLD = mount ? decodeURIComponent(mount.slice(3)) : "default";
export const pageOf = (world) => (world === "default" ? ROOT : `${prefix}/w/${encodeURIComponent(world)}/__petstore/`);

const KEPT = "petstore-control-token"; // of this tab: a reload needs no second look for the token

/** Take the token out of the address, so that nobody reads it over a shoulder or copies it with a link. */
export function takeToken() {
  const parts = location.hash.replace(/^#/, "").split("&");
  const given = parts.find((part) => part.startsWith("token="));
  if (given === undefined) return;
  sessionStorage.setItem(KEPT, decodeURIComponent(given.slice(6)));
  const rest = parts.filter((part) => part !== given).join("&");
  history.replaceState(null, "", `${location.pathname}${location.search}${rest ? `#${rest}` : ""}`);
}

export const setToken = (token) => sessionStorage.setItem(KEPT, token);

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function headers(more) {
  const token = sessionStorage.getItem(KEPT);
  return { ...(token ? { "Petstore-Control-Token": token } : {}), ...more };
}

let onRefused = () => {};
export function whenRefused(callback) {
  onRefused = callback;
}

// Identifiers have 64 bits, and numbers of JavaScript only 53: larger integers become BigInt, and are written as digits.
const read = (_, value, context) =>
  (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value);
const written = (_, value) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value);

async function open(method, path, { body, at = HERE, signal } = {}) {
  let answer;
  try {
    answer = await fetch(at + path, {
      method,
      signal,
      cache: "no-store",
      headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }),
      body: body === undefined ? undefined : JSON.stringify(body, written),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The stub does not answer: is it still running?");
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  const refused = new Refused(answer.status, told.detail ?? `The door answered ${answer.status}.`);
  if (answer.status === 401) onRefused();
  throw refused;
}

/** Ask the door; gives the JSON value of its answer, undefined where there is nothing to say. */
export async function ask(method, path, body, options = {}) {
  const answer = await open(method, path, { ...options, body });
  return answer.status === 204 ? undefined : JSON.parse(await answer.text(), read);
}

export const text = async (path) => (await open("GET", path)).text();

/** Read the stream (`text/event-stream`) until it ends; EventSource could not send the token. */
export async function readEvents(signal, opened, told) {
  const answer = await open("GET", "events", { signal });
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = /^event: (\w+)\ndata: (.*)$/s.exec(event);
      if (data) told(data[1], JSON.parse(data[2], read));
    }
  }
}
