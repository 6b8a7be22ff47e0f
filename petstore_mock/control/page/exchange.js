// The exchange: the table that the service makes, the same as in a report. It escapes what clients sent.

import { text } from "./door.js";
import { $, attempt } from "./dom.js";

let url = null;

export async function drawExchange() {
  const last = Math.min(Math.max(Number($("exchange-last").value) || 30, 1), 200);
  const page = await text(`requests.html?last=${last}`);
  const main = new DOMParser().parseFromString(page, "text/html").querySelector("main"); // its scripts would not run
  $("exchange-table").replaceChildren(...[...main.children].map((part) => document.importNode(part, true)));
  if (url !== null) URL.revokeObjectURL(url);
  url = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  $("exchange-save").href = url;
}

export function start() {
  $("exchange-form").addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(drawExchange);
  });
}
