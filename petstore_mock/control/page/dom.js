// Makes elements from text only. Clients may send hostile markup, so nothing here parses it.
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

/** Fill a table with columns and with rows: `id`, and `cells` as text or elements. Keep the focus where it is. */
export function fillTable(table, columns, rows) {
  const head = make("tr", {}, columns.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map(({ id, cells }) =>
    make("tr", { id }, cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : make("td", {}, cell)))));
  const focused = table.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  table.replaceChildren(...(rows.length ? [make("thead", {}, head), make("tbody", {}, body)] : []));
  for (const row of body) [...row.cells].forEach((cell, index) => { cell.dataset.column = head.cells[index].textContent; }); // phones hide the head
  table.parentElement.hidden = rows.length === 0; // an empty region would be a useless tab stop
  if (focused !== null) [...table.querySelectorAll("a, button")].find((one) => nameOf(one) === focused)?.focus();
}

let clearing = 0;
/** Show a message for six seconds. Screen readers read it out. */
export function notice(text) {
  $("notice").textContent = text;
  clearTimeout(clearing);
  clearing = setTimeout(() => { $("notice").textContent = ""; }, 6000);
}

/** Run the action of a control. If it fails, show the error message. */
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

/** Ask for confirmation before an action that can't be undone. */
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

/** Copy a text. The button shows "Copied" for two seconds. */
export async function copy(text, pressed) {
  await navigator.clipboard.writeText(text).catch(() => { // browsers forbid it on pages from other machines without TLS
    throw new Error(`The browser does not allow this page to copy text. Select and copy this text: ${text}`);
  });
  if (!pressed) return notice("Copied.");
  const name = (pressed.dataset.name ??= pressed.textContent);
  pressed.textContent = "Copied";
  setTimeout(() => { pressed.textContent = name; }, 2000);
}

export const count = (number) => number.toLocaleString("en");

/** Return a phrase such as "500 of 9,000 animals". */
export const counted = (shown, all, things) => `${shown === all ? "" : `${count(shown)} of `}${count(all)} ${things}${all === 1 ? "" : "s"}`;

/** Replace characters that are invisible or change the direction of text with their escapes. */
export function visible(text) {
  return String(text).replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu,
    (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`,
  );
}
