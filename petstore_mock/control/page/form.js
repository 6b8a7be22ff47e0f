// Makes forms from the schemas of the door, so that the page does not repeat the fields of the interface.
import { json, parse } from "./door.js";
import { make } from "./dom.js";
function typesOf(rules, whole) {
  const forms = (rules.anyOf ?? [rules]).map(whole);
  return { names: new Set(forms.flatMap((one) => one.type ?? (one.enum ? "string" : "any"))), choices: forms.find((one) => one.enum)?.enum };
}

const inWords = (name) => name.replaceAll("_", " ");
const EXAMPLE = '{"name": "Rex"}';

/** Parse JSON, also if its names are not in quotation marks, as JavaScript allows it. */
function lenient(text) {
  try {
    return parse(text);
  } catch {
    return parse(text.replace(/([{,]\s*)([A-Za-z_]\w*)(?=\s*:)/g, '$1"$2"'));
  }
}

/** Return the JSON value of a text. Other text stays text, and the door reports what is wrong, if text is allowed at all. */
function valueOf(text, types, label) {
  if ([...types].every((name) => name === "string" || name === "null")) return text;
  try {
    return lenient(text);
  } catch {
    if (types.has("object") && !types.has("string")) throw new Error(`expected JSON for "${label}", such as ${EXAMPLE}; got ${text}`);
    return text;
  }
}

/**
 * Make a field for each property of a schema. Return the elements, `read` and `fill`.
 * `without` lists properties to leave out. `labels` has words in place of names; other names stay if `labels` is null.
 */
export function fieldsOf(schema, whole, prefix, { without = [], labels = {} } = {}) {
  const fields = Object.entries(schema.properties).filter(([name]) => !without.includes(name)).map(([name, rules]) => {
    const { names, choices } = typesOf(whole(rules), whole);
    const id = `${prefix}-${name}`;
    const label = labels === null ? name : labels[name] ?? inWords(name);
    let input;
    if (choices) input = make("select", { id }, make("option", { value: "" }, "–"), choices.map((one) => make("option", { value: one }, inWords(one))));
    else if (names.has("boolean")) input = make("input", { id, type: "checkbox" });
    else input = make("input", { id, autocomplete: "off", placeholder: names.has("object") ? EXAMPLE : names.has("any") ? "JSON" : null });
    input.required = (schema.required ?? []).includes(name) && !choices;
    return { name, names, label, input, element: make("p", { title: rules.description }, make("label", { for: id }, label), input) };
  });
  return {
    elements: fields.map((field) => field.element),
    read() {
      const given = fields.filter(({ input }) => (input.type === "checkbox" ? input.checked : input.value !== ""));
      return Object.fromEntries(given.map(({ name, names, label, input }) => [name, input.checked || valueOf(input.value, names, label)]));
    },
    fill(values) {
      for (const { name, input } of fields) {
        const value = values[name] ?? "";
        if (input.type === "checkbox") input.checked = Boolean(value);
        else input.value = typeof value === "object" ? json(value) : String(value);
      }
    },
  };
}

/** Return the members of `now` that differ from `before`, with null for removed members. */
export function changes(before, now) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  return Object.fromEntries(names.filter((name) => json(before[name]) !== json(now[name])).map((name) => [name, now[name] ?? null]));
}
