// What changes the world: animals, faults, gaps, the clock.

import { ask } from "./door.js";
import { $, attempt, count, fillTable, make, visible } from "./dom.js";

const MOST = 500; // rows of a table
const REMOVAL = "2030-12-05T00:00:00Z"; // when the interface takes getPet out (§4.3)

const button = (name, label, onclick, id) => make("button", { type: "button", "aria-label": label, onclick, id }, name);

// Animals

export async function showAnimals() {
  const { pets } = await ask("GET", "pets");
  $("count-animals").textContent = pets.length ? count(pets.length) : "";
  $("animals-told").textContent = pets.length > MOST ? `The first ${count(MOST)} of ${count(pets.length)}.` : "";
  if (pets.length === 0) $("animals-told").textContent = "There is no animal.";
  fillTable($("animals-table"), ["id", "name", "category", "status", "change"], pets.slice(0, MOST).map((pet) => ({
    id: `animal-${pet.id}`,
    cells: [String(pet.id), visible(pet.name), String(pet.categoryId), pet.status ?? make("span", { class: "faint" }, "none"),
      make("td", { class: "actions" },
        button("Change", `Change animal ${pet.id}`, () => edit(pet)),
        button("Remove", `Remove animal ${pet.id}`, () => attempt(async () => {
          await ask("DELETE", `pets/${pet.id}`);
          await showAnimals();
        }, `Removed animal ${pet.id}.`)))],
  })));
}

function edit(pet) {
  $("animal-id").value = pet ? pet.id : "";
  $("animal-name").value = pet ? pet.name : "";
  $("animal-category").value = pet ? pet.categoryId : "";
  $("animal-status").value = pet?.status ?? "";
  $("animal-save").textContent = pet ? `Change animal ${pet.id}` : "Add";
  $("animal-leave").hidden = !pet;
  $("animal-many").hidden = Boolean(pet);
  if (pet) $("animal-name").focus();
}

async function saveAnimal() {
  const id = $("animal-id").value;
  const fields = {};
  if ($("animal-name").value || id) fields.name = $("animal-name").value;
  if ($("animal-category").value) fields.categoryId = BigInt($("animal-category").value);
  if ($("animal-status").value || id) fields.status = $("animal-status").value || null;
  if (!id && fields.status === null) delete fields.status;
  await ask(id ? "PATCH" : "POST", id ? `pets/${id}` : "pets", fields);
  edit(null);
  await showAnimals();
}

// Faults

const ARGUMENTS = {
  server_error: ["status", "503"], delay: ["seconds", "0.5"], truncate: ["fraction", "0.5"],
  dribble: ["bytes_per_second", "20"], rate_limited: ["retry_after", "1"], respond: ["status", "502"],
};
let kindsKnown = false;

async function knowKinds() {
  if (kindsKnown) return;
  const kinds = (await ask("GET", "coverage")).faults.map((one) => one.fault).filter((kind) => kind !== "sequence");
  $("fault-kind").replaceChildren(...kinds.map((kind) => make("option", {}, kind)));
  $("fault-kind").value = "server_error";
  kindsKnown = true;
  argumentOfKind();
}

function argumentOfKind() {
  const [name, value] = ARGUMENTS[$("fault-kind").value] ?? ["", ""];
  $("fault-argument-label").hidden = !name;
  $("fault-argument-name").textContent = name.replaceAll("_", " ");
  $("fault-argument").value = value;
}

function written(fault) {
  if (typeof fault !== "object") return String(fault);
  const { kind, ...rest } = fault;
  const told = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `${kind}(${told.join(", ")})`;
}

export async function showFaults() {
  await knowKinds();
  const { faults } = await ask("GET", "faults");
  const open = faults.filter((one) => !one.spent).length;
  $("count-faults").textContent = open ? count(open) : "";
  fillTable($("faults-table"), ["fault", "on", "at", "hits", "state", "cancel"], faults.slice(-MOST).reverse().map((one) => ({
    id: `fault-${one.id}`,
    cells: [visible(written(one.fault)), one.on ?? "any operation", one.at.replace("_", " the "),
      `${one.hits}${one.times === null ? "" : ` of ${one.times}`}`,
      one.spent ? "spent" : one.after ? `waits for ${one.after} requests` : "waits",
      one.spent ? "" : button("Cancel", `Cancel fault ${one.id}`, () => attempt(async () => {
        await ask("DELETE", `faults/${one.id}`);
        await showFaults();
      }, `Cancelled fault ${one.id}.`))],
  })));
}

