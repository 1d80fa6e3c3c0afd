/**
 * The dialog of a command, and the inputs of its form.
 *
 * It opens at once and may load its content later. If the command fails, it stays open with the typed values and shows
 * the error.
 */

import { errorText, fill, h, keepFocus, withCommands } from "../dom.js";

/** @typedef {import("../dom.js").Child} Child */

let lastId = 0;
const newId = () => `fm-dialog-${(lastId += 1)}`;

/**
 * @typedef {object} DialogOptions
 * @property {string} title
 * @property {string} [confirm] label of the confirm button; without it the dialog only shows something
 * @property {boolean} [danger]
 * @property {boolean} [wide]
 * @property {string} [about] a line under the title
 */

export class CommandDialog {
  /** @param {DialogOptions} options */
  constructor({ title, confirm, danger, wide, about }) {
    const titleId = newId();
    this.body = h("div", { class: "dialog-body" });
    this.error = h("p", { class: "note bad dialog-error", role: "alert", hidden: true });
    this.confirmButton = confirm
      ? h("button", { class: `btn ${danger ? "danger solid" : "primary"}`, type: "submit" }, confirm)
      : null;
    const cancel = h("button", { class: "btn", type: "button", onclick: () => this.close() }, confirm ? "Cancel" : "Done");
    this.form = h(
      "form",
      { novalidate: true },
      h("h2", { id: titleId }, title),
      about ? h("p", { class: "note dialog-about" }, about) : null,
      this.body,
      this.error,
      h("div", { class: "dialog-buttons" }, cancel, this.confirmButton),
    );
    this.element = h("dialog", { class: `dialog${wide ? " wide" : ""}`, "aria-labelledby": titleId }, this.form);
    /** @type {() => Promise<void>|void} */
    this.act = () => this.close();
    this.restoreFocus = () => {};
    this.element.addEventListener("close", () => {
      this.element.remove();
      this.restoreFocus();
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  /** @param {(() => Promise<void>|void)} [act] runs on confirm; its errors are shown in the dialog */
  open(act) {
    if (act) this.act = act;
    this.restoreFocus = keepFocus(document.body); // the browser does not find a control that was redrawn meanwhile
    (document.querySelector("fm-commands") || document.body).append(this.element);
    this.element.showModal();
    return this;
  }

  close() {
    this.element.close();
  }

  /** @param {...(Child|Child[])} children */
  fill(...children) {
    fill(this.body, ...children);
    return this;
  }

  /** What the confirm button says. @param {string} label */
  name(label) {
    if (this.confirmButton) this.confirmButton.textContent = label;
  }

  /** Enable or disable the confirm button. @param {boolean} ready */
  setReady(ready) {
    if (this.confirmButton) this.confirmButton.disabled = !ready;
  }

  /** @param {any} error */
  showError(error) {
    fill(this.error, withCommands(errorText(error)));
    this.error.hidden = false;
  }

  async submit() {
    if (this.confirmButton?.disabled) return;
    this.error.hidden = true;
    this.setReady(false);
    try {
      await this.act();
    } catch (error) {
      this.showError(error);
    }
    this.setReady(true);
  }

  /**
   * Fill the body with loaded content. The command cannot be confirmed before.
   * @template T
   * @param {Promise<T>} request
   * @param {(response: T) => Child[]} draw
   */
  async load(request, draw) {
    this.fill(h("p", { class: "note", "aria-busy": "true" }, "Loading…"));
    this.setReady(false);
    try {
      this.fill(...draw(await request));
      this.setReady(true);
    } catch (error) {
      this.fill();
      this.showError(error);
    }
  }
}

/**
 * @template {HTMLElement} T
 * @param {string} label
 * @param {T} input
 */
const labelled = (label, input) => ({
  input,
  row: h("div", { class: "input-row" }, h("label", { for: input.id }, label), input),
});

/** @param {string} label @param {boolean} checked */
export function checkbox(label, checked) {
  const input = h("input", { type: "checkbox", id: newId(), checked });
  return { input, row: h("div", { class: "input-row check" }, input, h("label", { for: input.id }, label)) };
}

/**
 * A choice of one.
 * @param {string} label
 * @param {string[]} options
 * @param {number} chosen
 * @param {(index: number) => void} change
 */
export function radios(label, options, chosen, change) {
  const name = newId();
  const row = (/** @type {string} */ text, /** @type {number} */ index) => {
    const input = h("input", { type: "radio", name, id: newId(), checked: index === chosen, onchange: () => change(index) });
    return h("div", { class: "input-row check" }, input, h("label", { for: input.id }, text));
  };
  return h("div", { class: "radios", role: "radiogroup", "aria-label": label }, options.map(row));
}

/** @param {string} label @param {string} value @param {Record<string, any>} [attributes] */
export function textInput(label, value, attributes = {}) {
  const input = h("input", { class: "field wide", type: "text", id: newId(), autocomplete: "off", ...attributes });
  input.value = value;
  return labelled(label, input);
}

/** @param {string} label @param {Record<string, any>} [attributes] */
export function textArea(label, attributes = {}) {
  return labelled(label, h("textarea", { class: "field wide", rows: 3, id: newId(), ...attributes }));
}

/**
 * @param {string} label
 * @param {[string, string][]} options value and text
 * @param {string} value
 */
export function select(label, options, value) {
  const children = options.map(([option, text]) => h("option", { value: option }, text));
  const input = h("select", { class: "field", id: newId() }, children);
  input.value = value;
  return labelled(label, input);
}

/** A date and time in the local time zone. @param {string} label @param {number|null} ms */
export function timeInput(label, ms) {
  const input = h("input", { class: "field", type: "datetime-local", id: newId() });
  if (ms !== null) {
    const offset = new Date(ms).getTimezoneOffset() * 60_000;
    input.value = new Date(ms - offset).toISOString().slice(0, 16);
  }
  return labelled(label, input);
}
