// A request as a curl command. Keys never reach the page: they stand there by name.

import { ask } from "./door.js";

// What a client makes itself, or what says how it reads and not what it asks for.
const NOT_REPEATED = new Set(["accept", "accept-encoding", "accept-language", "connection", "content-length", "expect", "host",
  "te", "trailer", "transfer-encoding", "upgrade", "user-agent"]);

const repeated = (entry) => Object.entries(entry.headers).filter(([name]) => !NOT_REPEATED.has(name) && !name.startsWith("sec-"));
const isBearer = (name, value) => name === "authorization" && /^bearer \S/i.test(value);
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** All that is known of a request: as JSON values it has lost how its numbers and its escapes were written. */
async function recordOf(entry) {
  const found = (await ask("GET", `requests?after=${entry.number - 1}&limit=1&record=true`)).requests[0];
  if (found?.at !== entry.at) throw new Error(`Request ${entry.number} is not in the journal any more.`);
  return found.record;
}

/** The body as text, null where there is none, undefined where it is no text. */
function textOf(record) {
  if (!record.body) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(atob(record.body), (byte) => byte.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

export async function curlOf(entry) {
  const record = await recordOf(entry);
  const base = document.getElementById("service-url").textContent.replace(/\/v1$/, "");
  const parts = ["curl", "-i"];
  if (entry.method === "HEAD") parts.push("--head");
  else if (entry.method !== "GET") parts.push("-X", quoted(entry.method));
  for (const [name, value] of repeated(entry)) {
    parts.push("-H", isBearer(name, value) ? `"${name}: Bearer $PETSTORE_KEY"` : quoted(`${name}: ${value}`));
  }
  const body = textOf(record);
  if (body !== null) parts.push("--data-binary", body === undefined ? "@body.bin" : quoted(body));
  return [...parts, "--globoff", quoted(base + record.target)].join(" ");
}
