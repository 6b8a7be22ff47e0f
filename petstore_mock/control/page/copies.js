// A request as something to run again. Keys never reach the page: they stand there by name.

import { target } from "./words.js";

// What a client makes itself, or what says how it reads and not what it asks for.
const NOT_REPEATED = new Set(["accept", "accept-encoding", "accept-language", "connection", "content-length", "expect", "host",
  "te", "trailer", "transfer-encoding", "upgrade", "user-agent"]);

const repeated = (entry) => Object.entries(entry.headers).filter(([name]) => !NOT_REPEATED.has(name) && !name.startsWith("sec-"));
const isBearer = (name, value) => name === "authorization" && /^bearer \S/i.test(value);
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function sent(entry) {
  if (entry.body_base64 !== undefined) return null;
  if (entry.body_text !== undefined) return entry.body_text;
  return entry.body === null && !entry.headers["content-length"]?.match(/[1-9]/) ? null : JSON.stringify(entry.body);
}

export function curlOf(entry) {
  const base = document.getElementById("service-url").textContent.replace(/\/v1$/, "");
  const parts = ["curl", "-i"];
  if (entry.method === "HEAD") parts.push("--head");
  else if (entry.method !== "GET") parts.push("-X", quoted(entry.method));
  for (const [name, value] of repeated(entry)) {
    parts.push("-H", isBearer(name, value) ? `"${name}: Bearer $PETSTORE_KEY"` : quoted(`${name}: ${value}`));
  }
  const body = sent(entry);
  if (body !== null) parts.push("--data-binary", quoted(body));
  if (entry.body_base64 !== undefined) parts.push("--data-binary", "@body.bin");
  return [...parts, "--globoff", quoted(base + encoded(target(entry)))].join(" ");
}

function encoded(path) {
  const [before, after] = path.split(/\?(.*)/s);
  const kept = before.split("/").map(encodeURIComponent).join("/");
  return after === undefined ? kept : `${kept}?${after}`;
}

/** A test that stands alone: it needs pytest and this package. JSON's texts are Python's as well. */
export function testOf(entry) {
  const lines = ["from werkzeug.test import Client", "", ""];
  lines.push(`def test_${(entry.operation ?? "request").toLowerCase()}_${entry.status ?? "answer_was_lost"}(petstore):`);
  const animals = entry.operation === "listPets" ? entry.response_body : [entry.response_body];
  if (entry.status === 200 && entry.operation !== null && Array.isArray(animals) && animals.every((one) => Number.isInteger(one?.id))) {
    for (const animal of animals) lines.push(`    petstore.seed(${JSON.stringify(animal)})`);
  }
  if (entry.fault !== null) {
    lines.push(`    # It met the fault ${entry.fault.replaceAll(/\s+/g, " ")}: plan it with petstore.inject(), and call your client instead.`);
  }
  const fields = repeated(entry).map(([name, value]) => {
    if (!isBearer(name, value)) return `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
    return entry.status === 401 ? '"authorization": "Bearer a-wrong-key"' : '"authorization": f"Bearer {petstore.api_key}"';
  });
  lines.push("    answer = Client(petstore.app).open(", `        ${JSON.stringify(encoded(target(entry)))},`,
    `        method=${JSON.stringify(entry.method)},`, `        headers={${fields.join(", ")}},`);
  const body = sent(entry);
  if (entry.body_base64 !== undefined) lines.push(`        data=__import__("base64").b64decode("${entry.body_base64}"),`);
  else if (body !== null) lines.push(`        data=${JSON.stringify(body)}.encode(),`);
  lines.push("    )");
  if (entry.status !== null && entry.fault === null) lines.push(`    assert answer.status_code == ${entry.status}`);
  return `${lines.join("\n")}\n`;
}
