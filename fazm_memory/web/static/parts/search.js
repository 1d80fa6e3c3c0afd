/**
 * <fm-search>: looks through everything recorded, and jumps to what it finds.
 */

import { api } from "../api.js";
import { announce, explained, fill, h } from "../dom.js";
import { glyphOf, icon } from "../icons.js";
import { dayName, dayOf } from "../layout/days.js";
import { sessionHash } from "../layout/route.js";
import { clock, counted, sentence } from "../layout/words.js";
import { go } from "../router.js";

const WAIT = 140;

class Search extends HTMLElement {
  /** @type {any[]} */
  results = [];
  at = -1;
  timer = 0;
  /** @type {AbortController|null} */
  asking = null;
  fresh = true; // whether the results are those of what the field says

  connectedCallback() {
    this.input = h("input", {
      class: "field wide",
      type: "search",
      placeholder: "Search",
      "aria-label": "Search everything recorded",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": "fm-found",
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.later(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.keys(event),
      onfocus: () => (this.fresh ? this.results.length && this.open(true) : this.later()),
    });
    this.list = h("div", {
      id: "fm-found",
      class: "found",
      role: "listbox",
      "aria-label": "Search results",
      hidden: true,
    });
    this.hint = h("p", { class: "found-note", hidden: true });
    this.box = h("div", { class: "found-box", hidden: true }, this.hint, this.list);
    fill(this, h("span", { class: "search-glyph" }, icon("search", 14)), this.input, this.box);
    this.addEventListener("focusout", (event) => {
      if (!this.contains(/** @type {Node|null} */ (event.relatedTarget))) this.leave();
    });
  }

  /** Whoever has gone elsewhere is not followed by what is found only then. */
  leave() {
    window.clearTimeout(this.timer);
    this.asking?.abort();
    this.open(false);
  }

  focus() {
    this.input?.focus();
    this.input?.select();
  }

  later() {
    this.fresh = false;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.look(), WAIT);
  }

  async look() {
    const input = /** @type {HTMLInputElement} */ (this.input);
    const q = input.value.trim();
    window.clearTimeout(this.timer);
    this.asking?.abort();
    if (!q) {
      this.fresh = true;
      this.results = [];
      this.at = -1;
      this.draw();
      return this.open(false);
    }
    const asking = (this.asking = new AbortController());
    try {
      const answer = await api.get("search", { q, limit: 30 }, { signal: asking.signal });
      if (asking.signal.aborted) return;
      this.results = answer.items;
      const none = this.results.length ? [] : [`Nothing recorded matches “${q}”. Try fewer or other words.`];
      this.say([...none, ...(answer.notes || []).map(sentence)].join(" "));
    } catch (error) {
      if (asking.signal.aborted) return;
      this.results = [];
      this.say(explained(error));
    }
    this.fresh = input.value.trim() === q; // more may have been typed since it was asked
    this.at = this.results.length ? 0 : -1;
    this.draw();
    this.open(true);
    const doubt = this.hint?.textContent;
    announce(this.results.length ? `${counted(this.results.length, "result")}${doubt ? `. ${doubt}` : ""}` : "No results");
  }

  /** @param {string} text */
  say(text) {
    const hint = /** @type {HTMLElement} */ (this.hint);
    hint.textContent = text;
  }

  draw() {
    const today = dayOf(Date.now());
    fill(
      /** @type {HTMLElement} */ (this.list),
      this.results.map((one, index) =>
        h(
          "div",
          {
            id: `fm-found-${index}`,
            role: "option",
            class: "found-row",
            "aria-selected": String(index === this.at),
            onmousedown: (/** @type {Event} */ event) => event.preventDefault(),
            onclick: () => this.jump(index),
          },
          icon(glyphOf(one.kind)),
          h("span", { class: "found-text" }, one.snippet),
          h(
            "span",
            { class: "found-where" },
            `${one.title || "Untitled"} · ${dayName(dayOf(one.ms), today)} ${clock(one.ms)}`,
          ),
        ),
      ),
    );
    this.mark();
  }

  mark() {
    const rows = this.list?.children || [];
    for (let index = 0; index < rows.length; index += 1)
      rows[index].setAttribute("aria-selected", String(index === this.at));
    const active = this.at >= 0 ? rows[this.at] : null;
    active?.scrollIntoView({ block: "nearest" });
    if (active) this.input?.setAttribute("aria-activedescendant", active.id);
    else this.input?.removeAttribute("aria-activedescendant");
  }

  /** @param {boolean} wanted */
  open(wanted) {
    const shown = wanted && this.results.length > 0;
    /** @type {HTMLElement} */ (this.list).hidden = !shown;
    const said = wanted && Boolean(this.hint?.textContent);
    /** @type {HTMLElement} */ (this.hint).hidden = !said;
    /** @type {HTMLElement} */ (this.box).hidden = !shown && !said;
    this.input?.setAttribute("aria-expanded", String(shown));
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const last = this.results.length - 1;
    if (event.key === "ArrowDown") this.at = Math.min(last, this.at + 1);
    else if (event.key === "ArrowUp") this.at = Math.max(0, this.at - 1);
    else if (event.key === "Enter") return void this.enter();
    else if (event.key === "Escape") {
      event.stopPropagation();
      if (this.list?.hidden) this.input?.blur();
      return this.leave();
    } else return;
    event.preventDefault();
    this.open(true);
    this.mark();
  }

  /** Jump, to what was found for all that was typed: fingers are faster than answers. */
  async enter() {
    if (!this.fresh) await this.look();
    if (this.fresh && this.at >= 0) this.jump(this.at);
  }

  /** @param {number} index */
  jump(index) {
    const one = this.results[index];
    this.leave();
    this.input?.blur();
    go(sessionHash(one.session, one.seq));
  }
}

customElements.define("fm-search", Search);
