// A request as a curl command. Keys never reach the page: they stand there by name.

// What a client makes itself, or what says how it reads and not what it asks for.
const NOT_REPEATED = new Set(["accept", "accept-encoding", "accept-language", "connection", "content-length", "expect", "host",
  "te", "trailer", "transfer-encoding", "upgrade", "user-agent"]);

const repeated = (entry) => Object.entries(entry.headers).filter(([name]) => !NOT_REPEATED.has(name) && !name.startsWith("sec-"));
const isBearer = (name, value) => name === "authorization" && /^bearer \S/i.test(value);
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function curlOf(entry) {
  const base = document.getElementById("service-url").textContent.replace(/\/v1$/, "");
  const parts = ["curl", "-i"];
  if (entry.method === "HEAD") parts.push("--head");
  else if (entry.method !== "GET") parts.push("-X", quoted(entry.method));
  for (const [name, value] of repeated(entry)) {
    parts.push("-H", isBearer(name, value) ? `"${name}: Bearer $PETSTORE_KEY"` : quoted(`${name}: ${value}`));
  }
  if (entry.body_size) parts.push("--data-binary", entry.body_text === null ? "@body.bin" : quoted(entry.body_text));
  return [...parts, "--globoff", quoted(base + entry.target)].join(" ");
}
