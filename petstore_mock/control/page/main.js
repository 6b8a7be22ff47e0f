// Which pane is shown, by the address: #/requests/12 and the like can be linked to.

import { ask, setToken, takeToken, whenRefused, WORLD } from "./door.js";
import { $, attempt, count, notice } from "./dom.js";
import * as exchange from "./exchange.js";
import * as overview from "./overview.js";
import * as requests from "./requests.js";
import * as steering from "./steering.js";

const PANES = {
  requests: async () => {},
  exchange: exchange.drawExchange,
  animals: steering.showAnimals,
  faults: steering.showFaults,
  gaps: steering.showGaps,
  clock: steering.showClock,
  coverage: overview.showCoverage,
  worlds: overview.showWorlds,
};
const AGAIN = new Set(["faults", "clock", "coverage", "worlds"]); // panes that change by themselves
const FOLLOWING = new Set(["animals", "exchange"]); // panes that requests change
const REFRESH = 2000; // milliseconds

let shown = "";
let told = 0; // the requests of which the panes have told
let over = false; // whether this world has ended: then there is nothing more to ask for

function route() {
  takeToken();
  const [, pane = "requests", number] = /^#\/(\w+)(?:\/(\d+))?$/.exec(location.hash) ?? [];
  const known = Object.hasOwn(PANES, pane) ? pane : "requests";
  for (const name of Object.keys(PANES)) {
    $(name).hidden = name !== known;
    const link = $(`nav-${name}`);
    if (name === known) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  $("token").hidden = true;
  document.title = `${known[0].toUpperCase()}${known.slice(1)}: ${WORLD} - petstore_mock`;
  if (known === "requests") requests.show(number === undefined ? null : Number(number));
  if (shown !== known) {
    notice("");
    $(`nav-${known}`).scrollIntoView({ block: "nearest", inline: "center" });
  }
  shown = known;
  void attempt(PANES[known]);
}

const isTyping = () => Boolean(document.activeElement?.closest("input, select"));

async function showWorld() {
  const world = await ask("GET", "world");
  $("world-name").textContent = world.name === "default" ? "" : `world ${world.name}`;
  $("service-url").textContent = world.url;
  $("count-faults").textContent = world.faults ? count(world.faults) : "";
  $("count-animals").textContent = world.pets ? count(world.pets) : "";
}

async function begin() {
  await showWorld();
  if (/\/latest$/.test(location.pathname) && !/^#\/\w/.test(location.hash)) {
    const number = await requests.latest();
    if (number !== null) history.replaceState(null, "", `#/requests/${number}`);
  }
  route();
  void requests.follow(() => {
    void showWorld().catch(() => {});
    if (!isTyping()) void PANES[shown]().catch(() => {});
  }, () => {
    over = true;
  });
}

for (const part of [requests, exchange, steering, overview]) part.start();

whenRefused(() => {
  for (const name of Object.keys(PANES)) $(name).hidden = true;
  $("token").hidden = false;
  $("token-value").focus();
});
$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken($("token-value").value);
  void attempt(begin);
});
window.addEventListener("hashchange", route);
setInterval(() => {
  if (over || document.hidden || !$("token").hidden) return;
  const came = requests.latestNumber() !== told;
  told = requests.latestNumber();
  if (came) void showWorld().catch(() => {});
  if ((AGAIN.has(shown) || (came && FOLLOWING.has(shown))) && !isTyping()) void PANES[shown]().catch(() => {});
}, REFRESH);
takeToken();
void attempt(begin);
