// What an entry of the journal is called, in a row, a heading or a table.

export const isPending = (entry) => entry.status === null && (entry.outcome === null || entry.outcome === "delayed");
export const isTrouble = (entry) => entry.status === null || entry.status >= 400 || entry.fault !== null;

export function target(entry) {
  const query = new URLSearchParams(Object.entries(entry.query).flatMap(([name, values]) =>
    values.map((value) => [name, value])));
  return query.size ? `${entry.path}?${query}` : entry.path;
}

export function result(entry) {
  return entry.status === null ? (isPending(entry) ? "waiting" : entry.outcome) : String(entry.status);
}

/** Whether the service did what it was asked for, though no answer says so. */
export const isLost = (entry) => entry.status === null && !isPending(entry) && entry.executed && entry.operation === "createPet";

export function reason(entry) {
  const fault = entry.fault === null ? "" : `fault ${entry.fault}`;
  const told = entry.reason && entry.reason !== fault ? [fault, entry.reason] : [fault];
  if (isLost(entry)) told.unshift("answer lost, animal created");
  return told.filter(Boolean).join("; ");
}

export function kindOf(entry) {
  if (entry.violations.length) return "refused";
  if (entry.fault !== null) return "fault";
  return entry.status !== null && entry.status < 400 ? "good" : "failed";
}
