/**
 * A sheet: the dialog every verb asks through. It opens at once, may fill its body later (a plan that is being read),
 * keeps what was typed when the back end says no, and says why in place.
 */

import { explained, fill, h, inHand, prose } from "../dom.js";

let count = 0;

/**
 * @typedef {object} SheetOptions
 * @property {string} title
 * @property {string} [confirm] label of the button that does it; without one the sheet only shows
 * @property {boolean} [danger]
 * @property {boolean} [wide]
 * @property {string} [about] a quiet line under the title
 */

export class Sheet {
  /** @param {SheetOptions} options */
  constructor(options) {
    count += 1;
    const title = `fm-sheet-${count}`;
    this.body = h("div", { class: "sheet-body" });
    this.note = h("p", { class: "note bad sheet-note", role: "alert", hidden: true });
    this.go = options.confirm
      ? h("button", { class: `btn ${options.danger ? "danger solid" : "primary"}`, type: "submit" }, options.confirm)
      : null;
    const leave = h("button", { class: "btn", type: "button", onclick: () => this.close() }, options.confirm ? "Cancel" : "Done");
    this.form = h(
      "form",
      { novalidate: true },
      h("h2", { id: title }, options.title),
      options.about ? h("p", { class: "note sheet-about" }, options.about) : null,
      this.body,
      this.note,
      h("div", { class: "sheet-buttons" }, leave, this.go),
    );
    this.dialog = h("dialog", { class: `sheet${options.wide ? " wide" : ""}`, "aria-labelledby": title }, this.form);
    /** @type {() => Promise<void>|void} */
    this.act = () => this.close();
    this.again = () => {};
    this.dialog.addEventListener("close", () => {
      this.dialog.remove();
      this.again();
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  /**
   * Show it. `act` runs when it is confirmed; what it throws is told in the sheet, which then stays.
   * @param {(() => Promise<void>|void)} [act]
   */
  open(act) {
    if (act) this.act = act;
    this.again = inHand(document.body); // the browser gives the focus back, but not to what was drawn anew meanwhile
    (document.querySelector("fm-verbs") || document.body).append(this.dialog);
    this.dialog.showModal();
    return this;
  }

  close() {
    this.dialog.close();
  }

  /** @param {...(import("../dom.js").Child|import("../dom.js").Child[])} children */
  fill(...children) {
    fill(this.body, ...children);
    return this;
  }

  /** Whether it can be confirmed now. @param {boolean} yes */
  ready(yes) {
    if (this.go) this.go.disabled = !yes;
  }

  /** @param {any} error */
  say(error) {
    fill(this.note, prose(explained(error)));
    this.note.hidden = false;
  }

  async submit() {
    if (this.go?.disabled) return;
    this.note.hidden = true;
    this.ready(false);
    try {
      await this.act();
    } catch (error) {
      this.say(error);
    }
    this.ready(true);
  }

  /**
   * Fill the body with what has to be read first; until it is there nothing can be confirmed.
   * @template T
   * @param {Promise<T>} asked
   * @param {(told: T) => import("../dom.js").Child[]} draw
   */
  async reading(asked, draw) {
    this.fill(h("p", { class: "note", "aria-busy": "true" }, "Reading…"));
    this.ready(false);
    try {
      const told = await asked;
      this.fill(...draw(told));
      this.ready(true);
    } catch (error) {
      this.fill();
      this.say(error);
    }
  }
}
