// What an entry of the journal is called, in a row, a heading or a table.

export const isPending = (entry) => entry.state === "in flight";
export const isTrouble = (entry) => entry.status === null || entry.status >= 400 || entry.fault !== null;

export const target = (entry) => entry.target; // as sent

export function result(entry) {
  return entry.status === null ? (isPending(entry) ? "in flight" : entry.outcome ?? "no response") : String(entry.status);
}

/** Whether the change was made although the response was lost. */
export const isLost = (entry) => entry.status === null && !isPending(entry) && entry.executed && entry.operation === "createPet";

export function reason(entry) {
  const fault = entry.fault === null ? "" : `fault ${entry.fault}`;
  const told = entry.reason && entry.reason !== fault ? [fault, entry.reason] : [fault];
  if (isLost(entry)) told.unshift("response lost, animal created");
  return told.filter(Boolean).join("; ");
}

export function kindOf(entry) {
  if (entry.violations.length) return "refused";
  if (entry.fault !== null) return "fault";
  return entry.status !== null && entry.status < 400 ? "good" : "failed";
}
