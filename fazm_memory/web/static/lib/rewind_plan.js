/**
 * The plan of a rewind as text: files grouped by what happens to them. Conflicts come first because a person has to
 * decide about them.
 */

import { plural, shorten } from "./format.js";

/** @typedef {{path: string, action: string, why?: string|null, by?: string|null, from?: string|null, bytes?: number|null, mode?: {now: string, then: string}|null}} PlanFile */
/** @typedef {{action: string, title: string, tone: "bad"|"warn"|"", files: PlanFile[]}} PlanGroup */

/** @type {[string, string, "bad"|"warn"|""][]} */
const ACTIONS = [
  ["refuse", "Changed by someone else since then", "bad"],
  ["cannot", "Cannot be restored", "warn"],
  ["restore", "Content restored", ""],
  ["recreate", "Created again", ""],
  ["rename_back", "Renamed back", ""],
  ["delete", "Deleted, because it did not exist yet", "warn"],
  ["keep", "Left as they are", ""],
];

/**
 * @param {PlanFile[]} files
 * @returns {PlanGroup[]} without empty groups; unknown actions come last, under their own name
 */
export function planGroups(files) {
  const known = new Set(ACTIONS.map(([action]) => action));
  const others = [...new Set(files.map((file) => file.action).filter((action) => !known.has(action)))];
  /** @type {[string, string, "bad"|"warn"|""][]} */
  const all = [...ACTIONS, ...others.map((action) => /** @type {[string, string, ""]} */ ([action, action, ""]))];
  return all
    .map(([action, title, tone]) => ({ action, title, tone, files: files.filter((file) => file.action === action) }))
    .filter((group) => group.files.length > 0);
}

/**
 * Folders that the plan leaves empty. Those that existed before stay.
 * @param {PlanFile[]} folders
 * @returns {PlanGroup[]}
 */
export function folderGroups(folders) {
  const removed = folders.filter((folder) => folder.action === "delete");
  const empty = folders.filter((folder) => folder.action !== "delete");
  /** @type {PlanGroup[]} */
  const groups = [
    { action: "delete", title: "Folders removed with their files", tone: "warn", files: removed },
    { action: "keep", title: "Empty folders that stay", tone: "", files: empty },
  ];
  return groups.filter((group) => group.files.length > 0);
}

/**
 * The change of the file mode, or "".
 * @param {PlanFile} file
 */
export function modeText(file) {
  return file.mode ? `mode ${file.mode.now} → ${file.mode.then}` : "";
}

/** How many files a plan changes on disk. @param {{files: PlanFile[]}} plan */
export const changedFiles = ({ files }) => files.filter((file) => !["keep", "refuse", "cannot"].includes(file.action)).length;

/**
 * The summary above the plan.
 * @param {{files: PlanFile[]}} plan
 */
export function planSummary(plan) {
  const changed = changedFiles(plan);
  if (changed) return `${plural(changed, "file")} can be restored:`;
  return plan.files.length ? "No file is put back. Only the session goes back:" : "No file was changed since.";
}

/**
 * The ways to go back: to an event with it or without it, to the request that led to it, to the begin. The first event
 * stays.
 * @param {{seq: number, kind: string, actions: number, head: number, request?: string|null, request_seq?: number|null}} point `actions` counts the event itself
 * @returns {{label: string, to: number}[]}
 */
export function rewindChoices(point) {
  const wide = point.seq > 1 ? wideChoices(point) : [];
  const choices = eventChoices(point);
  return [...choices, ...wide.filter(({ to }) => choices.every((choice) => choice.to !== to))];
}

/**
 * Ways to take back more than an event and what came after it.
 * @param {{request?: string|null, request_seq?: number|null}} point
 * @returns {{label: string, to: number}[]}
 */
function wideChoices({ request, request_seq: asked }) {
  const all = { label: "Take back the whole session", to: 1 };
  if (!asked || asked === 1) return [all];
  return [{ label: `Take back everything since “${shorten((request || "").replace(/\s+/g, " "), 60)}”`, to: asked }, all];
}

/** @param {{seq: number, kind: string, actions: number, head: number}} point */
function eventChoices({ seq, kind, actions, head }) {
  const later = actions - (kind === "action" ? 1 : 0);
  const back = { label: `Take back this and ${later ? plural(later, "later action") : "what came after"}`, to: seq };
  const kept = { label: `Keep this, take back ${later ? `the ${plural(later, "later action")}` : "what came after"}`, to: seq + 1 };
  if (seq + 1 >= head) return [{ label: "Take this back", to: seq }];
  return seq ? [back, kept] : [kept];
}
