// Makes forms from the schemas of the door, so that the page does not repeat the fields of the interface.
import { json, parse } from "./door.js";
import { make } from "./dom.js";
function typesOf(rules, whole) {
  const forms = (rules.anyOf ?? [rules]).map(whole);
  return { names: new Set(forms.flatMap((one) => one.type ?? (one.enum ? "string" : "any"))), choices: forms.find((one) => one.enum)?.enum };
}

/** Return the JSON value of a text. Text that is not JSON stays text, and the door reports what is wrong. */
function valueOf(text, types) {
  try {
    return [...types].every((name) => name === "string" || name === "null") ? text : parse(text);
  } catch {
    return text;
  }
}

/** Make a field for each property of a schema, except those in `without`. Return the elements, `read` and `fill`. */
export function fieldsOf(schema, whole, prefix, without = []) {
  const fields = Object.entries(schema.properties).filter(([name]) => !without.includes(name)).map(([name, rules]) => {
    const { names, choices } = typesOf(whole(rules), whole);
    const id = `${prefix}-${name}`;
    let input;
    if (choices) input = make("select", { id }, make("option", { value: "" }, "–"), choices.map((one) => make("option", {}, one)));
    else if (names.has("boolean")) input = make("input", { id, type: "checkbox" });
    else input = make("input", { id, autocomplete: "off", placeholder: names.has("object") || names.has("any") ? "JSON" : null });
    input.required = (schema.required ?? []).includes(name) && !choices;
    return { name, names, input, element: make("p", { title: rules.description }, make("label", { for: id }, name), input) };
  });
  return {
    elements: fields.map((field) => field.element),
    read() {
      const given = fields.filter(({ input }) => (input.type === "checkbox" ? input.checked : input.value !== ""));
      return Object.fromEntries(given.map(({ name, names, input }) => [name, input.checked || valueOf(input.value, names)]));
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
