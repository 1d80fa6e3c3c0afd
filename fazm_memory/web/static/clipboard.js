/**
 * Copy text to the clipboard.
 */

import { announce, h } from "./dom.js";

/**
 * @param {string} text
 * @returns {Promise<boolean>} whether it was copied
 */
async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // no clipboard permission, as in a web view
  }
}

/** @param {string} text */
function copyBySelection(text) {
  const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true", tabindex: -1 });
  area.value = text;
  (document.querySelector("dialog[open]") || document.body).append(area); // a modal dialog makes the rest inert
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
}

/** Copy without a confirmation. @param {string} text */
export async function copyQuietly(text) {
  if (!(await write(text))) throw new Error("Copying is not allowed here. Select the text and copy it yourself.");
}

/** Copy, and confirm it for a moment. @param {string} text @param {string} confirmation "Link copied" */
export async function copy(text, confirmation) {
  const message = (await write(text)) ? confirmation : "Copying is not allowed here";
  announce(message);
  document.dispatchEvent(new CustomEvent("fm:flash", { detail: message }));
}

/**
 * A button that copies a text and says so.
 * @param {string} text
 * @param {string} label
 */
export function copyButton(text, label) {
  const button = h("button", { class: "btn", type: "button" }, label);
  button.addEventListener("click", async () => {
    const copied = await write(text);
    button.textContent = copied ? "Copied" : "Copying is not allowed here";
    announce(copied ? "Copied" : "Copying is not allowed here. Select the text and copy it yourself.");
  });
  return button;
}
