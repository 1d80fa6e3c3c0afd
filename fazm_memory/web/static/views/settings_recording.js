/**
 * The switch: recording, or paused until a time or until somebody resumes.
 */

import { api } from "../api.js";
import { h, prose } from "../dom.js";
import { clock } from "../layout/words.js";
import { NAMES } from "./settings_agents.js";

/** @typedef {(done: Promise<unknown>, words: string) => void} After */

/** @type {[number|null, string][]} */
const PAUSES = [
  [15 * 60, "15 minutes"],
  [60 * 60, "1 hour"],
  [null, "Until I resume"],
];

/**
 * @param {any} status
 * @param {After} after
 * @param {number|null} companion
 * @param {any[]} agents
 */
export function recordingCard(status, after, companion, agents) {
  const on = status.recording;
  const pill = companion ? h("span", { class: "pill good" }, "recording") : h("span", { class: "pill warn" }, "companion not running");
  const state = on
    ? h("p", null, pill, " ", prose(remembered(companion, agents)))
    : h("p", null, h("span", { class: "pill warn" }, "paused"), ` Nothing is recorded, summarised or handed out. ${until(status)}`);
  const buttons = on
    ? [h("span", { class: "note", id: "pause-for" }, "Pause for"), ...PAUSES.map(([seconds, label]) => pauseButton(seconds, label, after))]
    : [
        h(
          "button",
          { class: "btn primary", type: "button", "data-focus": "resume", onclick: () => after(api.post("recording", { resume: true }), "Recording again") },
          "Resume recording",
        ),
      ];
  return h("section", { class: "card wide", "aria-label": "Recording" }, h("h3", null, "Recording"), state, h("div", { class: "buttons" }, buttons));
}

/**
 * @param {number|null} seconds
 * @param {string} label
 * @param {After} after
 */
function pauseButton(seconds, label, after) {
  const name = seconds === null ? "Pause recording until I resume" : `Pause recording for ${label}`;
  const act = () => after(api.post("recording", { pause: seconds }), "Recording is paused");
  return h("button", { class: "btn", type: "button", "aria-label": name, "data-focus": label, onclick: act }, label);
}

/**
 * What is remembered as things are: who tells, and whether anybody listens.
 * @param {number|null} companion
 * @param {any[]} agents
 */
function remembered(companion, agents) {
  const names = agents.filter((one) => one.hooks || one.mcp).map((one) => NAMES[one.agent] || one.agent);
  const listed = [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");
  const nobody = agents.some((one) => one.here) ? "No agent is connected." : "No agent is connected, and none was found here.";
  if (companion) return names.length ? `What ${listed} ${names.length > 1 ? "do" : "does"} is remembered.` : `${nobody} What agents leave in their own records is taken in.`;
  const waits = "What agents tell over MCP is kept; their hooks and records wait, and no folder is watched, until `fazm-memory run` runs.";
  return names.length ? waits : `${nobody} ${waits}`;
}

/** @param {any} status */
function until(status) {
  if (!status.paused_until) return "It stays so until you resume it.";
  return `Until ${clock(Date.parse(status.paused_until))}.`;
}
