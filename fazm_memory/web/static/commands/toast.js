/**
 * Toasts: the result of a command, with Undo if it can be undone. They stay while the pointer or the focus is on them.
 */

import { announce, h } from "../dom.js";

const TOAST_MS = 8000;

/** The container of the toasts. Present from the start, because screen readers ignore a new live region. */
export function toastArea() {
  return h("div", { class: "toasts", role: "status", "aria-live": "polite" });
}

/**
 * @param {string} text
 * @param {(() => Promise<unknown>)|null} [undo]
 */
export function toast(text, undo = null) {
  const message = h("span", { class: "toast-text" }, text);
  const box = h("div", { class: "toast" }, message);
  let timer = 0;
  const dismiss = () => box.remove();
  const stopTimer = () => window.clearTimeout(timer);
  const startTimer = () => {
    stopTimer();
    timer = window.setTimeout(dismiss, TOAST_MS);
  };
  if (undo) {
    const button = h("button", { class: "btn quiet undo", type: "button" }, "Undo");
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await undo();
        message.textContent = "Undone";
        button.remove();
      } catch (error) {
        message.textContent = `Undo failed: ${/** @type {any} */ (error)?.message || error}`;
        button.disabled = false;
      }
      startTimer();
    });
    box.append(button);
  }
  box.append(h("button", { class: "btn quiet icon", type: "button", "aria-label": "Dismiss", onclick: dismiss }, "×"));
  for (const name of ["mouseenter", "focusin"]) box.addEventListener(name, stopTimer);
  for (const name of ["mouseleave", "focusout"]) box.addEventListener(name, startTimer);
  document.querySelector(".toasts")?.append(box);
  startTimer();
}

/** Press Undo in the newest toast. */
export function undoLatest() {
  const buttons = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".toasts .undo"));
  if (buttons.length) buttons[buttons.length - 1].click();
  else announce("Nothing to undo");
}

/**
 * Tell all components about a change without waiting for the server to report it.
 * @param {string|null} session
 * @param {string} kind
 */
export function notifyChange(session, kind) {
  const detail = { cursor: "", sessions: session ? [session] : [], kinds: [kind], all: !session };
  document.dispatchEvent(new CustomEvent("fm:changes", { detail }));
}
