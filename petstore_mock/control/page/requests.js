// The journal as it comes: the newest rows, drawn twice a second at most however many requests there are.

import { ask, readEvents, WORLD } from "./door.js";
import { $, attempt, count, make, notice, visible } from "./dom.js";
import { showEntry } from "./entry.js";
import { isTrouble, kindOf, reason, result, target } from "./words.js";

const ROWS = 500;
const DRAWING = 500; // milliseconds

const entries = new Map(); // by number, oldest first
const rows = new Map(); // what stands in the list
let total = 0;
let chosen = null;
let paused = false;
let dirty = false;
let refiltered = true;
let pressed = false; // a button, on a row: it must not move away, or the release makes no click
let loading = null;
let stale = false; // whether what is being loaded is no longer so
let early = []; // requests that the stream told of meanwhile

function take(entry) {
  if (entry.number <= total && !entries.has(entry.number)) return; // it was left out in the meantime
  refiltered ||= entries.has(entry.number); // it has ended
  entries.set(entry.number, entry);
  if (chosen === entry.number && refiltered) showEntry(entry);
  total = Math.max(total, entry.number);
  if (entries.size > ROWS) {
    entries.delete(entries.keys().next().value);
  }
  dirty = true;
}

async function load() {
  while (stale) {
    stale = false;
    early = [];
    const answer = await ask("GET", `requests?last=${ROWS}`);
    if (stale) continue;
    entries.clear();
    total = 0;
    for (const entry of answer.requests) take(entry);
    total = answer.total;
    for (const entry of early) if (entry.number > answer.total) take(entry);
    refiltered = dirty = true;
  }
}

export function reload() {
  stale = true;
  loading ??= load().finally(() => {
    loading = null;
  });
  return loading;
}

/** Follow the stream for good; `changed` is called when worlds begin, begin anew or end, `onEnd` when this one does. */
export async function follow(changed, onEnd) {
  let ended = false;
  const state = (name, words) => {
    $("stream-state").dataset.state = name;
    $("stream-state").textContent = words;
  };
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      await readEvents(undefined, () => {
        wait = 500;
        state("live", "live");
        void reload().catch(() => {});
      }, (kind, data) => {
        if (kind === "world") {
          ended ||= data.event === "ended" && data.world === WORLD;
          if (!ended) changed(data);
          if (!ended && data.world === WORLD) void reload().catch(() => {});
        } else if (data.world === undefined || data.world === WORLD) {
          const begunAnew = data.number <= total && entries.get(data.number)?.at !== data.at;
          if (loading) early.push(data);
          else if (begunAnew) void reload().catch(() => {});
          else take(data);
        }
      });
      if (ended) {
        state("over", "this world has ended");
        onEnd();
        return;
      }
      state("over", "the stream ended");
    } catch (error) {
      if (error.status === 401 || error.status === 404) return;
      state("over", "not connected");
    }
    await new Promise((resolve) => { setTimeout(resolve, wait); });
  }
}

// Drawing

function isAskedFor(entry) {
  const kind = $("requests-kind").value;
  if (kind === "trouble" && !isTrouble(entry)) return false;
  if (kind === "refused" && entry.violations.length === 0) return false;
  if (kind === "fault" && entry.fault === null) return false;
  const operation = $("requests-operation").value;
  if (operation && entry.operation !== operation) return false;
  const words = $("requests-search").value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const told = [entry.number, entry.method, target(entry), entry.status ?? "", entry.operation ?? "", reason(entry),
    entry.outcome ?? ""].join(" ").toLowerCase();
  return words.every((word) => told.includes(word));
}

const SIGNS = { refused: "◇", fault: "△", good: "", failed: "×" };

function row(entry) {
  const kind = kindOf(entry);
  const link = make("a", { href: `#/requests/${entry.number}`, class: kind },
    make("span", { class: "number" }, String(entry.number)),
    make("span", { class: "status" }, make("span", { "aria-hidden": "true" }, SIGNS[kind]), result(entry)),
    make("span", { class: "method" }, visible(entry.method)),
    make("span", { class: "path" }, visible(target(entry)).slice(0, 300)),
    make("span", { class: "operation" }, entry.operation ?? ""),
    make("span", { class: "took" }, `${entry.duration_ms.toFixed(1)} ms`),
    make("span", { class: "reason" }, visible(reason(entry)).slice(0, 300)));
  if (entry.number === chosen) link.setAttribute("aria-current", "true");
  return make("li", { id: `request-${entry.number}` }, link);
}

