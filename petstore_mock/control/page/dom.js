// Elements, made of text alone: whatever a client sent is data, so nothing here ever parses markup.

export const $ = (id) => document.getElementById(id);

/** Make an element: attributes by name, `on...` as listeners, children as text or elements. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const nameOf = (element) => element.getAttribute("aria-label") ?? element.textContent;

/** Fill a table: names of columns, and rows of cells (text or elements); a row's `id` is its own. The focus stays. */
export function fillTable(table, columns, rows) {
  const head = make("tr", {}, columns.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map(({ id, cells }) =>
    make("tr", { id }, cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : make("td", {}, cell)))));
  const focused = table.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  table.replaceChildren(make("thead", {}, head), make("tbody", {}, body));
  if (focused !== null) [...table.querySelectorAll("a, button")].find((one) => nameOf(one) === focused)?.focus();
}

/** Say something that a screen reader tells as well. */
export function notice(text) {
  $("notice").textContent = text;
}

export function problem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

/** Run what a control asks for; what the door refuses is told in its own words. */
export async function attempt(work, done = "") {
  try {
    problem("");
    await work();
    if (done) notice(done);
  } catch (error) {
    if (error.status !== 401) problem(error.message);
  }
}

export const count = (number) => number.toLocaleString("en");

/** Show characters that turn the writing around or can't be seen by their numbers. */
export function visible(text) {
  return String(text).replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu,
    (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`,
  );
}
