// Draws the list of requests, twice a second and when the filter changes. Moves through it by keyboard.
import { ask } from "./door.js";
import { $, attempt, count, make, visible } from "./dom.js";
import { copyCurl, showEntry } from "./entry.js";
import { entries, filterBy, find, follow as followJournal, isPending, isRefused, isTrouble, journal, kindOf, reason, reload, result,
  shown, SIGNS, textOf } from "./journal.js";
const LONG = 50; // milliseconds; the list shows only longer durations
const KINDS = { all: () => true, trouble: isTrouble, refused: isRefused, fault: (entry) => entry.fault !== null };

const rows = new Map(); // the drawn rows by number
let chosen = null;
let current = null; // the row that Tab leads to
let aim = null; // the row to scroll to and to focus, once it is drawn
let filtered = false;
let dirty = true;
let pressed = false; // whether the pointer is down on a row; if the row moved now, the browser would send no click

function fill(link, entry) {
  const kind = kindOf(entry);
  const why = reason(entry);
  link.className = kind;
  link.parentElement.className = why ? "tall" : "";
  link.replaceChildren(...[
    make("span", { class: "status" }, make("span", { "aria-hidden": "true" }, SIGNS[kind]), result(entry)),
    make("span", { class: "method" }, visible(entry.method)),
    make("span", { class: "path" }, visible(entry.target).slice(0, 300)),
    make("span", { class: "operation" }, entry.operation ?? ""),
    make("span", { class: "took" }, entry.duration_ms > LONG ? `${count(Math.round(entry.duration_ms))} ms` : ""),
    make("time", { datetime: entry.at, title: entry.at }, new Date(entry.at).toLocaleTimeString("en-GB")),
    make("span", { class: "number" }, String(entry.number)),
    why && make("span", { class: "reason" }, visible(why).slice(0, 300)),
  ].filter(Boolean));
}

function row(entry) {
  let known = rows.get(entry.number);
  if (known === undefined) {
    const link = make("a", { href: `#/requests/${entry.number}`, tabindex: "-1", "aria-current": entry.number === chosen && "true" });
    known = { element: make("li", { id: `request-${entry.number}` }, link), link, entry: null };
    rows.set(entry.number, known);
  }
  if (known.entry !== entry || isPending(entry)) fill(known.link, entry); // a pending row shows its seconds
  known.entry = entry;
  return known.element;
}

function draw() {
  if (!dirty || pressed) return;
  const list = $("request-list");
  const asked = shown();
  dirty = asked.some(isPending);
  const numbers = new Set(asked.map((entry) => entry.number));
  const loses = list.contains(document.activeElement) && !numbers.has(current);
  for (const [number, { element }] of [...rows].filter(([number]) => !numbers.has(number))) {
    element.remove();
    rows.delete(number);
  }
  let at = list.firstElementChild;
  for (const entry of asked) {
    const element = row(entry);
    if (at === element) at = at.nextElementSibling;
    else list.insertBefore(element, at);
    if (entry.number === chosen && isPending(entry)) $("entry-result").textContent = `${SIGNS.pending} ${result(entry)}`;
  }
  showCounts(asked.length);
  if (loses) walkTo(asked.at(-1)?.number, true, true);
  else if (!rows.has(current)) walkTo(numbers.has(chosen) ? chosen : asked[0]?.number);
  if (rows.has(aim)) {
    rows.get(aim).element.scrollIntoView({ block: "center" });
    walkTo(aim, isListed());
    aim = null;
  }
}

const isListed = () => $("request-list").parentElement.offsetParent !== null; // a phone hides the list while a request is open

function showCounts(number) {
  const { total, searching, evicted, loaded } = journal;
  $("count-requests").textContent = total ? count(total) : "";
  $("requests-empty").hidden = total > 0 || !loaded;
  $("request-list").hidden = $("requests-legend").hidden = total === 0;
  const left = filtered ? 0 : total - entries.size;
  const parts = [filtered ? `${count(number)} of ${count(total)} requests match` : `${count(number)} request${number === 1 ? "" : "s"}`];
  parts.push(searching && "searching older requests", left > 0 && `${count(left)} older requests not shown`, evicted > 0 && `${count(evicted)} dropped`);
  $("requests-summary").textContent = total ? `${parts.filter(Boolean).join(", ")}.` : "";
}

