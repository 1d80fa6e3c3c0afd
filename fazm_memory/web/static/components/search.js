/**
 * <fm-search>: search all events and go to a result.
 */

import { api } from "../api.js";
import { now } from "../clock.js";
import { announce, errorText, fill, h } from "../dom.js";
import { iconName, icon } from "../icons.js";
import { dayName, dayOf } from "../lib/days.js";
import { screenHash, sessionHash } from "../lib/route.js";
import { clock, plural, shortPath, toSentence } from "../lib/format.js";
import { navigate } from "../router.js";

const DELAY_MS = 140;
const SLOW_MS = 500; // after which the search says that it is searching

class Search extends HTMLElement {
  /** @type {any[]} */
  results = [];
  selected = -1;
  timer = 0;
  /** @type {AbortController|null} */
  request = null;
  current = true; // whether the results belong to the text in the field

  connectedCallback() {
    this.input = h("input", {
      class: "field wide",
      type: "search",
      placeholder: "Search",
      "aria-label": "Search everything recorded",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": "fm-results",
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.searchSoon(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.keys(event),
      onfocus: () => (this.current ? this.results.length && this.open(true) : this.searchSoon()),
    });
    this.list = h("div", {
      id: "fm-results",
      class: "search-results",
      role: "listbox",
      "aria-label": "Search results",
      hidden: true,
    });
    this.note = h("p", { class: "search-note", hidden: true });
    this.box = h("div", { class: "search-box", hidden: true }, this.note, this.list);
    fill(this, h("span", { class: "search-icon" }, icon("search", 14)), this.input, this.box);
    this.addEventListener("focusout", (event) => {
      if (!this.contains(/** @type {Node|null} */ (event.relatedTarget))) this.close();
    });
  }

  /** Close, and ignore results that arrive later. */
  close() {
    window.clearTimeout(this.timer);
    this.request?.abort();
    this.open(false);
  }

  focus() {
    this.input?.focus();
    this.input?.select();
  }

  searchSoon() {
    this.current = false;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.search(), DELAY_MS);
  }

  async search() {
    const input = /** @type {HTMLInputElement} */ (this.input);
    const q = input.value.trim();
    window.clearTimeout(this.timer);
    this.request?.abort();
    if (!q) {
      this.current = true;
      this.results = [];
      this.selected = -1;
      this.draw();
      return this.open(false);
    }
    const request = (this.request = new AbortController());
    const slow = window.setTimeout(() => request.signal.aborted || this.saySearching(), SLOW_MS);
    try {
      const answer = await api.get("search", { q, limit: 30 }, { signal: request.signal });
      if (request.signal.aborted) return;
      this.results = [...answer.files, ...answer.items];
      const empty = this.results.length ? [] : [`Nothing recorded matches “${q}”. Try fewer or other words.`];
      this.showNote([...empty, ...(answer.notes || []).map(toSentence)].join(" "));
    } catch (error) {
      if (request.signal.aborted) return;
      this.results = [];
      this.showNote(errorText(error));
    } finally {
      window.clearTimeout(slow);
    }
    this.current = input.value.trim() === q; // more may have been typed since
    this.selected = this.results.length ? 0 : -1;
    this.draw();
    this.open(true);
    const count = this.results.length ? plural(this.results.length, "result") : "No results";
    announce([count, this.results.length ? this.note?.textContent : ""].filter(Boolean).join(". "));
  }

  /** In place of the results of another text. */
  saySearching() {
    this.results = [];
    this.selected = -1;
    this.draw();
    this.showNote("Searching…");
    this.open(true);
  }

  /** @param {string} text */
  showNote(text) {
    const note = /** @type {HTMLElement} */ (this.note);
    note.textContent = text;
  }

  draw() {
    const today = dayOf(now());
    fill(
      /** @type {HTMLElement} */ (this.list),
      this.results.map((result, index) =>
        h(
          "div",
          {
            id: `fm-results-${index}`,
            role: "option",
            class: "search-result",
            "aria-selected": String(index === this.selected),
            onmousedown: (/** @type {Event} */ event) => event.preventDefault(),
            onclick: () => this.openResult(index),
          },
          icon(iconName(result.path ? "file" : result.kind)),
          h("span", { class: "search-snippet" }, result.path ? ["Who changed ", h("strong", null, shortPath(result.path, 3))] : result.snippet),
          h("span", { class: "search-where" }, `${aboutResult(result)} · ${dayName(dayOf(result.ms), today)} ${clock(result.ms)}`),
        ),
      ),
    );
    this.markSelected();
  }

  markSelected() {
    const rows = this.list?.children || [];
    for (let index = 0; index < rows.length; index += 1)
      rows[index].setAttribute("aria-selected", String(index === this.selected));
    const active = this.selected >= 0 ? rows[this.selected] : null;
    active?.scrollIntoView({ block: "nearest" });
    if (active) this.input?.setAttribute("aria-activedescendant", active.id);
    else this.input?.removeAttribute("aria-activedescendant");
  }

  /** @param {boolean} wanted */
  open(wanted) {
    const shown = wanted && this.results.length > 0;
    /** @type {HTMLElement} */ (this.list).hidden = !shown;
    const noted = wanted && Boolean(this.note?.textContent);
    /** @type {HTMLElement} */ (this.note).hidden = !noted;
    /** @type {HTMLElement} */ (this.box).hidden = !shown && !noted;
    this.input?.setAttribute("aria-expanded", String(shown));
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const last = this.results.length - 1;
    if (event.key === "ArrowDown") this.selected = Math.min(last, this.selected + 1);
    else if (event.key === "ArrowUp") this.selected = Math.max(0, this.selected - 1);
    else if (event.key === "Enter") return void this.enter();
    else if (event.key === "Escape") {
      event.stopPropagation();
      if (this.list?.hidden) this.input?.blur();
      return this.close();
    } else return;
    event.preventDefault();
    this.open(true);
    this.markSelected();
  }

  /** Open the selected result. Search first if more was typed since the last search. */
  async enter() {
    if (!this.current) await this.search();
    if (this.current && this.selected >= 0) this.openResult(this.selected);
  }

  /** @param {number} index */
  openResult(index) {
    const { session, seq, path } = this.results[index];
    this.close();
    this.input?.blur();
    navigate(path ? screenHash("files", { path }) : sessionHash(session, seq));
  }
}

/** @param {any} result a file, or an event */
const aboutResult = ({ path, changes, sessions, title }) =>
  path ? `${plural(changes, "change")} in ${plural(sessions, "session")}, the last` : title || "Untitled";

customElements.define("fm-search", Search);
