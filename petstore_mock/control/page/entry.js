// Shows one request: the reason for its response, both messages as they were sent, and ways to send it again.
import { json, text } from "./door.js";
import { $, attempt, button, copy, make, visible } from "./dom.js";
import { blockedPage, isLost, isPending, isRefused, isRepeated, kindOf, reason, result, SIGNS } from "./journal.js";
import { breakLike } from "./steering.js";
const LONG = 160; // characters; a longer target or value is folded
const OWN = /^(accept-encoding|connection|content-length|expect|host|te|trailer|transfer-encoding|upgrade|user-agent)$/i; // each client sends its own

export function showEntry(entry, number) {
  const pane = $("entry");
  const key = entry ? `${entry.number} ${entry.at} ${entry.state}` : "";
  if (key && pane.dataset.key === key) return undefined; // unchanged: keep the buttons and the scroll position
  pane.dataset.key = key;
  if (entry === null) return pane.replaceChildren();
  const close = make("a", { href: "#/requests", class: "button close" }, "Close");
  const gone = `The journal has no request ${number}. You or a test cleared the journal, the journal dropped the request, or it never arrived.`;
  if (entry === undefined) return pane.replaceChildren(make("div", { class: "bar" }, make("p", {}, gone), close));
  const [path, query] = entry.target.split(/\?(.*)/s);
  pane.replaceChildren(...[
    make("div", { class: "bar" }, make("h2", {}, visible(`${entry.number} ${entry.method} ${path}`).slice(0, 2000)), close),
    facts(entry), why(entry), actions(entry),
    make("h3", {}, "Request"),
    query ? make("details", { open: entry.target.length <= LONG }, make("summary", {}, "Target, as sent"), block(entry.target, "Target")) : null,
    table("Parameters", Object.entries(entry.query).flatMap(([name, values]) => values.map((value) => [name, value])),
      entry.violations.filter((one) => one.field.startsWith("query.")).map((one) => ({ ...one, field: one.field.slice(6) }))),
    body(entry),
    table("Header fields", entry.fields, entry.violations.filter((one) => /^[A-Z][\w-]*$/.test(one.field))),
    make("h3", {}, "Response"),
    response(entry),
    table("Header fields", entry.response_fields),
  ].filter(Boolean));
  pane.scrollTop = 0;
}

