// Follows the journal: the newest requests, and older requests that a filter matches.
import { ask, WORLD } from "./door.js";
import { $ } from "./dom.js";
import { readShared } from "./stream.js";
export const ROWS = 500;
const PAGE = 1000; // requests in one response of the door

export const entries = new Map(); // the newest requests by number, in ascending order
const beyond = new Map(); // older requests that the filter matches
export const journal = { total: 0, evicted: 0, loaded: false, searching: false };
let changed = () => {}; // called with the changed entry, or with null after a reload
let wanted = null; // the filter: a function of an entry, or null for every entry
let search = 0; // the number of the latest search; earlier searches stop
let loading = null;
let stale = false; // whether the journal must be loaded again
let early = []; // requests that the stream sent during the load

export const isPending = (entry) => entry.state === "in flight";
export const isTrouble = (entry) => !isPending(entry)
  && (entry.status === null || entry.status >= 400 || entry.fault !== null || isRepeated(entry) || blockedPage(entry) !== undefined);
export const isRefused = (entry) => entry.violations.length > 0;
export const isLost = (entry) => entry.status === null && !isPending(entry) && entry.executed;
export const isRepeated = (entry) => entry.repeats !== undefined;
export const SIGNS = { refused: "◇", repeated: "↻", fault: "△", failed: "×", blocked: "⊘", pending: "…", good: "" };
const lost = new Map(); // the number of each executed request whose response was lost, by what the client sent

const fieldOf = (fields, name) => fields.find(([other]) => other.toLowerCase() === name)?.[1];

/** Return the origin of the page from which a browser hides a response, because it allows no origin (CORS); else undefined. */
export const blockedPage = (entry) => (entry.hidden === "" ? undefined : fieldOf(entry.fields, "origin"));

/** Mark a request that the service executed although it had executed the same one, whose response was lost. */
function compare(entry) {
  if (!entry.executed || isPending(entry) || /^(GET|HEAD|OPTIONS)$/.test(entry.method)) return;
  const sent = `${entry.method} ${entry.target} ${entry.body_text}`;
  if (lost.get(sent) < entry.number) entry.repeats = lost.get(sent);
  if (isLost(entry) && !lost.has(sent)) lost.set(sent, entry.number);
}

export function kindOf(entry) {
  if (isRefused(entry)) return "refused";
  if (isPending(entry)) return "pending";
  if (isRepeated(entry)) return "repeated";
  if (entry.fault !== null) return "fault";
  if (blockedPage(entry) !== undefined) return "blocked";
  return isTrouble(entry) ? "failed" : "good";
}

/** Return the status or the outcome; for a request in flight, the seconds since it arrived. */
export function result(entry) {
  if (isPending(entry)) return `in flight ${Math.max(0, Math.floor((Date.now() - entry.since) / 1000))} s`;
  return entry.status === null ? entry.outcome ?? "no response" : String(entry.status);
}

function repetition(entry) {
  if (!isRepeated(entry)) return "";
  const what = entry.method === "POST" ? "a second animal" : "executed a second time";
  return `sent again after request ${entry.repeats} lost its response: ${what}`;
}

export function reason(entry) {
  const parts = [isLost(entry) ? `${entry.decision.replace(/, fault .*/, "")}, but the response was lost` : "",
    entry.fault === null ? "" : `fault ${entry.fault}`, repetition(entry),
    entry.hidden];
  return [...parts, parts.includes(entry.reason) ? "" : entry.reason].filter(Boolean).join("; ");
}

/** Return the text that a search reads. */
export const textOf = (entry) => (entry.text ??= [entry.number, entry.method, entry.target, entry.status ?? "", entry.operation ?? "",
  reason(entry), entry.outcome ?? "", (entry.body_text ?? "").slice(0, 2000)].join(" ").toLowerCase());

function take(entry) {
  if (entry.number <= journal.total && !entries.has(entry.number)) return; // the list has dropped it
  entry.since = entries.get(entry.number)?.since ?? entry.since ?? Date.now();
  compare(entry);
  entries.set(entry.number, entry);
  journal.total = Math.max(journal.total, entry.number);
  if (entries.size > ROWS) {
    const oldest = entries.values().next().value;
    entries.delete(oldest.number);
    if (wanted?.(oldest)) beyond.set(oldest.number, oldest);
    if (beyond.size > ROWS) beyond.delete(Math.min(...beyond.keys()));
  }
  changed(entry);
}

