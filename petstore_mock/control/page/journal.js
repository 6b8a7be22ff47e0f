// The journal as it comes: the newest requests, those beyond them that a filter asks for, and what each is called.
import { ask, readEvents, WORLD } from "./door.js";
import { $ } from "./dom.js";
export const ROWS = 500;
const PAGE = 1000; // as many requests as the door sends at once

export const entries = new Map(); // the newest by number, oldest first
const beyond = new Map(); // earlier ones that the filter wants
export const journal = { total: 0, evicted: 0, loaded: false, searching: false };
let changed = () => {}; // called with an entry, or with null where all are others
let wanted = null; // the filter: a function of an entry, or null for every entry
let search = 0; // counts searches: the latest one is the only one that goes on
let loading = null;
let stale = false; // whether what is being loaded is no longer so
let early = []; // requests that the stream sent meanwhile

export const isPending = (entry) => entry.state === "in flight";
export const isTrouble = (entry) => !isPending(entry) && (entry.status === null || entry.status >= 400 || entry.fault !== null);
export const isRefused = (entry) => entry.violations.length > 0;
export const isLost = (entry) => entry.status === null && !isPending(entry) && entry.executed; // the response to what was done
export const SIGNS = { refused: "◇", fault: "△", failed: "×", pending: "…", good: "" };

export function kindOf(entry) {
  if (isRefused(entry)) return "refused";
  if (isPending(entry)) return "pending";
  if (entry.fault !== null) return "fault";
  return isTrouble(entry) ? "failed" : "good";
}

/** The response in a word; of a request in flight, for how many seconds. */
export function result(entry) {
  if (isPending(entry)) return `in flight ${Math.max(0, Math.floor((Date.now() - entry.since) / 1000))} s`;
  return entry.status === null ? entry.outcome ?? "no response" : String(entry.status);
}

export function reason(entry) {
  const told = [isLost(entry) ? `${entry.decision.replace(/, fault .*/, "")}, but the response was lost` : "",
    entry.fault === null ? "" : `fault ${entry.fault}`];
  return [...told, told.includes(entry.reason) ? "" : entry.reason].filter(Boolean).join("; ");
}

/** The text in which a search looks. */
export const textOf = (entry) => (entry.text ??= [entry.number, entry.method, entry.target, entry.status ?? "", entry.operation ?? "",
  reason(entry), entry.outcome ?? "", (entry.body_text ?? "").slice(0, 2000)].join(" ").toLowerCase());

function take(entry) {
  if (entry.number <= journal.total && !entries.has(entry.number)) return; // it was left out in the meantime
  entry.since = entries.get(entry.number)?.since ?? entry.since ?? Date.now();
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
    const told = await ask("GET", `requests?last=${ROWS}`);
    if (stale) continue;
    entries.clear();
    journal.total = 0;
    if (told.requests.some(isPending)) { // by the fake's clock, which may stand elsewhere than this machine's
      const { now } = await ask("GET", "clock");
      for (const entry of told.requests) entry.since = Date.now() - Math.max(0, Date.parse(now) - Date.parse(entry.at));
    }
    for (const entry of told.requests) take(entry);
    Object.assign(journal, { total: told.total, evicted: told.evicted, loaded: true });
    for (const entry of early) if (entry.number > told.total || isPending(entries.get(entry.number) ?? {})) take(entry);
    changed(null);
    void look();
  }
}

export function reload() {
  stale = true;
  return (loading ??= load().finally(() => { loading = null; }));
}

/** Follow the stream for good; `told` is called when a request comes, `onWorlds` when worlds begin, begin anew or end. */
export async function follow(told, onWorlds, onEnd) {
  changed = told;
  let ended = false;
  const state = (name, words) => {
    $("stream-state").dataset.state = name;
    $("stream-state").textContent = words;
  };
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      await readEvents(() => {
        wait = 500;
        state("live", "live");
        void reload().catch(() => {});
      }, (kind, data) => {
        if (kind === "world") {
          ended ||= data.event === "ended" && data.world === WORLD;
          if (!ended) onWorlds();
          if (!ended && data.world === WORLD) void reload().catch(() => {});
        } else if (data.world === undefined || data.world === WORLD) {
          const begunAnew = data.number <= journal.total && entries.get(data.number)?.at !== data.at;
          if (loading) early.push(data);
          else if (begunAnew) void reload().catch(() => {});
          else take(data);
        }
      });
      if (ended) {
        state("over", "this world has ended");
        return onEnd();
      }
      state("over", "the stream ended");
    } catch (error) {
      if (error.status === 401 || error.status === 404) return;
      state("over", "not connected");
    }
    await new Promise((resolve) => { setTimeout(resolve, wait); });
  }
}

/** Show only what a filter wants, of all requests that the service keeps; null for the newest without a filter. */
export function filterBy(filter) {
  wanted = filter;
  beyond.clear();
  void look();
}

/** Ask the door for what the filter wants beyond the newest requests, page by page from the newest. */
async function look() {
  const mine = (search += 1);
  journal.searching = false;
  const first = entries.keys().next().value ?? 1;
  if (wanted === null || first - 1 <= journal.evicted) return;
  await new Promise((resolve) => { setTimeout(resolve, 250); }); // until the next key is pressed
  for (let end = first; mine === search && end - 1 > journal.evicted && beyond.size < ROWS; end -= PAGE) {
    journal.searching = true;
    const start = Math.max(end - PAGE, 1);
    const told = await ask("GET", `requests?after=${start - 1}&limit=${end - start}`).catch(() => ({ requests: [] }));
    if (mine !== search) return;
    for (const entry of told.requests.filter(wanted).reverse()) {
      if (entry.number < end && beyond.size < ROWS) beyond.set(entry.number, entry);
    }
    changed(null);
  }
  if (mine === search) journal.searching = false;
  changed(null);
}

/** What is to be shown, the newest first. */
export function shown() {
  const newest = [...entries.values()].reverse();
  if (wanted === null) return newest;
  const earlier = [...beyond.values()].filter((entry) => !entries.has(entry.number)).sort((a, b) => b.number - a.number);
  return [...newest.filter(wanted), ...earlier].slice(0, ROWS);
}

/** Return a request by its number, from the door where it is none of the newest; undefined where there is none. */
export async function find(number) {
  const known = entries.get(number) ?? beyond.get(number);
  if (known) return known;
  const found = (await ask("GET", `requests?after=${number - 1}&limit=1`)).requests[0];
  return found?.number === number ? Object.assign(found, { since: Date.now() }) : undefined;
}
