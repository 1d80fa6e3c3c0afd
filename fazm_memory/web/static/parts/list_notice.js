/**
 * What the list says where it has no rows: why, and what to do next.
 */

import { h } from "../dom.js";
import { store } from "../store.js";

/** A day without sessions. */
export function noSession() {
  return h(
    "div",
    { class: "empty" },
    h("h2", null, "Nothing was recorded on this day"),
    h(
      "p",
      null,
      "No agent worked, or recording was off: the strip above shows the gaps it knows of. Pick another day beside it.",
    ),
  );
}

/**
 * A session of which there is nothing to show, or nothing yet.
 * @param {{looking: boolean, found: boolean}} source
 */
export function noRows(source) {
  if (source.looking) return h("p", { class: "note list-looking" }, "Looking…");
  if (!source.found) {
    return h(
      "div",
      { class: "empty" },
      h("h2", null, "Nothing happened here yet"),
      h("p", null, "The session is open. Its events appear here as they are recorded."),
    );
  }
  return h(
    "div",
    { class: "empty" },
    h("h2", null, "No event fits the filters"),
    h("p", null, "The session holds others."),
    h("button", { class: "btn", type: "button", onclick: () => store.set({ filters: {} }) }, "Show all events"),
  );
}
