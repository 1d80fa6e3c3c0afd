/**
 * What the screens have in common: a heading, content that is read from the back end, and reading it again when
 * something changed. What a person has open or focused is kept across a reading.
 */

import { announce, explained, fill, h, inHand, prose, trouble } from "../dom.js";

export class Screen extends HTMLElement {
  /** @type {Record<string, string>} */
  params = {};

  connectedCallback() {
    this.classList.add("screen");
    this.body = h("div", { class: "screen-body" });
    this.tools = h("div", { class: "screen-tools" });
    fill(
      this,
      h("header", { class: "screen-head" }, h("div", null, h("h1", null, this.heading()), h("p", { class: "note" }, this.about())), this.tools),
      this.body,
    );
    /** @param {Event} event */
    this.hear = (event) => {
      if (this.concerns(/** @type {CustomEvent} */ (event).detail)) this.read();
    };
    document.addEventListener("fm:changes", this.hear);
    fill(this.body, h("p", { class: "note", "aria-busy": "true" }, "Reading…"));
    this.read();
  }

  disconnectedCallback() {
    if (this.hear) document.removeEventListener("fm:changes", this.hear);
  }

  heading() {
    return "";
  }

  about() {
    return "";
  }

  /** Whether a change of the log is one to read again for. @param {{kinds: string[]}} _change */
  concerns(_change) {
    return true;
  }

  /** @returns {Promise<import("../dom.js").Child[]>} */
  async draw() {
    return [];
  }

  /** Read again. Of readings that overtake each other only the last is shown. */
  async read() {
    const turn = (this.turn = (this.turn || 0) + 1);
    if (!this.body) return;
    try {
      const drawn = await this.draw();
      if (turn !== this.turn) return;
      const again = inHand(this.body);
      const top = this.body.scrollTop;
      const open = new Set(this.folds().filter((one) => one.open).map(foldName));
      fill(this.body, ...drawn);
      for (const one of this.folds()) one.open ||= open.has(foldName(one));
      this.body.scrollTop = top;
      again();
    } catch (error) {
      if (turn === this.turn) fill(this.body, trouble(error, () => this.read()));
    }
  }

  /** @returns {HTMLDetailsElement[]} */
  folds() {
    return [...(this.body?.querySelectorAll("details") || [])];
  }

  /**
   * Do something that changes what is shown, then read again; a refusal is told where it happened.
   * @param {Promise<unknown>} done
   * @param {string} [words]
   */
  async doing(done, words) {
    try {
      await done;
      if (words) announce(words);
      await this.read();
    } catch (error) {
      this.refuse(error);
    }
  }

  /** @param {any} error */
  refuse(error) {
    this.querySelector(".refusal")?.remove();
    this.body?.prepend(h("p", { class: "note bad refusal", role: "alert" }, prose(explained(error))));
  }
}

/** @param {HTMLDetailsElement} fold */
const foldName = (fold) => fold.querySelector("summary")?.textContent;
