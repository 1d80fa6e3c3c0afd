/**
 * The switch: recording, or paused until a time or until somebody resumes.
 */

import { api } from "../api.js";
import { h } from "../dom.js";

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
 */
export function recordingCard(status, after) {
  const on = status.recording;
  const state = on
    ? h("p", null, h("span", { class: "pill good" }, "recording"), " What connected agents do is remembered.")
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

/** @param {any} status */
function until(status) {
  if (!status.paused_until) return "It stays so until you resume it.";
  return `Until ${new Date(status.paused_until).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}.`;
}