async function load() {
  while (stale) {
    stale = false;
    early = [];
    const page = await ask("GET", `requests?last=${ROWS}`);
    if (stale) continue;
    entries.clear();
    lost.clear();
    journal.total = 0;
    if (page.requests.some(isPending)) { // `at` is a time of the fake's clock, which may differ from this machine's
      const { now } = await ask("GET", "clock");
      for (const entry of page.requests) entry.since = Date.now() - Math.max(0, Date.parse(now) - Date.parse(entry.at));
    }
    for (const entry of page.requests) take(entry);
    Object.assign(journal, { total: page.total, evicted: page.evicted, loaded: true });
    for (const entry of early) if (entry.number > page.total || isPending(entries.get(entry.number) ?? {})) take(entry);
    changed(null);
    void look();
  }
}

export function reload() {
  stale = true;
  return (loading ??= load().finally(() => { loading = null; }));
}

/** Follow the stream until the world ends. Call `onEntry` for each request, `onWorlds` when a world is made, reset, cleared or ended. */
export async function follow(onEntry, onWorlds, onEnd) {
  changed = onEntry;
  let ended = false;
  const state = (name, words) => {
    $("stream-state").dataset.state = name;
    $("stream-state").textContent = words;
  };
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      await readShared(() => {
        wait = 500;
        state("live", "live");
        void reload().catch(() => {});
      }, (kind, data) => {
        if (kind === "world") {
          ended ||= data.event === "ended" && data.world === WORLD;
          if (!ended) onWorlds();
          if (!ended && data.world === WORLD) void reload().catch(() => {});
        } else if (data.world === undefined || data.world === WORLD) {
          const isOtherRequest = data.number <= journal.total && entries.get(data.number)?.at !== data.at;
          if (loading) early.push(data);
          else if (isOtherRequest) void reload().catch(() => {});
          else take(data);
        }
        return ended;
      });
      if (ended) {
        state("over", "this world has ended");
        return onEnd();
      }
      if (document.hidden) {
        state("waiting", "paused");
        continue;
      }
      state("over", "the stream ended");
    } catch (error) {
      if (error.status === 404) state("over", "this world has ended");
      if (error.status === 401 || error.status === 404) return;
      state("over", "not connected");
    }
    await new Promise((resolve) => { setTimeout(resolve, wait); });
  }
}

/** Show only the requests that a filter matches, among all that the service keeps. null removes the filter. */
export function filterBy(filter) {
  wanted = filter;
  beyond.clear();
  void look();
}

/** Fetch older requests that the filter matches, page by page, newest first. */
async function look() {
  const mine = (search += 1);
  journal.searching = false;
  const first = entries.keys().next().value ?? 1;
  if (wanted === null || first - 1 <= journal.evicted) return;
  await new Promise((resolve) => { setTimeout(resolve, 250); }); // the user may press another key
  for (let end = first; mine === search && end - 1 > journal.evicted && beyond.size < ROWS; end -= PAGE) {
    journal.searching = true;
    const start = Math.max(end - PAGE, 1);
    const page = await ask("GET", `requests?after=${start - 1}&limit=${end - start}`).catch(() => ({ requests: [] }));
    if (mine !== search) return;
    for (const entry of page.requests.filter(wanted).reverse()) {
      if (entry.number < end && beyond.size < ROWS) beyond.set(entry.number, entry);
    }
    changed(null);
  }
  if (mine === search) journal.searching = false;
  changed(null);
}

/** Return the requests to show, newest first. */
export function shown() {
  const newest = [...entries.values()].reverse();
  if (wanted === null) return newest;
  const earlier = [...beyond.values()].filter((entry) => !entries.has(entry.number)).sort((a, b) => b.number - a.number);
  return [...newest.filter(wanted), ...earlier].slice(0, ROWS);
}

/** Return a request by its number, from the door if necessary; undefined if the journal does not have it. */
export async function find(number) {
  const known = entries.get(number) ?? beyond.get(number);
  if (known) return known;
  const found = (await ask("GET", `requests?after=${number - 1}&limit=1`)).requests[0];
  return found?.number === number ? Object.assign(found, { since: Date.now() }) : undefined;
}
