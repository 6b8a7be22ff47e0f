// Shares the event stream of a world among the tabs of a browser, which opens at most six connections to a host.
//
// Of the tabs that show a world, one leads: it holds a lock, reads the stream, and passes each event on. If it closes or
// is hidden, the lock goes to another tab. The streams of all worlds together take at most four connections. A tab that
// gets none asks the service every two seconds. Browsers have locks only on pages of this machine and with TLS; elsewhere
// each visible tab reads a stream of its own.
import { ask, HERE, readEvents } from "./door.js";
const STREAMS = 4; // so that two connections are left for other requests
const PAUSE = 2000; // milliseconds between two questions of a tab without a stream
const channel = new BroadcastChannel(`petstore-mock ${HERE}`);

const pause = (signal) => new Promise((resolve) => {
  setTimeout(resolve, PAUSE);
  signal.addEventListener("abort", resolve, { once: true });
});

const untilVisible = () => new Promise((resolve) => {
  const look = () => {
    if (document.hidden) return;
    document.removeEventListener("visibilitychange", look);
    resolve();
  };
  document.addEventListener("visibilitychange", look);
  look();
});

/** Follow the events that the leading tab passes on, until one of them is the last. */
function listen(signal, opened, received) {
  return new Promise((resolve) => {
    channel.addEventListener("message", ({ data }) => {
      if (data.opened) opened();
      if (data.event && received(...data.event)) resolve();
    }, { signal });
    channel.postMessage({ asks: true });
  });
}

/** Wait for the lock, then read the stream and pass its events on. */
function lead(signal, opened, received) {
  return navigator.locks.request(`stream ${HERE}`, { signal }, async () => {
    let isOpen = false;
    const open = () => {
      isOpen = true;
      opened();
      channel.postMessage({ opened: true });
    };
    const pass = (...event) => {
      channel.postMessage({ event });
      return received(...event);
    };
    channel.addEventListener("message", ({ data }) => {
      if (data.asks && isOpen) channel.postMessage({ opened: true });
    }, { signal });
    let known = -1;
    while (!signal.aborted && !await inSlot(() => readEvents(open, pass, signal))) {
      const { requests } = await ask("GET", "world");
      if (requests !== known) open();
      known = requests;
      await pause(signal);
    }
  });
}

/** Run `work` if a connection for a stream is free. Return whether one was. */
async function inSlot(work) {
  for (let slot = 0; slot < STREAMS; slot += 1) {
    const ran = await navigator.locks.request(`stream ${slot}`, { ifAvailable: true }, async (lock) => {
      if (lock) await work();
      return lock !== null;
    });
    if (ran) return true;
  }
  return false;
}

/** Read the events of this world, once the tab is visible, until it is hidden, the stream ends, or `received` returns true. */
export async function readShared(opened, received) {
  await untilVisible();
  const stop = new AbortController();
  const { signal } = stop;
  const hidden = new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => { if (document.hidden) resolve(); }, { signal });
  });
  const reading = navigator.locks
    ? [listen(signal, opened, received), lead(signal, opened, received)]
    : [readEvents(opened, received, signal)];
  try {
    await Promise.race([hidden, ...reading]);
  } finally {
    for (const one of reading) one.catch(() => {}); // they fail when they are stopped
    stop.abort();
  }
}
