// Changes the world: animals, faults, gaps and the clock.
import { ask, json, parse, shapes } from "./door.js";
import { $, attempt, button, confirmed, count, counted, fillTable, make, visible } from "./dom.js";
import { changes, fieldsOf } from "./form.js";
const MOST = 500; // rows of a table
let animals = null; // the form of an animal: its fields, and the animal that it changes
let plan = null; // the form of a fault: the fields of the rule, and those of the chosen kind
const RULE = { // the words for the parts of a fault's rule
  on: "operation", times: "how often", after: "skip first", at: "when", probability: "probability", off_contract: "outside the interface", where: "only if",
};
const emptyHead = (name) => make("span", { class: "hidden" }, name);
const quiet = (name, label, work) => button(name, work, { class: "quiet", "aria-label": label });

async function knowAnimals() {
  if (animals) return;
  const { schema, whole } = await shapes();
  const columns = Object.entries(schema("Animal").properties).map(([name, rules]) => ({ name, choices: whole(rules).enum }));
  animals = { fields: fieldsOf(schema("NewAnimal"), whole, "animal", { labels: null }), columns, before: null };
  $("animal-fields").replaceChildren(...animals.fields.elements);
}

function cellOf(value, choices) {
  if (value === undefined || value === null) return make("span", { class: "faint" }, "–");
  const shown = visible(typeof value === "object" ? json(value) : value);
  return choices ? make("span", { class: `pill pill-${choices.indexOf(value)}` }, shown) : shown;
}

export async function showAnimals() {
  await knowAnimals();
  const { pets } = await ask("GET", "pets");
  const wanted = $("animals-search").value.toLowerCase();
  const found = pets.filter((pet) => Object.values(pet).join(" ").toLowerCase().includes(wanted));
  $("count-animals").textContent = pets.length ? count(pets.length) : "";
  $("animals-empty").hidden = pets.length > 0;
  $("animals-summary").textContent = `${counted(Math.min(found.length, MOST), pets.length, "animal")}.`;
  const remove = (pet) => attempt(() => ask("DELETE", `pets/${pet.id}`).then(showAnimals), `Removed animal ${pet.id}.`);
  fillTable($("animals-table"), [...animals.columns.map(({ name }) => name), emptyHead("change")], found.slice(0, MOST).map((pet) => ({
    id: `animal-${pet.id}`,
    cells: [...animals.columns.map(({ name, choices }) => cellOf(pet[name], choices)), make("td", { class: "actions" },
      quiet("Change", `Change animal ${pet.id}`, () => edit(pet)), quiet("Remove", `Remove animal ${pet.id}`, () => remove(pet)))],
  })));
}

function edit(pet) {
  animals.before = pet;
  animals.fields.fill(pet ?? {});
  $("animal-save").textContent = pet ? `Save animal ${pet.id}` : "Add";
  $("animal-leave").hidden = !pet;
  $("animal-many").hidden = Boolean(pet);
  if (pet) $("animal-form").querySelector("input").focus();
}

async function saveAnimal() {
  const { before, fields } = animals;
  if (before) await ask("PATCH", `pets/${before.id}`, changes(before, fields.read()));
  else await ask("POST", "pets", fields.read());
  edit(null);
  await showAnimals();
}

async function knowFaults() {
  if (plan) return;
  const { body, schema, whole } = await shapes();
  const rules = body("faults");
  const kinds = whole(rules.properties.fault).anyOf.find((one) => one.discriminator).discriminator.mapping;
  plan = { schema, whole, rules, rule: fieldsOf(rules, whole, "fault", { without: ["fault"], labels: RULE }), of: null };
  $("fault-kind").replaceChildren(...Object.keys(kinds).map((kind) => make("option", { value: kind }, kind.replaceAll("_", " "))));
  $("fault-rule").replaceChildren(...plan.rule.elements);
  fillPlan();
}

function chooseKind() {
  const rules = plan.schema(`Fault.${$("fault-kind").value}`);
  plan.of = fieldsOf(rules, plan.whole, "fault-of", { without: ["kind"] });
  $("fault-arguments").replaceChildren(...plan.of.elements);
  $("fault-says").textContent = `${rules.description[0].toUpperCase()}${rules.description.slice(1)}.`;
}

/** Fill the form with a common fault and further parts of the rule. */
function fillPlan(common = document.querySelector("[data-plan]"), more = {}) {
  const { fault, ...rule } = parse(common.dataset.plan);
  $("fault-kind").value = fault.kind;
  chooseKind();
  plan.of.fill(fault);
  plan.rule.fill({ ...rule, ...more });
  return $("fault-plan");
}

/** Fill the form with a fault for the next request like this one. */
export async function breakLike(entry) {
  await knowFaults();
  const known = plan.schema("Criteria").properties;
  const query = Object.entries(entry.query).map(([name, values]) => [name, values.at(-1)]);
  const sent = [...query, ...Object.entries(typeof entry.body === "object" && entry.body !== null ? entry.body : {})];
  const where = Object.fromEntries(sent.filter(([name, value]) => Object.hasOwn(known, name) && typeof value !== "object"));
  const more = { on: entry.operation, where: Object.keys(where).length ? where : { path: entry.path } };
  addEventListener("hashchange", () => fillPlan(undefined, more).focus(), { once: true }); // when the pane is visible
  location.hash = "#/faults";
}

