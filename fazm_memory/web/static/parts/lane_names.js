/**
 * The names beside the lanes: the chosen session's lanes by kind, the others by their titles.
 */

import { h } from "../dom.js";
import { sessionHash } from "../layout/route.js";

/** @type {Record<string, string>} */
const NAMES = { actions: "Actions", decisions: "Decisions", files: "Files", apps: "Apps" };

/**
 * @param {import("../lane_drawing.js").Group[]} groups
 * @returns {HTMLElement[]}
 */
export function laneNames(groups) {
  return groups.flatMap((group) => (group.open ? lanesOf(group) : [sessionOf(group)]));
}

/** What the names depend on, so that they are made anew only when it changed. @param {import("../lane_drawing.js").Group[]} groups */
export function namesKey(groups) {
  return JSON.stringify(
    groups.map((one) => [one.session.id, one.session.title, one.y, one.lanes.map((lane) => lane.y)]),
  );
}

/** @param {import("../lane_drawing.js").Group} group */
function lanesOf(group) {
  return group.lanes.map((lane) => at(lane.y, h("span", { class: `lanes-name is-${lane.name}` }, NAMES[lane.name])));
}

/** @param {import("../lane_drawing.js").Group} group */
function sessionOf({ session, y }) {
  const title = session.title || "Untitled session";
  return at(
    y,
    h("a", { class: "lanes-session", href: sessionHash(session.id), title: `${title} (${session.agent})` }, title),
  );
}

/**
 * @param {number} y
 * @param {HTMLElement} element
 */
function at(y, element) {
  element.style.setProperty("top", `${y}px`);
  return element;
}
