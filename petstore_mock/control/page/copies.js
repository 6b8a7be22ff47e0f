// A request as something to run again. Keys never reach the page: they stand there by name.

import { ask } from "./door.js";
import { isPending } from "./words.js";

// What a client makes itself, or what says how it reads and not what it asks for.
const NOT_REPEATED = new Set(["accept", "accept-encoding", "accept-language", "connection", "content-length", "expect", "host",
  "te", "trailer", "transfer-encoding", "upgrade", "user-agent"]);
const SLOWING = new Set(["delay", "dribble"]); // faults that leave the operation's own answer
const ANSWERING = new Set(["bad_request", "not_found", "respond", "unauthorized"]); // faults with a status of their own
const HOUR = 3_600_000; // milliseconds

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

// A pytest test

/** A JSON value as Python writes it; JSON's texts and numbers are Python's as well. */
function python(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}: ${python(part)}`).join(", ")}}`;
}

const bytes = (text) => (/^[ -&(-[\]-~]*$/.test(text) ? `b'${text}'` : `${python(text)}.encode()`); // no quote, no escape

/** A fault, in the form in which the door takes it, as Python makes it. */
function made(fault) {
  if (typeof fault !== "object") return String(fault);
  const { kind, ...rest } = fault;
  const told = Object.entries(rest).map(([name, value]) => {
    if (name === "body_base64") return `body=base64.b64decode(${JSON.stringify(value)})`;
    return `${name}=${Array.isArray(value) ? `(${value.map(python).join(", ")})` : python(value)}`;
  });
  return `faults.${kind}(${told.join(", ")})`;
}

/** What the world must be for the same answer: its choices, its time, its animals, and the faults that wait for the request. */
async function prepared(entry, record) {
  const lines = [];
  const [{ gaps }, chosen] = await Promise.all([ask("GET", "gaps"), ask("GET", "behaviour")]);
  const changed = gaps.filter((gap) => chosen[gap.name] !== gap.default).map((gap) => `${gap.name}="${chosen[gap.name]}"`);
  if (changed.length) lines.push(`petstore.configure(${changed.join(", ")})`);
  if (Math.abs(Date.parse(entry.at) - Date.now()) > HOUR) lines.push(`petstore.clock.travel_to("${entry.at}")`);
  const wanted = /^\/v1\/pets\/(\d{1,15})$/.exec(entry.path);
  const animals = (entry.operation === "listPets" ? entry.response_body : [entry.response_body]) ?? [];
  if (entry.status === 200 && entry.operation !== null && Array.isArray(animals) && animals.every((one) => Number.isInteger(one?.id))) {
    for (const animal of animals) lines.push(`petstore.seed(${python(animal)})`);
  } else if (wanted && record.fault !== null && Number(wanted[1])) {
    lines.push(`petstore.seed(id=${wanted[1]})`);
  }
  if (record.delayed_by !== null) lines.push(`petstore.inject(${made(record.delayed_by)}, on="${entry.operation}", times=1)`);
  if (record.fault !== null) {
    const kind = record.fault.kind ?? "";
    const rule = [made(record.fault), `on="${entry.operation}"`, "times=1"];
    const isLate = entry.operation === "createPet" && entry.executed && (record.delayed_by !== null || !SLOWING.has(kind));
    if (isLate) rule.push('at="after_commit"');
    if (ANSWERING.has(kind) || (typeof record.fault === "number" && record.fault < 500)) rule.push("off_contract=True");
    lines.push(`petstore.inject(${rule.join(", ")})`);
  }
  return lines;
}

/** A test that stands alone and shows the same: it needs pytest and this package. */
export async function testOf(entry) {
  const record = await recordOf(entry);
  const before = await prepared(entry, record);
  const isLost = entry.status === null && !isPending(entry);
  const body = textOf(record);
  const headers = repeated(entry).map(([name, value]) => {
    if (!isBearer(name, value)) return `${python(name)}: ${python(value)}`;
    const isWrong = entry.status === 401 && record.fault === null;
    return `"authorization": ${isWrong ? '"Bearer a-wrong-key"' : 'f"Bearer {petstore.api_key}"'}`;
  });
  const sent = [python(entry.method), python(record.target),
    body === null ? "None" : body === undefined ? `base64.b64decode("${record.body}")` : bytes(body),
    `{${headers.join(", ")}}`];
  const patience = !isLost ? 60 : entry.outcome === "client gone" ? Math.max(0.2, Math.round(entry.duration_ms) / 1000) : 2;
  const exchange = ["connection.request(", ...sent.map((part) => `    ${part},`), ")"];
  const lines = [
    ...before,
    `with closing(http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=${patience})) as connection:`,
    ...(isLost ? [
      "    with pytest.raises((OSError, http.client.HTTPException)):",
      ...[...exchange, "connection.getresponse()"].map((line) => `        ${line}`),
      ...(entry.executed ? ["assert petstore.journal.last.executed  # though its answer was lost"] : []),
    ] : [
      ...exchange.map((line) => `    ${line}`),
      ...(isPending(entry) ? ["    # It had no answer yet when it was copied."] : [`    assert connection.getresponse().status == ${entry.status}`]),
    ]),
  ];
  const name = `${entry.operation ?? "request"}_${entry.status ?? entry.outcome ?? "pending"}`.toLowerCase().replaceAll(" ", "_");
  const used = lines.join("\n");
  return `${[
    ...(used.includes("base64.") ? ["import base64"] : []),
    "import http.client",
    "from contextlib import closing",
    "from urllib.parse import urlsplit",
    "",
    ...(isLost ? ["import pytest", ""] : []),
    ...(used.includes("faults.") ? ["from petstore_mock import faults", ""] : []),
    "",
    `def test_${name}(petstore):`,
    ...lines.map((line) => `    ${line}`),
  ].join("\n")}\n`;
}
