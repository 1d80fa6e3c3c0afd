/**
 * The keyboard: what works anywhere on the page, and the sheet that says so.
 */

import { h } from "./dom.js";

export const KEYS = [
  ["/", "Search everything"],
  ["j  ↓", "Next event"],
  ["k  ↑", "Previous event"],
  ["Enter", "Read the event"],
  ["Esc", "Back: close what is open, return to now"],
  ["n", "Return to now"],
  ["+  −", "Zoom the lanes"],
  ["0", "Fit the session"],
  ["[  ]", "Day before, day after"],
  ["u", "Undo what was just done"],
  ["s", "Show or hide the sidebar"],
  ["?", "These keys"],
];

/**
 * Whether a key press belongs to something that is typed into, or to a dialog: on the Mac a pressed button leaves the
 * focus outside of it, and Escape closes it all the same.
 * @param {KeyboardEvent} event
 */
export function typing(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  return (
    Boolean(target.closest?.("input, textarea, select, [contenteditable]")) ||
    Boolean(document.querySelector("dialog[open]")) ||
    event.metaKey ||
    event.ctrlKey ||
    event.altKey
  );
}

export function showKeys() {
  const sheet = h(
    "dialog",
    { class: "keys", "aria-labelledby": "fm-keys" },
    h("h2", { id: "fm-keys" }, "Keys"),
    h(
      "dl",
      null,
      KEYS.map(([key, what]) => [
        h(
          "dt",
          null,
          key.split("  ").map((one) => h("kbd", null, one)),
        ),
        h("dd", null, what),
      ]).flat(),
    ),
    h(
      "p",
      { class: "keys-done" },
      h("button", { class: "btn primary", type: "button", autofocus: true, onclick: () => sheet.close() }, "Done"),
    ),
  );
  sheet.addEventListener("close", () => sheet.remove());
  document.body.append(sheet);
  sheet.showModal();
}