/** Return a cell with the conditions of a plan that differ from their defaults. */
function conditions(one) {
  const parts = Object.entries(plan.rules.properties).filter(([name]) => !["fault", "on", "times"].includes(name)).map(([name, given]) => {
    const { maximum, enum: choices } = plan.whole(given);
    return [null, undefined, false, 0, maximum, choices?.[0]].includes(one[name]) ? "" : `${RULE[name] ?? name}: ${typeof one[name] === "string" ? one[name].replaceAll("_", " ") : json(one[name])}`;
  });
  return make("td", {}, parts.filter(Boolean).map((part) => make("code", { class: "condition" }, visible(part))));
}

export async function showFaults() {
  await knowFaults();
  const { faults } = await ask("GET", "faults");
  const active = faults.filter((one) => !one.spent);
  $("count-faults").textContent = active.length ? count(active.length) : "";
  $("faults-empty").hidden = faults.length > 0;
  $("faults-cancel").hidden = active.length === 0;
  const cancel = (one) => attempt(() => ask("DELETE", `faults/${one.id}`).then(showFaults), `Cancelled fault ${one.id}.`);
  const written = ({ kind, ...rest }) => `${kind} ${Object.keys(rest).length ? json(rest) : ""}`;
  const row = (one) => ({
    id: `fault-${one.id}`,
    cells: [make("span", { class: `pill pill-${one.spent ? 2 : 0}` }, one.spent ? "spent" : "active"),
      make("code", {}, visible(one.fault.kind ? written(one.fault) : one.fault)), one.on ?? "any operation", conditions(one),
      make("td", {}, `${one.hits}${one.times === null ? "" : ` of ${one.times}`}`, one.why_not && [" ", make("span", { class: "faint condition" }, visible(one.why_not))]),
      one.spent ? "" : quiet("Cancel", `Cancel fault ${one.id}`, () => cancel(one))],
  });
  fillTable($("faults-table"), ["state", "fault", "operation", "conditions", "hits", emptyHead("cancel")],
    faults.reverse().sort((a, b) => a.spent - b.spent).slice(0, MOST).map(row));
}

export async function showGaps() {
  const [{ gaps, presets }, chosen] = await Promise.all([ask("GET", "gaps"), ask("GET", "behaviour")]);
  if (!$("gaps-preset").value) $("gaps-preset").replaceChildren(...Object.keys(presets).map((name) => make("option", {}, name)));
  const isChanged = (gap) => chosen[gap.name] !== gap.default;
  $("gaps-list").replaceChildren(...gaps.sort((a, b) => isChanged(b) - isChanged(a)).map((gap) => {
    const id = `gap-${gap.name}`;
    const select = make("select", { id, "aria-describedby": `${id}-says` },
      gap.alternatives.map((name) => make("option", { value: name }, name === gap.default ? `${name} (default)` : name)));
    select.value = chosen[gap.name];
    select.addEventListener("change", () => attempt(async () => {
      await ask("PATCH", "behaviour", { [gap.name]: select.value });
      await showGaps();
      $(id).focus();
    }, `${gap.name} is now ${select.value}.`));
    return make("article", { class: isChanged(gap) ? "gap changed" : "gap", "aria-label": gap.name },
      make("h2", {}, make("label", { for: id }, gap.name)), select, make("p", { id: `${id}-says` }, `§${gap.section} ${gap.sentence}`),
      make("dl", { class: "effects" }, gap.alternatives.map((name, index) => make("div", { class: name === chosen[gap.name] ? "now" : null },
        make("dt", {}, make("code", {}, name)), make("dd", {}, gap.effects[index])))),
      make("p", { class: "faint" }, make("strong", {}, "Do not assume: "), gap.do_not_assume));
  }));
}

export async function showClock() {
  const { now, frozen } = await ask("GET", "clock");
  $("clock-now").textContent = now.replace("T", " ").replace(/\.\d+Z$/, " UTC");
  $("clock-now").dateTime = now;
  $("clock-frozen").textContent = frozen ? "The clock is frozen." : "The clock runs.";
  $("clock-freeze").textContent = frozen ? "Let it run" : "Freeze";
  $("clock-freeze").dataset.change = json({ freeze: !frozen });
}

const setClock = (change) => ask("PATCH", "clock", change).then(showClock);

export function start() {
  const onSubmit = (id, work, done) => $(id).addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(work, done);
  });
  const onClick = (element, work, done) => element.addEventListener("click", () => attempt(work, done));
  onSubmit("animal-form", saveAnimal, "Saved.");
  onClick($("animal-many"), () => ask("POST", "pets", { count: 20 }).then(showAnimals), "Added 20 animals.");
  $("animal-leave").addEventListener("click", () => edit(null));
  $("animals-search").addEventListener("input", () => attempt(showAnimals));
  $("fault-kind").addEventListener("change", chooseKind);
  for (const common of document.querySelectorAll("[data-plan]")) {
    onClick(common, () => ask("POST", "faults", parse(common.dataset.plan)).then(showFaults), `Planned for the next request: ${common.textContent}.`);
  }
  const planned = () => ({ fault: { kind: $("fault-kind").value, ...plan.of.read() }, ...plan.rule.read() });
  onSubmit("fault-form", () => ask("POST", "faults", planned()).then(showFaults), "Planned.");
  onClick($("faults-cancel"), async () => {
    if (await confirmed("Cancel all active faults?", "Cancel all")) await ask("DELETE", "faults").then(showFaults);
  });
  onSubmit("gaps-form", () => ask("PATCH", "behaviour", { preset: $("gaps-preset").value }).then(showGaps), "The service now uses the preset.");
  for (const element of document.querySelectorAll("[data-change]")) onClick(element, () => setClock(parse(element.dataset.change)));
  onClick($("clock-today"), () => setClock({ travel_to: new Date().toISOString() }));
  onSubmit("clock-form", () => setClock({ travel_to: `${$("clock-date").value}Z` }));
}
