/**
 * The difference of two states as rows to draw: grouped by part of the state, each row with what stood before and what
 * stands after, as text.
 */

import { capital } from "./words.js";

/** @typedef {{op: "added"|"removed"|"changed", name: string, before: string, after: string}} DiffRow */
/** @typedef {{key: string, title: string, rows: DiffRow[]}} DiffPart */

/** In the order people ask for them; the rest follows. @type {Record<string, string>} */
const TITLES = {
  lifecycle: "Lifecycle",
  requests: "Asked for",
  decisions_made: "Decisions",
  files_modified: "Files changed",
  folders: "Folders",
  pending_actions: "Still to do",
  open_questions: "Open questions",
  errors: "Failures",
  facts: "Facts",
  tools_used: "Tools used",
  files_read: "Files read",
  apps: "Apps",
  evicted_keys: "No longer in the model’s view",
  running: "Still running",
  answered_questions: "Answered",
  untrusted: "Untrusted input",
  budget: "Budget",
  trust: "Trust",
  turn: "Turn",
  counts: "Counts",
  title: "Title",
  workspace: "Folder",
};
/** Said by another part already, with more about it. */
const TWICE = new Set(["evicted"]);

/** What names a row of a table, the first that it has. */
const NAMES = ["path", "what", "text", "note", "app", "error", "key", "call_id", "id", "seq"];
/** What says nothing about the thing itself. */
const QUIET = new Set(["seq", "at", "turn", "last_seq", "session", "first_seq"]);

/** Trust is worth a word where there is little of it. */
const DOUBTED = new Set(["web", "unverified"]);
/** Fields that need no name, or a better one. @type {Record<string, string>} */
const NAMED = {
  change: "",
  why: "because",
  alternatives: "rather than",
  evidence: "told by",
  mended_by: "mended at",
};

/** What a field is called before its value. @param {string} name */
export const fieldWord = (name) => NAMED[name] ?? name.replaceAll("_", " ");

/**
 * @param {{added?: Record<string, any>, removed?: Record<string, any>, changed?: Record<string, any>}} diff
 * @returns {DiffPart[]}
 */
export function diffParts(diff) {
  const { added = {}, removed = {}, changed = {} } = diff;
  const keys = new Set([...Object.keys(added), ...Object.keys(removed), ...Object.keys(changed)]);
  const known = Object.keys(TITLES).filter((key) => keys.has(key));
  const others = [...keys].filter((key) => !(key in TITLES) && !TWICE.has(key)).sort();
  return [...known, ...others].map((key) => ({
    key,
    title: TITLES[key] || capital(key.replaceAll("_", " ")),
    rows: [
      ...rowsOf(removed[key]).map(([name, text]) => row("removed", name, text, "")),
      ...changes(changed[key]),
      ...rowsOf(added[key]).map(([name, text]) => row("added", name, "", text)),
    ].map((one) => (key === "counts" ? { ...one, name: fieldWord(one.name) } : one)),
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
  if (Array.isArray(table)) return table.map((one) => (isRow(one) ? named(one) : [String(one), ""]));
  return Object.entries(table).map(([name, value]) => [name, said(value)]);
}

/**
 * @param {any} table
 * @returns {DiffRow[]}
 */
function changes(table) {
  if (table === undefined || table === null) return [];
  if (Array.isArray(table)) {
    return table.map((one) => row("changed", nameOf(one), ...withContent(bothSides(one.from, one.to), one.content)));
  }
  if ("from" in table && "to" in table && Object.keys(table).length === 2) {
    return [row("changed", "", said(table.from), said(table.to))];
  }
  return Object.entries(table).map(([name, one]) => row("changed", name, ...bothSides(one?.from, one?.to)));
}

/** What is known of the contents that two branches left in a file. @type {Record<string, string>} */
const CONTENTS = { same: "the same content", different: "other content", unknown: "content unknown" };

/**
 * @param {[string, string]} sides
 * @param {string|undefined} content
 * @returns {[string, string]}
 */
const withContent = ([before, after], content) => {
  const words = CONTENTS[content ?? ""];
  return words ? [before, after === "–" ? words : `${after}, ${words}`] : [before, after];
};

/** A changed row is called what it is; its key may be only its place in the log. @param {{key: any, from: any, to: any}} one */
const nameOf = (one) => (isRow(one.to) && NAMES.some((field) => one.to[field]) ? named(one.to)[0] : String(one.key));

/**
 * Of two versions of a thing only what differs.
 * @param {any} before
 * @param {any} after
 * @returns {[string, string]}
 */
function bothSides(before, after) {
  if (!isRow(before) || !isRow(after)) return [said(before), said(after)];
  const differing = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !QUIET.has(name) && said(before[name]) !== said(after[name]),
  );
  const side = (/** @type {any} */ one) =>
    differing
      .filter((name) => one[name] !== null && one[name] !== undefined)
      .map((name) => `${fieldWord(name)} ${said(one[name])}`.trim())
      .join(", ");
  return [side(before) || "–", side(after) || "–"];
}

/** @param {any} value */
const isRow = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * @param {Record<string, any>} one
 * @returns {[string, string]}
 */
function named(one) {
  const name = NAMES.find((field) => one[field] !== undefined && one[field] !== null && one[field] !== "");
  return [name ? String(one[name]) : said(one), said(omit(one, name))];
}

/**
 * @param {Record<string, any>} one
 * @param {string|undefined} name
 */
function omit(one, name) {
  return Object.fromEntries(Object.entries(one).filter(([field]) => field !== name && !QUIET.has(field)));
}

/**
 * A value in as few words as tell it.
 * @param {any} value
 * @returns {string}
 */
export function said(value) {
  if (value === null || value === undefined || value === "") return "";
  if (Array.isArray(value)) return value.map(said).join(", ");
  if (typeof value !== "object") return String(value);
  if ("value" in value && "trust" in value) return said(value.value);
  return Object.entries(value)
    .filter(
      ([name, part]) => !QUIET.has(name) && part !== null && part !== "" && !(Array.isArray(part) && !part.length),
    )
    .filter(([name, part]) => name !== "trust" || DOUBTED.has(part))
    .map(([name, part]) => [fieldWord(name), said(part)].filter(Boolean).join(" "))
    .join(", ");
}

/**
 * A place in the log as the address of a comparison writes it.
 * @param {string|undefined} text "ID@SEQ" or "ID"
 * @returns {{session: string, at: number|null}}
 */
export function place(text) {
  const [session, at] = String(text || "").split("@", 2);
  const number = at === undefined || at === "" ? NaN : Number(at);
  return { session, at: Number.isSafeInteger(number) && number >= 0 ? number : null };
}

/** @param {{session: string, at: number|null}} one */
export const placeText = (one) => (one.at === null ? one.session : `${one.session}@${one.at}`);
