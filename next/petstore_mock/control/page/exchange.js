// The picture of the exchange: drawn by the service's own renderer, the one of journal.to_svg().

import { ask, text } from "./door.js";
import { $, attempt, fillTable, make, visible } from "./dom.js";
import { reason, result, target } from "./words.js";

let url = null;

export async function drawExchange() {
  const last = Math.min(Math.max(Number($("exchange-last").value) || 30, 1), 200);
  const [svg, journal] = await Promise.all([text(`requests.svg?last=${last}`), ask("GET", `requests?last=${last}`)]);
  const drawn = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  if (drawn.localName !== "svg") throw new Error("The picture can't be read.");
  $("exchange-picture").replaceChildren(document.importNode(drawn, true));
  for (const group of $("exchange-picture").querySelectorAll("g[data-number]")) {
    group.addEventListener("click", () => { location.hash = `#/requests/${group.dataset.number}`; });
  }
  if (url !== null) URL.revokeObjectURL(url);
  url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  $("exchange-save").href = url;
  fillTable($("exchange-table"), ["number", "at", "request", "operation", "at the service", "answer"],
    journal.requests.map((entry) => ({ cells: [
      make("a", { href: `#/requests/${entry.number}` }, String(entry.number)), entry.at,
      `${visible(entry.method)} ${visible(target(entry))}`, entry.operation ?? "",
      [entry.executed && entry.operation === "createPet" ? "committed" : "", visible(reason(entry))].filter(Boolean).join("; "),
      result(entry)] })));
}

export function start() {
  $("exchange-form").addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(drawExchange);
  });
}
