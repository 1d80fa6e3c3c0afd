/**
 * A plan of what a rewind would do to files, in words: grouped by what happens, the refused first, since a person
 * has to decide about those.
 */

import { counted } from "./words.js";

/** @typedef {{path: string, action: string, why?: string|null, by?: string|null, from?: string|null, bytes?: number|null, mode?: {now: string, then: string}|null}} PlanFile */
/** @typedef {{action: string, title: string, tone: "bad"|"warn"|"", files: PlanFile[]}} PlanGroup */

/** @type {[string, string, "bad"|"warn"|""][]} */
const ACTIONS = [
  ["refuse", "Changed by somebody else since", "bad"],
  ["cannot", "Cannot be brought back", "warn"],
  ["restore", "Gets back what it held", ""],
  ["recreate", "Comes back", ""],
  ["rename_back", "Gets its old name back", ""],
  ["delete", "Goes away, since it was not there yet", "warn"],
  ["keep", "Is already as it was", ""],
];

/**
 * @param {PlanFile[]} files
 * @returns {PlanGroup[]} only groups that hold something; an action we do not know comes last, under its own name
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
 * Folders that the plan leaves empty: those that go with their files, and those that stay, since they may be somebody's.
 * @param {PlanFile[]} folders
 * @returns {PlanGroup[]}
 */
export function folderGroups(folders) {
  const going = folders.filter((one) => one.action === "delete");
  const staying = folders.filter((one) => one.action !== "delete");
  /** @type {PlanGroup[]} */
  const groups = [
    { action: "delete", title: "Folders that go with their files", tone: "warn", files: going },
    { action: "keep", title: "Folders that stay, empty", tone: "", files: staying },
  ];
  return groups.filter((group) => group.files.length > 0);
}

/**
 * How who may read, write and run it would change; nothing where it stays.
 * @param {PlanFile} file
 */
export function modeWords(file) {
  return file.mode ? `mode ${file.mode.now} → ${file.mode.then}` : "";
}

/**
 * One sentence for the top of the plan.
 * @param {{files: PlanFile[], to: number, head: number, unseen?: number}} plan
 */
export function planSentence(plan) {
  const touched = plan.files.filter((file) => !["keep", "refuse", "cannot"].includes(file.action)).length;
  const steps = counted(plan.head - plan.to, "event");
  const files = touched ? `${counted(touched, "file")} would change on disk` : "no file would change on disk";
  return `Position ${plan.to} is ${steps} back; ${files}.`;
}