/** Make Tab lead to a row. */
function walkTo(number, focus = false, preventScroll = false) {
  const link = rows.get(number)?.link;
  if (!link) return;
  if (rows.has(current)) rows.get(current).link.tabIndex = -1;
  current = number;
  link.tabIndex = 0;
  if (focus) link.focus({ preventScroll });
}

/** Show a request; null closes it. With `jump`, scroll to its row and focus it. */
export function show(number, jump = false) {
  const left = rows.get(chosen)?.link; // gets the focus back
  left?.removeAttribute("aria-current");
  chosen = number;
  $("requests").classList.toggle("chosen", number !== null);
  if (number === null) {
    showEntry(null);
    return left?.focus();
  }
  rows.get(number)?.link.setAttribute("aria-current", "true");
  rows.get(number)?.element.scrollIntoView({ block: "nearest" });
  if (jump) aim = number;
  else walkTo(number);
  dirty = true;
  if (entries.has(number)) showEntry(entries.get(number));
  else void attempt(() => find(number).then((found) => { if (chosen === number) showEntry(found, number); }));
  return !isListed() && $("entry").focus(); // phones show only the request
}

export const latest = () => reload().then(() => journal.total || null);

/** Move the focus through the list. If a request is open, open the focused one. */
function step(by) {
  const numbers = [...$("request-list").children].map((element) => Number(element.id.slice("request-".length)));
  if (numbers.length === 0) return;
  const isOn = chosen !== null || $("request-list").contains(document.activeElement);
  const next = Math.max(numbers.indexOf(current), 0) + (isOn ? by : 0);
  walkTo(numbers[Math.min(Math.max(next, 0), numbers.length - 1)], true);
  if (chosen === null) return;
  location.hash = `#/requests/${current}`;
  show(current); // at once, because hashchange may come after the next key
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const isTyping = event.target.closest("input:not([type=checkbox]), select") !== null;
  if (event.key === "?" && !isTyping) $("help").showModal();
  if ($("requests").hidden) return;
  const inList = event.target === document.body || event.target.closest("#request-list");
  const moves = { j: 1, k: -1, ...(inList && { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }) };
  if (event.key === "Escape") {
    if (event.target.value) return; // the browser clears the search field
    location.hash = "#/requests";
    show(null);
  } else if (isTyping) return;
  else if (event.key === "/") $("requests-search").focus();
  else if (event.key === "c" && rows.has(current)) void attempt(() => copyCurl(current, $("copy-curl")));
  else if (Object.hasOwn(moves, event.key)) step(moves[event.key]);
  else return;
  event.preventDefault();
}

function filter() {
  const isKind = KINDS[$("requests-kind").value];
  const operation = $("requests-operation").value;
  const words = $("requests-search").value.toLowerCase().split(/\s+/).filter(Boolean);
  filtered = isKind !== KINDS.all || operation !== "" || words.length > 0;
  filterBy(filtered ? (entry) => isKind(entry) && (!operation || entry.operation === operation)
    && words.every((word) => textOf(entry).includes(word)) : null);
  dirty = true;
  draw();
}

export const follow = (onWorlds, onEnd) => followJournal((entry) => {
  dirty = true;
  if (entry !== null && entry.number === chosen) showEntry(entry);
}, onWorlds, onEnd);

export function start() {
  $("requests-filter").addEventListener("submit", (event) => event.preventDefault());
  $("requests-filter").addEventListener("input", filter);
  $("requests-clear").addEventListener("click", () => attempt(async () => {
    location.hash = "#/requests";
    await ask("DELETE", "requests").then(reload);
  }, "The journal is empty."));
  document.addEventListener("keydown", onKey);
  const list = $("request-list");
  list.addEventListener("focusin", (event) => walkTo(Number(event.target.closest("li")?.id.slice("request-".length))));
  list.addEventListener("pointerdown", () => { pressed = true; });
  list.addEventListener("click", (event) => {
    if (!event.target.closest("a")) event.target.closest("li")?.firstElementChild.click(); // a new row may not be laid out yet
  });
  const release = () => setTimeout(() => { pressed = false; }); // after the click event
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, release);
  setInterval(draw, 500); // milliseconds
}
