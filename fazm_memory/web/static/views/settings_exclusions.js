/**
 * What is never recorded: seeded apps such as password managers, which can be added to but not taken away, and the
 * user's own.
 */

import { h } from "../dom.js";
import { askVerb } from "../registry.js";
import { setExclusion } from "../verbs/exclude.js";

/** @typedef {import("./settings_recording.js").After} After */

/**
 * @param {{apps: any[], folders: any[]}|null} exclusions
 * @param {After} after
 */
export function exclusionsCard(exclusions, after) {
  const apps = exclusions?.apps || [];
  const folders = exclusions?.folders || [];
  const seeded = apps.filter((one) => one.seeded);
  const own = [
    ...folders.map((one) => ({ kind: "folder", name: nameOf(one) })),
    ...apps.filter((one) => !one.seeded).map((one) => ({ kind: "app", name: nameOf(one) })),
  ];
  return h(
    "section",
    { class: "card", "aria-label": "Never recorded" },
    h("h3", null, "Never recorded"),
    own.length
      ? h("ul", { class: "list" }, own.map((one) => row(one, after)))
      : h("p", { class: "note" }, "You have excluded nothing of your own."),
    seeded.length
      ? h("details", null, h("summary", null, `Always excluded: password managers and the like (${seeded.length})`), h("p", { class: "note" }, seeded.map(nameOf).join(", ")))
      : null,
    h(
      "div",
      { class: "buttons" },
      h("button", { class: "btn", type: "button", onclick: () => askVerb("exclude", { folder: "" }) }, "Exclude a folder or app…"),
      h("button", { class: "btn danger", type: "button", onclick: () => askVerb("forget-range", {}) }, "Forget a stretch of time…"),
    ),
  );
}

/** @param {any} one */
const nameOf = (one) => (typeof one === "string" ? one : one.name || one.path || one.folder || one.app || "");

/**
 * @param {{kind: string, name: string}} one
 * @param {After} after
 */
function row(one, after) {
  const act = () => after(setExclusion({ [one.kind]: one.name }, "remove"), `${one.name} is recorded again`);
  return h(
    "li",
    { class: "setting" },
    h("div", null, h("span", { class: "path" }, one.name), " ", h("span", { class: "pill" }, one.kind)),
    h("button", { class: "btn quiet", type: "button", "aria-label": `Record ${one.name} again`, onclick: act }, "Remove"),
  );
}
