/**
 * Base class of the screens: a heading, and content that is loaded and reloaded after changes. Reloading keeps the
 * focus, the scroll position and open sections.
 */

import { announce, errorBlock, errorText, fill, h, keepFocus, oneAtATime, withCommands } from "../dom.js";

const REFRESH_MS = 400; // from one load to the next

export class Screen extends HTMLElement {
  /** @type {Record<string, string>} */
  params = {};
  heading = "";
  about = "";

  connectedCallback() {
    this.classList.add("screen");
    this.body = h("div", { class: "screen-body" });
    this.tools = h("div", { class: "screen-tools" });
    fill(
      this,
      h(
        "header",
        { class: "screen-head" },
        h("div", null, h("h1", null, this.heading), h("p", { class: "note" }, this.about)),
        this.tools,
      ),
      this.body,
    );
    /** @param {Event} event */
    this.listener = (event) => {
      const change = /** @type {CustomEvent} */ (event).detail;
      if (change.all || this.concerns(change)) void this.refresh();
    };
    document.addEventListener("fm:changes", this.listener);
    fill(this.body, h("p", { class: "note", "aria-busy": "true" }, "Loading…"));
    void this.refresh();
  }

  disconnectedCallback() {
    if (this.listener) document.removeEventListener("fm:changes", this.listener);
  }

  /** Whether to reload after a change of the log. @param {{kinds: string[]}} _change */
  concerns(_change) {
    return true;
  }

  /** @returns {Promise<import("../dom.js").Child[]>} */
  async draw() {
    return [];
  }

  /** Load again after a change. Changes during a load wait for its end, so that many of them do not hide it. */
  refresh = oneAtATime(() => (this.isConnected ? this.load() : null), REFRESH_MS);

  /** Load the content. If loads overlap, only the last one is shown. */
  async load() {
    const turn = (this.turn = (this.turn || 0) + 1);
    if (!this.body) return;
    try {
      const drawn = await this.draw();
      if (turn !== this.turn) return;
      const next = h("div", { class: "screen-body" }, ...drawn);
      const open = new Set(sections(this.body).filter((details) => details.open).map(sectionName));
      for (const details of sections(next)) details.open ||= open.has(sectionName(details));
      if (next.isEqualNode(this.body)) return; // keeps a selection, an open list and what was typed
      const restoreFocus = keepFocus(this.body);
      const top = this.body.scrollTop;
      fill(this.body, ...next.childNodes);
      this.body.scrollTop = top;
      restoreFocus();
    } catch (error) {
      if (turn === this.turn) fill(this.body, errorBlock(error, () => this.load()));
    }
  }

  /**
   * Wait for a change and reload, or show its error.
   * @param {Promise<unknown>} change
   * @param {string} [confirmation] for screen readers
   */
  async apply(change, confirmation) {
    try {
      await change;
      if (confirmation) announce(confirmation);
      await this.load();
    } catch (error) {
      this.querySelector(".screen-error")?.remove();
      this.body?.prepend(h("p", { class: "note bad screen-error", role: "alert" }, withCommands(errorText(error))));
    }
  }
}

/** @param {HTMLElement} part @returns {HTMLDetailsElement[]} */
const sections = (part) => [...part.querySelectorAll("details")];

/** @param {HTMLDetailsElement} details */
const sectionName = (details) => details.querySelector("summary")?.textContent;
