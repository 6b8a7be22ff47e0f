// Shows the exchange and the worlds.
import { ask, pageOf, ROOT, text, WORLD } from "./door.js";
import { $, attempt, button, confirmed, count, counted, fillTable, make, visible } from "./dom.js";
/** Show the same table as in a report. The service makes it and escapes the text of clients. */
export async function showExchange() {
  const content = await text("requests.html?last=100");
  const inner = /<table[^]*<\/table>/.exec(content)?.[0] ?? ""; // the content security policy refuses the page's styles
  const table = new DOMParser().parseFromString(inner, "text/html").querySelector("table"); // DOMParser runs no scripts
  $("exchange-empty").hidden = table !== null;
  $("exchange-table").hidden = table === null;
  const known = new Map([...$("exchange-table").querySelectorAll("details")].map((one) => [one.dataset.key, one.open]));
  for (const row of table?.querySelectorAll("[data-number]") ?? []) {
    row.removeAttribute("id"); // the list of requests uses the same id
    const number = row.querySelector("th");
    number.replaceChildren(make("a", { href: `#/requests/${row.dataset.number}` }, number.textContent));
  }
  for (const one of table?.querySelectorAll("details") ?? []) one.open = known.get(one.dataset.key) ?? one.open;
  $("exchange-table").replaceChildren(...(table ? [document.importNode(table, true)] : []));
}

function ageOf(seconds) {
  const [size, name] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${name}`;
}

/** Return a cell with the result of a verification. Only a strict world fails it because of violations. */
function stateOf(world) {
  if (!world.passed) return make("span", { class: "pill pill-bad" }, "× has problems");
  if (world.violations === 0) return make("span", { class: "pill pill-0" }, "passes");
  return make("span", { class: "pill pill-1", title: "The world is not strict, so its verification allows violations." }, "allows violations");
}

async function makeWorld() {
  const world = await ask("PUT", "world", {}, { at: pageOf($("world-new").value), isNew: true });
  $("made-name").textContent = world.name;
  $("made-name").href = pageOf(world.name);
  $("made-url").textContent = world.url;
  $("made-key").textContent = world.api_key;
  $("world-made").hidden = false;
  await showWorlds();
}

async function end(world) {
  if (!await confirmed(`End the world ${world.name}? This deletes its animals, faults and requests.`, "End world")) return;
  await ask("DELETE", "world", undefined, { at: pageOf(world.name) });
  if (world.name === WORLD) location.assign(ROOT);
  else await showWorlds();
}

export async function showWorlds() {
  const [{ worlds }, verification] = await Promise.all([
    ask("GET", "worlds", undefined, { at: ROOT }), ask("GET", "world/verification")]);
  $("world-problems").replaceChildren(...verification.problems.map((one) =>
    make("li", {}, make("strong", {}, one.kind.replace("_", " ")), " ", visible(one.message))));
  const wanted = $("worlds-search").value.toLowerCase();
  const found = worlds.filter((world) => world.name.toLowerCase().includes(wanted))
    .sort((a, b) => a.passed - b.passed || (b.violations > 0) - (a.violations > 0) || a.age - b.age);
  $("worlds-summary").textContent = `${counted(found.length, worlds.length, "world")}, ${count(worlds.filter((one) => !one.passed).length)} with problems.`;
  fillTable($("worlds-table"), ["state", "world", "animals", "requests", "violations", "faults", "age", make("span", { class: "hidden" }, "end")],
    found.slice(0, 500).map((world) => ({
      id: `world-${world.name}`,
      cells: [
        stateOf(world),
        make("a", { href: pageOf(world.name), "aria-current": world.name === WORLD && "true" }, world.name),
        count(world.pets), count(world.requests), count(world.violations), count(world.faults), ageOf(world.age),
        world.name === "default" ? "" : button("End", () => attempt(() => end(world)), { class: "quiet", "aria-label": `End world ${world.name}` })],
    })));
}

export function start() {
  $("worlds-search").addEventListener("input", () => attempt(showWorlds));
  $("world-form").addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(makeWorld, "The world was made.");
  });
  $("world-reset").addEventListener("click", () => attempt(async () => {
    const question = "Reset this world to its starting state? This deletes its journal and its changes.";
    if (await confirmed(question, "Reset world")) await ask("POST", "world/reset").then(showWorlds);
  }));
}
