/**
 * The difference of two session states as rows of text, grouped by part of the state.
 */

import { capitalize } from "./format.js";

/** @typedef {{op: "added"|"removed"|"changed", name: string, before: string, after: string}} DiffRow */
/** @typedef {{key: string, title: string, rows: DiffRow[]}} DiffPart */

/** In the order of display. Other parts follow. @type {Record<string, string>} */
const TITLES = {
  lifecycle: "Lifecycle",
  ended: "Ended",
  goal: "Goal",
  requests: "Requests",
  decisions_made: "Decisions",
  questions: "Asked by the agent",
  plan: "Plan",
  todos: "Steps",
  branch: "Branch",
  commits: "Commits",
  pull_requests: "Pull requests",
  references: "References",
  checks: "Tests and checks",
  uncommitted: "Not committed",
  notes: "Notes",
  files_modified: "Files changed",
  folders: "Folders",
  pending_actions: "To do",
  open_questions: "Open questions",
  errors: "Failures",
  facts: "Facts",
  tools_used: "Tools used",
  files_read: "Files read",
  apps: "Apps",
  evicted_keys: "Dropped from the model’s context",
  running: "Running",
  answered_questions: "Answered questions",
  untrusted: "Untrusted input",
  budget: "Budget",
  trust: "Trust",
  turn: "Turn",
  counts: "Counts",
  title: "Title",
  workspace: "Folder",
};
/** Parts that another part shows in more detail. */
const REDUNDANT = new Set(["evicted", "branches"]);

/** Fields that can name a row, best first. */
const NAME_FIELDS = ["path", "what", "text", "note", "subject", "command", "app", "error", "key", "call_id", "name", "id", "seq"];
/** Fields that are not shown. */
const HIDDEN_FIELDS = new Set(["seq", "at", "turn", "last_seq", "session", "first_seq"]);

/** Trust is shown only if it is low. */
const LOW_TRUST = new Set(["web", "unverified"]);
/** Labels that differ from the field name. @type {Record<string, string>} */
const FIELD_LABELS = {
  change: "",
  why: "because",
  alternatives: "instead of",
  evidence: "via",
  mended_by: "fixed at",
};

/** The label of a field. @param {string} name */
export const fieldLabel = (name) => FIELD_LABELS[name] ?? name.replaceAll("_", " ");

/**
 * @param {{added?: Record<string, any>, removed?: Record<string, any>, changed?: Record<string, any>}} diff
 * @returns {DiffPart[]}
 */
export function diffParts(diff) {
  const { added = {}, removed = {}, changed = {} } = diff;
  const keys = new Set([...Object.keys(added), ...Object.keys(removed), ...Object.keys(changed)]);
  const known = Object.keys(TITLES).filter((key) => keys.has(key));
  const others = [...keys].filter((key) => !(key in TITLES) && !REDUNDANT.has(key)).sort();
  return [...known, ...others].map((key) => ({
    key,
    title: TITLES[key] || capitalize(key.replaceAll("_", " ")),
    rows: [
      ...rowsOf(removed[key]).map(([name, text]) => row("removed", name, text, "")),
      ...changes(changed[key]),
      ...rowsOf(added[key]).map(([name, text]) => row("added", name, "", text)),
    ].map((each) => (key === "counts" ? { ...each, name: fieldLabel(each.name) } : each)),
  }));
}

/**
 * @param {DiffRow["op"]} op
 * @param {string} name
 * @param {string} before
 * @param {string} after
 * @returns {DiffRow}
 */
const row = (op, name, before, after) => ({ op, name, before, after });

/**
 * @param {any} table
 * @returns {[string, string][]}
 */
function rowsOf(table) {
  if (table === undefined || table === null) return [];
  if (Array.isArray(table)) return table.map((item) => (isRecord(item) ? nameAndText(item) : [String(item), ""]));
  return Object.entries(table).map(([name, value]) => [name, valueText(value)]);
}

/**
 * @param {any} table
 * @returns {DiffRow[]}
 */
function changes(table) {
  if (table === undefined || table === null) return [];
  if (Array.isArray(table)) {
    return table.map((change) =>
      row("changed", nameOf(change), ...withContent(changedFields(change.from, change.to), change.content)),
    );
  }
  if ("from" in table && "to" in table && Object.keys(table).length === 2) {
    return [row("changed", "", valueText(table.from), valueText(table.to))];
  }
  return Object.entries(table).map(([name, change]) => row("changed", name, ...changedFields(change?.from, change?.to)));
}

/** Whether two branches left the same content in a file. @type {Record<string, string>} */
const CONTENTS = { same: "same content", different: "different content", unknown: "content unknown" };

/**
 * @param {[string, string]} sides
 * @param {string|undefined} content
 * @returns {[string, string]}
 */
const withContent = ([before, after], content) => {
  const text = CONTENTS[content ?? ""];
  return text ? [before, after === "–" ? text : `${after}, ${text}`] : [before, after];
};

/** The key of a change may be only a position in the log; a name is better. @param {{key: any, from: any, to: any}} change */
const nameOf = ({ key, to }) =>
  isRecord(to) && NAME_FIELDS.some((field) => to[field]) ? nameAndText(to)[0] : String(key);

/**
 * Only the fields that differ.
 * @param {any} before
 * @param {any} after
 * @returns {[string, string]}
 */
function changedFields(before, after) {
  if (!isRecord(before) || !isRecord(after)) return [valueText(before), valueText(after)];
  const differing = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !HIDDEN_FIELDS.has(name) && valueText(before[name]) !== valueText(after[name]),
  );
  const side = (/** @type {any} */ record) =>
    differing
      .filter((name) => record[name] !== null && record[name] !== undefined)
      .map((name) => `${fieldLabel(name)} ${valueText(record[name])}`.trim())
      .join(", ");
  return [side(before) || "–", side(after) || "–"];
}

/** @param {any} value */
const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * @param {Record<string, any>} record
 * @returns {[string, string]}
 */
function nameAndText(record) {
  const name = NAME_FIELDS.find((field) => ![undefined, null, ""].includes(record[field]));
  return [name ? String(record[name]) : valueText(record), valueText(omit(record, name))];
}

/**
 * @param {Record<string, any>} record
 * @param {string|undefined} name
 */
function omit(record, name) {
  return Object.fromEntries(Object.entries(record).filter(([field]) => field !== name && !HIDDEN_FIELDS.has(field)));
}

/**
 * A value as short text.
 * @param {any} value
 * @returns {string}
 */
export function valueText(value) {
  if (value === null || value === undefined || value === "") return "";
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  if (typeof value !== "object") return String(value);
  if ("value" in value && "trust" in value) return valueText(value.value);
  return Object.entries(value)
    .filter(
      ([name, part]) => !HIDDEN_FIELDS.has(name) && part !== null && part !== "" && !(Array.isArray(part) && !part.length),
    )
    .filter(([name, part]) => name !== "trust" || LOW_TRUST.has(part))
    .map(([name, part]) => [fieldLabel(name), valueText(part)].filter(Boolean).join(" "))
    .join(", ");
}

/**
 * Parse one side of a comparison from the route.
 * @param {string|undefined} text "ID@SEQ" or "ID"
 * @returns {{session: string, at: string|null}}
 */
export function parsePosition(text) {
  const [session, at] = String(text || "").split("@", 2);
  return { session, at: at ? at : null };
}

/** @param {{session: string, at: string|null}} position */
export const positionText = ({ session, at }) => (at === null ? session : `${session}@${at}`);
