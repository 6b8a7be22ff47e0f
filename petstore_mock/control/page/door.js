// Sends requests to the control door and reads its event stream. The page uses nothing else of the stub.
const [, prefix, mount = ""] = /^(.*?)(\/w\/[^/]+)?\/__petstore\//.exec(location.pathname);
export const ROOT = `${prefix}/__petstore/`;
export const HERE = `${prefix}${mount}/__petstore/`;
export const WORLD = mount ? decodeURIComponent(mount.slice(3)) : "default";
export const pageOf = (world) => (world === "default" ? ROOT : `${prefix}/w/${encodeURIComponent(world)}/__petstore/`);

const KEPT = "petstore-control-token"; // the tab keeps the token, so that a reload does not ask for it again

/** Move the token out of the address, so that a copied link does not contain it. */
export function takeToken() {
  const parts = location.hash.replace(/^#/, "").split("&");
  const given = parts.find((part) => part.startsWith("token="));
  if (given === undefined) return;
  setToken(decodeURIComponent(given.slice(6)));
  const rest = parts.filter((part) => part !== given).join("&");
  history.replaceState(null, "", `${location.pathname}${location.search}${rest ? `#${rest}` : ""}`);
}

export const hasToken = () => sessionStorage.getItem(KEPT) !== null;
export const setToken = (token) => sessionStorage.setItem(KEPT, token);
let onRefused = () => {};
export const whenRefused = (callback) => { onRefused = callback; };

// Identifiers have 64 bits, but JavaScript's numbers only 53. So larger integers become BigInt.
const exact = (_, value, context) =>
  (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value);

/** Parse JSON without loss. Text without large integers skips `exact`, which is slow. */
export const parse = (text) => (/\d{16}/.test(text) ? JSON.parse(text, exact) : JSON.parse(text));
export const json = (value, indent) =>
  JSON.stringify(value, (_, part) => (typeof part === "bigint" ? JSON.rawJSON(String(part)) : part), indent);

async function send(method, path, { body, at = HERE, isNew = false, signal } = {}) {
  const token = sessionStorage.getItem(KEPT);
  let response;
  try {
    response = await fetch(at + path, {
      method,
      cache: "no-store",
      signal,
      headers: { ...(token && { "Petstore-Control-Token": token }), ...(body && { "Content-Type": "application/json" }), ...(isNew && { "If-None-Match": "*" }) },
      body: body && json(body),
    });
  } catch {
    throw Object.assign(new Error("The stub does not respond. Check that it is running."), { status: 0 });
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  if (response.status === 401) onRefused();
  throw Object.assign(new Error(problem.detail ?? `The control door responded with status ${response.status}.`), { status: response.status });
}

/** Send a request to the door. Return the JSON value of the response, or undefined for a response without a body. */
export async function ask(method, path, body, options = {}) {
  const response = await send(method, path, { ...options, body });
  return response.status === 204 ? undefined : parse(await response.text());
}

export const text = async (path) => (await send("GET", path)).text();
let described = null;
/** Return functions on the door's OpenAPI document: `schema(name)`, `body(path)` of a POST, `whole` to resolve references. */
export async function shapes() {
  described ??= await ask("GET", "openapi.json", undefined, { at: ROOT });
  const { paths, components } = described;
  const schema = (name) => whole(components.schemas[name]);
  const whole = (node) => (node.$ref ? schema(node.$ref.split("/").at(-1)) : node);
  return { schema, whole, body: (path) => whole(paths[`/__petstore/${path}`].post.requestBody.content["application/json"].schema) };
}

/** Read the event stream until it ends or `received` returns true. EventSource can't send the token, so this uses fetch. */
export async function readEvents(opened, received, signal) {
  const response = await send("GET", "events", { signal });
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = /^event: (\w+)\ndata: (.*)$/s.exec(event);
      if (data && received(data[1], parse(data[2]))) return;
    }
  }
}
