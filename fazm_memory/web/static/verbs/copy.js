/**
 * A button that copies a text and says so.
 */

import { announce, h } from "../dom.js";

/**
 * @param {string} text
 * @param {string} label
 */
export function copyButton(text, label) {
  const button = h("button", { class: "btn", type: "button" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      announce("Copied");
    } catch {
      button.textContent = "Copying is not allowed here";
      announce("Copying is not allowed here. Select the text and copy it by hand.");
    }
  });
  return button;
}
