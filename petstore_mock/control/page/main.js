// Shows the pane in the address, such as #/requests/12, so that people can link to it.
import { ask, hasToken, setToken, shapes, takeToken, whenRefused, WORLD } from "./door.js";
import { $, attempt, copy, count, make } from "./dom.js";
import { journal } from "./journal.js";
import * as overview from "./overview.js";
import * as requests from "./requests.js";
import * as steering from "./steering.js";
const PANES = {
  requests: async () => {}, exchange: overview.showExchange, animals: steering.showAnimals, faults: steering.showFaults,
  gaps: steering.showGaps, clock: steering.showClock, worlds: overview.showWorlds,
};
const FOLLOWING = new Set(["animals", "exchange", "gaps"]); // the timer redraws these panes only after a new request
let shown = "";
let known = 0; // the number of requests when the panes were last drawn
let over = false; // whether this world has ended

function route() {
  takeToken();
  const [, pane = "requests", number] = /^#\/(\w+)(?:\/(\d+))?$/.exec(location.hash) ?? [];
  const next = Object.hasOwn(PANES, pane) ? pane : "requests";
  for (const name of Object.keys(PANES)) {
    $(name).hidden = name !== next;
    $(`nav-${name}`).ariaCurrent = name === next ? "page" : null;
  }
  $("token").hidden = true;
  document.title = `${next[0].toUpperCase()}${next.slice(1)}: ${WORLD} - petstore_mock`;
  if (next === "requests") requests.show(number === undefined ? null : Number(number), shown !== next);
  if (shown !== next) $(`nav-${next}`).scrollIntoView({ block: "nearest", inline: "center" });
  shown = next;
  void attempt(PANES[next]);
}

const isTyping = () => Boolean(document.activeElement?.closest("input, select") || document.querySelector("dialog[open]"));

async function showWorld() {
  const world = await ask("GET", "world");
  $("world-name").textContent = WORLD === "default" ? "" : `World ${WORLD}`;
  $("service-url").textContent = world.url;
  $("count-faults").textContent = world.faults ? count(world.faults) : "";
  $("count-animals").textContent = world.pets ? count(world.pets) : "";
  const token = hasToken() ? '-H "Petstore-Control-Token: $PETSTORE_MOCK_CONTROL_TOKEN" ' : "";
  const parts = { url: world.url, door: new URL("./", location.href), key: world.api_key, token };
  for (const line of document.querySelectorAll("[data-line]")) {
    line.textContent = line.dataset.line.replace(/\{(\w+)\}/g, (_, name) => parts[name]);
  }
}

async function begin() {
  await showWorld();
  const { body } = await shapes();
  const operations = body("requests/wait").properties.operation.anyOf.find((one) => one.enum).enum;
  $("requests-operation").append(...operations.map((name) => make("option", {}, name)));
  if (/\/latest$/.test(location.pathname) && !/^#\/\w/.test(location.hash)) {
    const number = await requests.latest();
    if (number !== null) history.replaceState(null, "", `#/requests/${number}`);
  }
  route();
  void requests.follow(() => {
    void showWorld().catch(() => {});
    if (!isTyping()) void PANES[shown]().catch(() => {});
  }, () => { over = true; });
}

for (const part of [requests, steering, overview]) part.start();
whenRefused(() => {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== "token";
  $("token-value").focus();
});
$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken($("token-value").value);
  void attempt(begin);
});
document.addEventListener("click", ({ target }) => {
  if (target.dataset.copies) void attempt(() => copy($(target.dataset.copies).textContent, target));
  if (target.matches("dialog button")) target.closest("dialog").close(target.value);
  if (target.id === "help-open") $("help").showModal();
});
addEventListener("hashchange", route);
setInterval(() => {
  if (over || document.hidden || !$("token").hidden) return;
  const isNew = journal.total !== known;
  known = journal.total;
  if (isNew) void showWorld().catch(() => {});
  if ((isNew || !FOLLOWING.has(shown)) && !isTyping()) void PANES[shown]().catch(() => {});
}, 2000);
takeToken();
void attempt(begin);