function draw() {
  if (!dirty || paused || pressed) return;
  dirty = false;
  const list = $("request-list");
  if (refiltered) {
    rows.clear();
    list.replaceChildren();
    refiltered = false;
  }
  for (const [number, element] of rows) {
    if (!entries.has(number)) {
      element.remove();
      rows.delete(number);
    }
  }
  const first = list.firstElementChild;
  const newest = first === null ? 0 : Number(first.id.slice("request-".length));
  const added = [];
  for (const entry of entries.values()) {
    if (entry.number > newest && !rows.has(entry.number) && isAskedFor(entry)) {
      const element = row(entry);
      rows.set(entry.number, element);
      added.push(element);
    }
  }
  list.prepend(...added.reverse());
  tell();
}

function tell() {
  $("count-requests").textContent = total ? count(total) : "";
  const left = total - entries.size;
  const parts = [entries.size === rows.size ? `${count(rows.size)} shown` : `${count(rows.size)} of ${count(entries.size)} match`];
  if (left > 0) parts.push(`${count(left)} earlier left out`);
  $("requests-told").textContent = total ? `${parts.join(", ")}.`
    : `No request arrived yet. Send one to ${$("service-url").textContent}. Other worlds have their own requests.`;
}

// Choosing one

export function show(number) {
  for (const link of document.querySelectorAll('#request-list a[aria-current="true"]')) link.removeAttribute("aria-current");
  const left = rows.get(chosen)?.firstElementChild; // which the focus goes back to
  const leaves = $("entry").contains(document.activeElement);
  chosen = number;
  $("requests").classList.toggle("chosen", number !== null);
  if (number === null) {
    showEntry(null);
    if (leaves) left?.focus();
    return;
  }
  rows.get(number)?.firstElementChild.setAttribute("aria-current", "true");
  rows.get(number)?.scrollIntoView({ block: "nearest" });
  if ($("request-list").offsetParent === null) $("entry").focus(); // it stands in the list's place
  const entry = entries.get(number);
  if (entry) {
    showEntry(entry);
    return;
  }
  void attempt(async () => {
    const found = (await ask("GET", `requests?after=${number - 1}&limit=1`)).requests[0];
    showEntry(found?.number === number ? found : undefined, number);
  });
}

export const latestNumber = () => total;

/** The number of the newest request, once there is one. */
export async function latest() {
  await reload();
  return total || null;
}

function step(by) {
  const links = [...document.querySelectorAll("#request-list a")];
  if (links.length === 0) return;
  const at = links.findIndex((link) => link === document.activeElement || link.getAttribute("aria-current") === "true");
  const next = links[Math.min(Math.max(at + by, 0), links.length - 1)];
  next.focus();
  location.hash = next.getAttribute("href");
  show(Number(location.hash.split("/").at(-1)));  // now: the event for it may come after the next key
}

export function start() {
  const again = () => {
    refiltered = dirty = true;
    draw();
  };
  $("requests-filter").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["requests-search", "requests-kind", "requests-operation"]) $(id).addEventListener("input", again);
  $("requests-pause").addEventListener("click", () => {
    paused = !paused;
    $("requests-pause").setAttribute("aria-pressed", String(paused));
    notice(paused ? "The list stands still." : "The list follows.");
    draw();
  });
  $("requests-clear").addEventListener("click", () => attempt(async () => {
    await ask("DELETE", "requests");
    await reload();
    location.hash = "#/requests";
  }, "The journal is empty."));
  document.addEventListener("keydown", (event) => {
    if ($("requests").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      $("requests-search").focus();
    } else if (event.key === "Escape") {
      location.hash = "#/requests";
      show(null);
    } else if (!typing && (event.key === "j" || (event.key === "ArrowDown" && event.target.closest("#request-list")))) {
      event.preventDefault();
      step(1);
    } else if (!typing && (event.key === "k" || (event.key === "ArrowUp" && event.target.closest("#request-list")))) {
      event.preventDefault();
      step(-1);
    }
  });
  $("request-list").addEventListener("pointerdown", () => { pressed = true; });
  $("request-list").addEventListener("click", (event) => {
    if (!event.target.closest("a")) event.target.closest("li")?.firstElementChild.click(); // a row too new to be laid out
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    addEventListener(kind, () => setTimeout(() => { pressed = false; })); // once the click is through
  }
  setInterval(draw, DRAWING);
}
