/**
 * Copying, said aloud and shown for a moment.
 */

import { announce, h } from "./dom.js";

/**
 * @param {string} text
 * @param {string} said "Link copied"
 */
export async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text); // a window without clipboard permission, such as a web view
  }
  announce(said);
  document.dispatchEvent(new CustomEvent("fm:said", { detail: said }));
}

/** @param {string} text */
function copyBySelection(text) {
  const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true", tabindex: -1 });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
