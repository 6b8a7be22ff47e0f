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

export const button = (name, onclick, attributes = {}) => make("button", { type: "button", onclick, ...attributes }, name);
const nameOf = (element) => element.getAttribute("aria-label") ?? element.textContent;

/** Fill a table: names of columns, and rows of cells (text or elements); a row's `id` is its own. The focus stays. */
export function fillTable(table, columns, rows) {
  const head = make("tr", {}, columns.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map(({ id, cells }) =>
    make("tr", { id }, cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : make("td", {}, cell)))));
  const focused = table.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  table.replaceChildren(...(rows.length ? [make("thead", {}, head), make("tbody", {}, body)] : []));
  for (const row of body) [...row.cells].forEach((cell, index) => { cell.dataset.column = head.cells[index].textContent; }); // a phone shows no head
  table.parentElement.hidden = rows.length === 0; // its region would be a tab stop with nothing in it
  if (focused !== null) [...table.querySelectorAll("a, button")].find((one) => nameOf(one) === focused)?.focus();
}

let clearing = 0;
/** Say something for some seconds, beside the page; a screen reader tells it as well. */
export function notice(text) {
  $("notice").textContent = text;
  clearTimeout(clearing);
  clearing = setTimeout(() => { $("notice").textContent = ""; }, 6000);
}

/** Run what a control asks for. What the door refuses is shown in its own words. */
export async function attempt(work, done = "") {
  const shown = $("problem");
  shown.hidden = true;
  try {
    await work();
    if (done) notice(done);
  } catch (error) {
    shown.hidden = error.status === 401;
    shown.textContent = error.message;
  }
}

/** Ask in a dialog before something that can't be undone. */
export function confirmed(question, action) {
  const dialog = $("confirm");
  $("confirm-question").textContent = question;
  $("confirm-do").textContent = action;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "do"), { once: true });
  });
}

/** Copy a text; the button says so for two seconds. */
export async function copy(text, pressed) {
  await navigator.clipboard.writeText(text).catch(() => { // which no page may do that came without TLS from another machine
    throw new Error(`The browser lets no page copy here. Mark this text: ${text}`);
  });
  if (!pressed) return notice("Copied.");
  const name = (pressed.dataset.name ??= pressed.textContent);
  pressed.textContent = "Copied";
  setTimeout(() => { pressed.textContent = name; }, 2000);
}

export const count = (number) => number.toLocaleString("en");

/** Say how many things there are, and how many of them are shown. */
export const counted = (shown, all, things) => `${shown === all ? "" : `${count(shown)} of `}${count(all)} ${things}${all === 1 ? "" : "s"}`;

/** Show characters that turn the writing around or can't be seen by their numbers. */
export function visible(text) {
  return String(text).replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu,
    (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`,
  );
}
