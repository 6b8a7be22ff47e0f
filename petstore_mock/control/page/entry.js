// One request: the reason of its response, the request and the response as sent, and a way to repeat it.

import { $, attempt, make, notice, visible } from "./dom.js";
import { curlOf } from "./copies.js";
import { isLost, isPending, kindOf, reason, result, target } from "./words.js";

export function showEntry(entry, number) {
  const pane = $("entry");
  if (entry === null) {
    pane.replaceChildren(make("p", { class: "faint" }, "Choose a request to see the request, the response, and the reason."));
    return;
  }
  const close = make("a", { href: "#/requests", class: "close" }, "Close");
  if (entry === undefined) {
    pane.replaceChildren(close, make("p", {}, `Request ${number} is not in the journal: it was cleared or evicted, or it never arrived.`));
    return;
  }
  pane.replaceChildren(...[
    make("div", { class: "bar" },
      make("h2", { class: kindOf(entry) }, `${entry.number}  ${visible(entry.method)} `, visible(target(entry)).slice(0, 2000)),
      close),
    facts(entry),
    why(entry),
    copies(entry),
    make("h3", {}, "Request"),
    query(entry),
    body(entry),
    fields("Header fields sent", entry.headers, at(entry, "Authorization"), entry),
    make("h3", {}, "Response"),
    answer(entry),
    fields("Header fields of the response", entry.response_headers, [], entry),
  ].filter((part) => part !== null));
  pane.scrollTop = 0;
}

function facts(entry) {
  const told = [
    ["Response", result(entry) + (entry.outcome && entry.status !== null ? ` (${entry.outcome})` : "")],
    ["Took", `${entry.duration_ms.toFixed(1)} ms`],
    ["Operation", entry.operation ?? "none"],
    ["Executed", entry.executed ? "yes" : "no"],
    ["At", entry.at],
  ];
  if (entry.fault !== null) told.push(["Fault", entry.fault]);
  if (entry.connection) told.push(["Connection", String(entry.connection)]);
  return make("dl", { class: "facts" }, told.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, visible(value)))));
}

const at = (entry, field) => entry.violations.filter((one) => one.field.toLowerCase() === field.toLowerCase());

function section(name) {
  if (!name) return "";
  return name.startsWith("RFC") ? name : `§${name}`;
}

/** The one thing that people came for: each rule that was broken, at its field, in the words of the interface. */
function why(entry) {
  if (!reason(entry)) return null;
  if (entry.violations.length === 0) {
    const told = entry.fault === null ? entry.reason : `The fault ${entry.fault} was planned for it.`;
    return make("div", { class: `why ${kindOf(entry)}`, role: "note", "aria-label": "Why" },
      make("p", {}, make("strong", {}, visible(told).slice(0, 2000))), consequence(entry));
  }
  return make("div", { class: "why refused", role: "note", "aria-label": "Why" },
    make("p", {}, "The request broke the contract."),
    make("ul", {}, entry.violations.map((one) => make("li", {},
      make("strong", {}, ...named(one)),
      make("span", { class: "sentence" }, `${section(one.section)} ${visible(one.sentence ?? "")}`)))));
}

/** What a fault did to what was asked: above all, whether it was done. */
function consequence(entry) {
  if (entry.fault === null) return null;
  if (isLost(entry)) {
    return make("p", {}, "The animal was created, and only the response was lost. A client that retries creates a second animal.");
  }
  if (entry.status === null && !isPending(entry)) return make("p", {}, "The client got no response.");
  return make("p", {}, entry.executed ? "The request was executed." : "The request was not executed.");
}

/** The words of a violation, with its field as code, which most begin with. */
function named(violation) {
  const { field, message } = violation;
  if (!field) return [visible(message)];
  return message.startsWith(field) ? [make("code", {}, visible(field)), visible(message.slice(field.length))]
    : [make("code", {}, visible(field)), ": ", visible(message)];
}

function broken(violations) {
  return violations.map((one) => make("span", { class: "broken" }, `◇ ${visible(one.message)} (${section(one.section)})`));
}

function query(entry) {
  const known = Object.entries(entry.query).flatMap(([name, values]) => values.map((value) => [name, value]));
  if (known.length === 0) return null;
  return make("dl", { class: "fields", "aria-label": "Query" }, known.map(([name, value]) => make("div", {},
    make("dt", {}, visible(name)), make("dd", {}, visible(value), broken(at(entry, `query.${name}`))))));
}

function body(entry) {
  const violations = entry.violations.filter((one) => /^body\b/.test(one.field));
  if (entry.body_base64 !== null) return block(`binary, in base64: ${entry.body_base64}`, "Body", violations);
  if (!entry.body_text && violations.length === 0) return make("p", { class: "faint" }, "no body");
  return block(entry.body_text, "Body", violations);
}

function answer(entry) {
  if (entry.status === null) return make("p", { class: "faint" }, isPending(entry) ? "nothing yet" : `nothing: ${result(entry)}`);
  if (entry.response_body_base64 !== null) return block(`binary, in base64: ${entry.response_body_base64}`, "Body of the response");
  return entry.response_body_text ? block(entry.response_body_text, "Body of the response") : make("p", { class: "faint" }, "no body");
}

function block(text, label, violations = []) {
  const shown = text.length > 100_000 ? `${text.slice(0, 100_000)}\n... (${text.length} characters)` : text;
  return make("pre", { tabindex: "0", role: "region", "aria-label": label }, visible(shown), broken(violations));
}

function fields(label, headers, violations, entry) {
  const names = Object.entries(headers);
  const open = violations.length > 0;
  if (names.length === 0 && !open) return null;
  const rows = names.map(([name, value]) => make("div", {}, make("dt", {}, visible(name)),
    make("dd", {}, visible(value), broken(violations.filter((one) => one.field.toLowerCase() === name)))));
  const absent = violations.filter((one) => !Object.hasOwn(entry.headers, one.field.toLowerCase()));
  rows.push(...absent.map((one) => make("div", {}, make("dt", {}, one.field.toLowerCase()), make("dd", {}, broken([one])))));
  return make("details", { open }, make("summary", {}, label), make("dl", { class: "fields" }, rows));
}

// Copies

function copies(entry) {
  const shown = make("pre", { hidden: true, tabindex: "0", role: "region", "aria-label": "The copy" });
  const copy = (id, name, text) => make("button", {
    type: "button",
    id,
    onclick: () => attempt(async () => {
      shown.textContent = await text();
      shown.hidden = false;
      try {
        await navigator.clipboard.writeText(shown.textContent);
        notice(`Copied ${name}.`);
      } catch {
        notice("The browser lets no page copy here: mark the text.");
      }
    }),
  }, `Copy ${name}`);
  return make("div", { class: "copies" },
    copy("copy-curl", "as curl", () => curlOf(entry)),
    copy("copy-link", "the link", () => `${location.origin}${location.pathname.replace(/latest$/, "")}#/requests/${entry.number}`),
    shown);
}
