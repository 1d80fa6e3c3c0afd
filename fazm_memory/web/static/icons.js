/**
 * Icons: strokes in the colour of the text, on a 16-pixel grid.
 */

import { svg } from "./dom.js";

/** @type {Record<string, string>} */
const PATHS = {
  terminal: "M2.5 3.5h11v9h-11zM5 6.5 7 8 5 9.5M8.5 9.7h2.5",
  edit: "M3 13l.6-2.6 7.2-7.2a1.2 1.2 0 0 1 1.7 0l.3.3a1.2 1.2 0 0 1 0 1.7L5.6 12.4zM9.6 4.4l2 2",
  read: "M8 4.5C6.6 3.4 4.5 3 2.5 3.2v9c2-.2 4.1.2 5.5 1.3 1.4-1.1 3.5-1.5 5.5-1.3v-9C11.5 3 9.4 3.4 8 4.5zM8 4.5v9",
  search: "M7 2.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4zM10.2 10.2l3.3 3.3",
  web: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM2.7 8h10.6M8 2.5c3.6 3.4 3.6 7.6 0 11-3.6-3.4-3.6-7.6 0-11z",
  tool: "M9.8 6.2 3.5 12.5M13 4.3a2.9 2.9 0 1 1-3.7-1.8L9.2 4.6l1.6.6z",
  people:
    "M6 3a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM2.5 12.5c0-2.2 1.5-3.6 3.5-3.6s3.5 1.4 3.5 3.6M11 4.2a1.6 1.6 0 0 1 0 3.1M11.4 9.2c1.3.3 2.1 1.5 2.1 3.1",
  prompt: "M8 3a2.3 2.3 0 1 1 0 4.6A2.3 2.3 0 0 1 8 3zM3.5 13c.3-2.6 2-4 4.5-4s4.2 1.4 4.5 4",
  message: "M3 3.5h10v7H7.5L5 12.8v-2.3H3z",
  decision: "M8 2.5 13.5 8 8 13.5 2.5 8zM8 5.8v2.6M8 10.4v.1",
  fact: "M4.5 2.5h7v11L8 11l-3.5 2.5z",
  pending: "M8 2.8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 0 1 8 2.8z",
  done: "M8 2.8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 0 1 8 2.8zM5.7 8.1l1.7 1.7 3-3.5",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  seen: "M1.8 8C3.2 5.5 5.4 4 8 4s4.8 1.5 6.2 4c-1.4 2.5-3.6 4-6.2 4S3.2 10.5 1.8 8zM8 6.4a1.6 1.6 0 1 1 0 3.2 1.6 1.6 0 0 1 0-3.2z",
  evicted: "M3 3.5h10M4.8 6.5h6.4M6.4 9.5h3.2M7.4 12.5h1.2",
  handoff: "M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12v.1",
  rewind: "M3 8a5 5 0 1 0 1.6-3.7M4.3 2v2.6h2.6",
  fork: "M5 2.8v10.4M5 9c4.5 0 6-1.6 6-4.2M9.2 6.2 11 4.3l1.8 1.9",
  gap: "M2.5 8h2M6 8h1M9 8h1M11.5 8h2",
  app: "M2.5 3.5h11v9h-11zM2.5 6h11M4.3 4.8v0",
  session: "M5 3v10l7.5-5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  resume: "M5 3v10l7.5-5z",
  shield: "M8 2.3 13 4v3.8c0 3-2 5-5 6-3-1-5-3-5-6V4z",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  link: "M6.8 9.2l2.4-2.4M7.3 5l1.2-1.2a2.6 2.6 0 0 1 3.7 3.7L11 8.7M8.7 11l-1.2 1.2a2.6 2.6 0 0 1-3.7-3.7L5 7.3",
  close: "M4 4l8 8M12 4l-8 8",
  left: "M10 3.5 5.5 8l4.5 4.5",
  right: "M6 3.5 10.5 8 6 12.5",
  up: "M3.5 10 8 5.5l4.5 4.5",
  down: "M3.5 6 8 10.5 12.5 6",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
  fit: "M2.5 6v-2.5H5M11 3.5h2.5V6M13.5 10v2.5H11M5 12.5H2.5V10M5.5 8h5",
  more: "M3 8a.5.5 0 1 1 1 0 .5.5 0 1 1-1 0zM7.5 8a.5.5 0 1 1 1 0 .5.5 0 1 1-1 0zM12 8a.5.5 0 1 1 1 0 .5.5 0 1 1-1 0z",
  sidebar: "M2.5 3.5h11v9h-11zM6.3 3.5v9",
  clock: "M8 2.8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 0 1 8 2.8zM8 5v3.2l2.2 1.3",
  decisions: "M8 2.5 13.5 8 8 13.5 2.5 8zM8 5.8v2.6M8 10.4v.1",
  overview: "M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z",
  context: "M3 4h10M3 7h10M3 10h6M3 13h4",
  settings:
    "M3 5h5M11.5 5H13M9.8 3.5a1.6 1.6 0 1 1 0 3 1.6 1.6 0 0 1 0-3zM3 11h1.5M8 11h5M6.2 9.5a1.6 1.6 0 1 1 0 3 1.6 1.6 0 0 1 0-3z",
  compare: "M3 3.5h4v9H3zM9 3.5h4v9H9z",
  folder: "M2.5 4h4l1.2 1.5h5.8v7h-11z",
};

const TOOLS = [
  [/bash|shell|terminal|exec|command/i, "terminal"],
  [/edit|write|patch|replace|create/i, "edit"],
  [/fetch|web|browser|http|url|navigate/i, "web"],
  [/grep|glob|search|find|list|ls\b/i, "search"],
  [/read|view|open|cat\b/i, "read"],
  [/task|agent|delegate/i, "people"],
];

/**
 * @param {string} name
 * @param {number} [size]
 */
export function icon(name, size = 16) {
  const element = svg("svg", { viewBox: "0 0 16 16", width: size, height: size, class: "icon", "aria-hidden": "true" });
  element.append(svg("path", { d: PATHS[name] || PATHS.tool }));
  return element;
}

/**
 * The icon of an event kind, or of the tool of an action.
 * @param {string} kind
 * @param {string|null} [tool]
 */
export function iconName(kind, tool) {
  if (kind.startsWith("action")) {
    return String((TOOLS.find(([pattern]) => /** @type {RegExp} */ (pattern).test(tool || "")) || ["", "tool"])[1]);
  }
  if (kind === "session.pause") return "pause";
  if (kind === "usage") return "context";
  if (kind.startsWith("session")) return "session";
  if (kind === "pending.done") return "done";
  if (kind === "fact.retract") return "fact";
  if (kind === "plan") return "decision";
  if (kind === "todos") return "pending";
  if (kind === "branch") return "fork";
  if (kind === "handoff.answer") return "message";
  if (kind === "quarantine" || kind === "forgotten") return "shield";
  return PATHS[kind] ? kind : "tool";
}