async function planFault() {
  const kind = $("fault-kind").value;
  const [name] = ARGUMENTS[kind] ?? [""];
  const fault = { kind };
  const value = $("fault-argument").value.trim();
  if (name && value) fault[name] = Number.isNaN(Number(value)) ? value : Number(value);
  const plan = { fault, after: Number($("fault-after").value) || 0 };
  if ($("fault-on").value) plan.on = $("fault-on").value;
  if ($("fault-times").value) plan.times = Number($("fault-times").value);
  if ($("fault-at").value) plan.at = $("fault-at").value;
  await ask("POST", "faults", plan);
  await showFaults();
}

// Gaps

export async function showGaps() {
  const [{ gaps, presets }, chosen] = await Promise.all([ask("GET", "gaps"), ask("GET", "behaviour")]);
  $("gaps-preset").replaceChildren(...Object.keys(presets).map((name) => make("option", {}, name)));
  const onlyChanged = $("gaps-changed").checked;
  const shown = gaps.filter((gap) => !onlyChanged || chosen[gap.name] !== gap.default);
  $("gaps-list").replaceChildren(...shown.map((gap) => {
    const select = make("select", { id: `gap-${gap.name}`, "aria-describedby": `gap-${gap.name}-says` },
      gap.alternatives.map((name) => make("option", { value: name }, name === gap.default ? `${name} (default)` : name)));
    select.value = chosen[gap.name];
    select.addEventListener("change", () => attempt(async () => {
      await ask("PATCH", "behaviour", { [gap.name]: select.value });
      await showGaps();
      $(`gap-${gap.name}`)?.focus();
    }, `${gap.name} is now ${select.value}.`));
    return make("article", { class: chosen[gap.name] === gap.default ? "gap" : "gap changed", "aria-label": gap.name },
      make("h2", {}, make("label", { for: `gap-${gap.name}` }, gap.name)), select,
      make("p", { id: `gap-${gap.name}-says` }, `§${gap.section} ${gap.sentence}`),
      make("p", { class: "faint" }, make("strong", {}, "Do not assume: "), gap.do_not_assume));
  }));
  if (shown.length === 0) $("gaps-list").replaceChildren(make("p", { class: "faint" }, "Every gap is at its default."));
}

// Clock

export async function showClock() {
  const { now, frozen } = await ask("GET", "clock");
  $("clock-now").textContent = now.replace("T", " ").replace(/\.\d+Z$/, " UTC");
  $("clock-now").dateTime = now;
  $("clock-frozen").textContent = frozen ? "It is frozen." : "It runs.";
  $("clock-freeze").textContent = frozen ? "Let it run" : "Freeze";
  $("clock-freeze").dataset.frozen = String(frozen);
}

async function setClock(change) {
  await ask("PATCH", "clock", change);
  await showClock();
}

export function start() {
  const onSubmit = (id, work, done) => $(id).addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(work, done);
  });
  const onClick = (id, work, done) => $(id).addEventListener("click", () => attempt(work, done));
  onSubmit("animal-form", saveAnimal, "Done.");
  onClick("animal-many", async () => {
    await ask("POST", "pets", { count: 20 });
    await showAnimals();
  }, "Added 20 animals.");
  $("animal-leave").addEventListener("click", () => edit(null));
  $("fault-kind").addEventListener("change", argumentOfKind);
  onSubmit("fault-form", planFault, "Planned.");
  onClick("faults-cancel", async () => {
    await ask("DELETE", "faults");
    await showFaults();
  }, "Cancelled all faults.");
  onSubmit("gaps-form", async () => {
    await ask("PATCH", "behaviour", { preset: $("gaps-preset").value });
    await showGaps();
  }, "Took the preset.");
  $("gaps-changed").addEventListener("change", () => attempt(showGaps));
  onClick("clock-today", () => setClock({ travel_to: new Date().toISOString() }));
  onClick("clock-removal", () => setClock({ travel_to: REMOVAL }));
  onClick("clock-freeze", () => setClock({ freeze: $("clock-freeze").dataset.frozen !== "true" }));
  onClick("clock-minute", () => setClock({ advance: { minutes: 1 } }));
  onClick("clock-hour", () => setClock({ advance: { hours: 1 } }));
  onClick("clock-day", () => setClock({ advance: { days: 1 } }));
  onSubmit("clock-form", () => setClock({ travel_to: `${$("clock-date").value}Z` }));
}