function facts(entry) {
  const pairs = [
    ["Response", make("span", { class: kindOf(entry), id: "entry-result" }, `${SIGNS[kindOf(entry)]} ${result(entry)}`,
      entry.outcome && entry.status !== null ? ` (${entry.outcome})` : "")],
    ["Operation", entry.operation ?? "none"],
    ["Executed", entry.executed ? "yes" : "no"],
    ["Took", isPending(entry) ? "" : `${entry.duration_ms.toFixed(1)} ms`],
    ["At", make("time", { datetime: entry.at }, entry.at.replace("T", " ").replace("Z", " UTC"))],
    ["Connection", entry.connection ? String(entry.connection) : ""],
  ];
  return make("dl", { class: "facts" }, pairs.filter(([, value]) => value).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

const section = (name) => (!name || name.startsWith("RFC") ? name : `§${name}`);

/** Return the reason for a response: each violation with the sentence of the interface, or the fault and its effect. */
function why(entry) {
  if (!reason(entry)) return null;
  const parts = isRefused(entry)
    ? [make("p", {}, entry.expected ? "The request broke the contract, as the test expects." : "The request broke the contract."),
      make("ul", {}, entry.violations.map((one) => make("li", {}, make("strong", {}, visible(one.message)),
        make("span", { class: "sentence" }, `${section(one.section)} ${visible(one.sentence)}`)))),
      entry.omitted ? make("p", {}, `Further broken rules: ${entry.omitted}.`) : null]
    : [make("p", {}, make("strong", {}, visible(headline(entry)).slice(0, 2000))),
      entry.fault === null ? null : make("p", {}, consequence(entry)), isRepeated(entry) ? make("p", {}, repeated(entry)) : null,
      blockedPage(entry) === undefined ? null : make("p", {}, BLOCKED)];
  return make("div", { class: `why ${kindOf(entry)}`, role: "note", "aria-label": "Why" }, parts);
}

const BLOCKED = "The response has no Access-Control-Allow-Origin for the page. Allow the page with serve --cors ORIGIN, or let its server forward the path.";

function headline(entry) {
  if (entry.fault !== null) return `The request met the fault ${entry.fault}.`;
  if (isRepeated(entry)) return "The client sent this request again, and the service executed it again.";
  if (blockedPage(entry) !== undefined) return `Browsers hide this response from pages of ${blockedPage(entry)}.`;
  return entry.reason;
}

/** Return what a request that was sent again has done. */
function repeated(entry) {
  const link = make("a", { href: `#/requests/${entry.repeats}` }, `request ${entry.repeats}`);
  const what = entry.method === "POST" ? "There is a second animal." : "The change was made twice.";
  return ["The service had executed ", link, ", but its response was lost. ", what];
}

function consequence(entry) {
  if (isLost(entry)) return "The service executed the request, but the response was lost. A retry executes it a second time.";
  const executed = entry.executed ? "The service executed the request." : "The service did not execute the request.";
  return entry.status === null && !isPending(entry) ? `${executed} The client got no response.` : executed;
}

const broken = (violations) => violations.map((one) => make("span", { class: "broken" }, `◇ ${visible(one.message)} (${section(one.section)})`));

const folded = (value) => (value.length <= LONG ? visible(value)
  : make("details", {}, make("summary", {}, `${visible(value.slice(0, LONG))}…`), visible(value)));

/** Return a table of names and values. Violations stand below their field; a missing field gets its own row. */
function table(label, pairs, violations = []) {
  const at = (name) => violations.filter((one) => one.field.toLowerCase() === name.toLowerCase());
  const absent = [...new Set(violations.map((one) => one.field))].filter((field) => !pairs.some(([name]) => name.toLowerCase() === field.toLowerCase()));
  if (pairs.length + absent.length === 0) return null;
  const rows = [...pairs, ...absent.map((name) => [name, ""])].map(([name, value]) =>
    make("tr", {}, make("th", { scope: "row" }, visible(name)), make("td", {}, folded(value), broken(at(name)))));
  return make("details", { open: violations.length > 0 || label === "Parameters" }, make("summary", {}, label),
    make("table", { class: "pairs", "aria-label": label }, make("tbody", {}, rows)));
}

function block(text, label, violations = [], known = new Map()) {
  const parts = [];
  let at = 0;
  for (const [field, [start, end]] of known) {
    if (start < at || !violations.some((one) => one.field === field)) continue;
    parts.push(visible(text.slice(at, start)), make("mark", {}, visible(text.slice(start, end))));
    at = end;
  }
  return make("pre", { tabindex: "0", role: "region", "aria-label": label }, parts, visible(text.slice(at)), broken(violations));
}

/** Return the start and end of each value in JSON text by its path, such as `body.tags[0]`, but not of the whole text. */
function places(text) {
  const found = new Map();
  const tokens = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*"|[^\s{}[\],:]+))/gsy;
  const next = () => {
    const match = tokens.exec(text);
    return { sign: match[1], word: match[2], start: tokens.lastIndex - (match[1] ?? match[2]).length };
  };
  const value = (path, token) => {
    let item = token;
    for (let index = 0; token.sign && item.sign !== "}" && item.sign !== "]"; index += 1) { // each turn starts at `{`, `[` or `,`
      item = next();
      if (item.sign === "}" || item.sign === "]") break;
      if (token.sign === "{") {
        next(); // the colon
        value(`${path}.${JSON.parse(item.word)}`, next());
      } else value(`${path}[${index}]`, item);
      item = next();
    }
    if (path !== "body") found.set(path, [token.start, tokens.lastIndex]);
  };
  value("body", next());
  return found;
}

function body(entry) {
  const violations = entry.violations.filter((one) => /^body\b/.test(one.field));
  if (entry.body_base64 === null && !entry.body_text && violations.length === 0) return make("p", { class: "faint" }, "No body.");
  const known = entry.body !== null && violations.length ? places(entry.body_text) : undefined; // `body` is null for text that is not JSON or is too deep
  return block(entry.body_text ?? `In base64: ${entry.body_base64}`, "Body", violations, known);
}

function response(entry) {
  if (entry.status === null) return make("p", { class: "faint" }, isPending(entry) ? "No response yet." : `The client got nothing: ${result(entry)}.`);
  const shown = entry.response_body_text ?? `In base64: ${entry.response_body_base64}`;
  return shown ? block(shown, "Body of the response") : make("p", { class: "faint" }, "No body.");
}

export const copyCurl = async (number, pressed) => copy(await text(`requests/${number}/curl`), pressed);

/** Return a call of fetch that sends the request again. The key comes from an environment variable. */
function fetchOf(entry) {
  const origin = new URL($("service-url").textContent).origin;
  const fields = entry.fields.filter(([name]) => !OWN.test(name)).map(([name, value]) => {
    const [, scheme] = /^(bearer) \S/i.exec(value) ?? [];
    return `    ${json(name)}: ${scheme ? `\`${scheme} \${process.env.PETSTORE_KEY}\`` : json(value)},\n`;
  });
  const parts = [`  method: ${json(entry.method)},\n`, fields.length ? `  headers: {\n${fields.join("")}  },\n` : "",
    entry.body_text ? `  body: ${json(entry.body_text)},\n` : ""];
  return `const response = await fetch(${json(origin + entry.base_path + entry.target)}, {\n${parts.join("")}});`;
}

function actions(entry) {
  const doing = (work) => (event) => attempt(() => work(event.currentTarget));
  return make("div", { class: "actions bar" },
    button("Copy as curl", doing((pressed) => copyCurl(entry.number, pressed)), { id: "copy-curl", class: "primary", "aria-live": "polite" }),
    button("Copy as fetch", doing((pressed) => copy(fetchOf(entry), pressed)), { "aria-live": "polite" }),
    ...breaking(entry, doing));
}

/** Return the button that plans a fault for the next such request; without a use if no fault can meet it. */
function breaking(entry, doing) {
  const hasOperation = entry.operation !== null && !(entry.status === 401 && entry.fault === null);
  const meets = hasOperation && !isRefused(entry);
  const pressed = button("Break the next request like this", doing(() => breakLike(entry)), { disabled: !meets, "aria-describedby": meets ? null : "no-fault" });
  return meets ? [pressed] : [pressed, make("p", { id: "no-fault", class: "faint" }, "A fault meets only requests that the service accepts.")];
}
