/**
 * Toasts: what was just done, with Undo where there is a way back. They wait while somebody is on them.
 */

import { announce, h } from "../dom.js";

const STAYS = 8000;

/** Where they stand: there from the beginning, so that whoever listens is told of the first one too. */
export function tray() {
  return h("div", { class: "toasts", role: "status", "aria-live": "polite" });
}

/**
 * @param {string} text
 * @param {(() => Promise<unknown>)|null} [undo]
 */
export function toast(text, undo = null) {
  const words = h("span", { class: "toast-text" }, text);
  const box = h("div", { class: "toast" }, words);
  let timer = 0;
  const leave = () => box.remove();
  const wait = () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(leave, STAYS);
  };
  const stay = () => window.clearTimeout(timer);
  if (undo) {
    const button = h("button", { class: "btn quiet undo", type: "button" }, "Undo");
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await undo();
        words.textContent = "Undone";
        button.remove();
      } catch (error) {
        words.textContent = `Not undone: ${/** @type {any} */ (error)?.message || error}`;
        button.disabled = false;
      }
      wait();
    });
    box.append(button);
  }
  box.append(h("button", { class: "btn quiet icon", type: "button", "aria-label": "Dismiss", onclick: leave }, "×"));
  for (const name of ["mouseenter", "focusin"]) box.addEventListener(name, stay);
  for (const name of ["mouseleave", "focusout"]) box.addEventListener(name, wait);
  document.querySelector(".toasts")?.append(box);
  wait();
}

/** Undo what was told last, without going to its button. */
export function undoLatest() {
  const buttons = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".toasts .undo"));
  if (buttons.length) buttons[buttons.length - 1].click();
  else announce("There is nothing to undo");
}

/**
 * Tell every panel that this session has changed, without waiting for the line to say so.
 * @param {string|null} session
 * @param {string} kind
 */
export function changed(session, kind) {
  const detail = { cursor: "", sessions: session ? [session] : [], kinds: [kind], all: !session };
  document.dispatchEvent(new CustomEvent("fm:changes", { detail }));
}
