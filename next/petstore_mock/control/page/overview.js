// What was shown so far, and which worlds there are.

import { ask, pageOf, ROOT, WORLD } from "./door.js";
import { $, attempt, count, fillTable, make, visible } from "./dom.js";

export async function showCoverage() {
  const { outcomes, faults } = await ask("GET", "coverage");
  const operations = [...new Set(outcomes.map((one) => one.operation))];
  const names = [...new Set(outcomes.map((one) => one.outcome))].sort();
  const cell = (shown, never = "never") => {
    if (shown === undefined) return make("td", { class: "none" }, make("span", { "aria-hidden": "true" }, "-"));
    return shown ? make("td", { class: "shown" }, count(shown)) : make("td", { class: never }, "never");
  };
  const row = (name, cells) => ({ cells: [make("th", { scope: "row" }, name), ...cells] });
  fillTable($("coverage-table"), ["outcome", ...operations], [
    ...names.map((name) => row(name, operations.map((operation) =>
      cell(outcomes.find((one) => one.operation === operation && one.outcome === name)?.shown)))),
    ...faults.map((one) => row(`fault ${one.fault}`, operations.map((operation) => cell(one.operations[operation], "unseen")))),
  ]);
  const shown = outcomes.filter((one) => one.shown).length;
  $("coverage-told").textContent = `${shown} of ${outcomes.length} documented outcomes were shown to the client, by the requests that are kept.`;
}

export async function showWorlds() {
  const [{ worlds }, verification] = await Promise.all([
    ask("GET", "worlds", undefined, { at: ROOT }), ask("GET", "world/verification")]);
  $("world-problems").replaceChildren(...verification.problems.map((one) =>
    make("li", {}, make("strong", {}, one.kind.replace("_", " ")), " ", visible(one.message))));
  fillTable($("worlds-table"), ["world", "animals", "requests", "violations", "faults", "state", "end"], worlds.map((world) => ({
    id: `world-${world.name}`,
    cells: [
      make("a", { href: pageOf(world.name), "aria-current": world.name === WORLD ? "true" : null }, world.name),
      count(world.pets), count(world.requests), count(world.violations), count(world.faults),
      world.passed ? "passes" : make("strong", { class: "trouble" }, "× has problems"),
      world.name === "default" ? "" : make("button", {
        type: "button", "aria-label": `End world ${world.name}`,
        onclick: () => attempt(async () => {
          await ask("DELETE", "world", undefined, { at: pageOf(world.name) });
          if (world.name === WORLD) location.assign(ROOT);
          else await showWorlds();
        }, `Ended ${world.name}.`),
      }, "End")],
  })));
}

export function start() {
  $("world-form").addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(async () => {
      await ask("PUT", "world", {}, { at: pageOf($("world-new").value) });
      $("world-new").value = "";
      await showWorlds();
    }, "Made it.");
  });
  $("world-reset").addEventListener("click", () => attempt(async () => {
    await ask("POST", "world/reset");
    await showWorlds();
  }, "It is as it was at its start."));
}
