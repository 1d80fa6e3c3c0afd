/**
 * <fm-list>: a session's events as a list of any length. Only the rows in sight are in the document; it follows
 * what is recorded until the reader scrolls up.
 */

import { api } from "../api.js";
import { announce, fill, framed, h, trouble } from "../dom.js";
import { sessionHash } from "../layout/route.js";
import { SEGMENT, atEdge, scrollTo, segmentFor, visible } from "../layout/rows.js";
import { counted } from "../layout/words.js";
import { go } from "../router.js";
import { DenseRows, FoundRows } from "../sources.js";
import { store } from "../store.js";
import { drawRow, drawWaiting } from "./row.js";

class List extends HTMLElement {
  /** @type {DenseRows|FoundRows|null} */
  source = null;
  segment = { base: 0, count: 0 };
  height = 36;
  unseen = 0;
  /** @type {Map<number, HTMLElement>} index to element */
  shown = new Map();
  /** @type {HTMLElement[]} */
  spare = [];

  connectedCallback() {
    this.sheet = h("div", { class: "rows", role: "presentation" });
    this.scroller = h(
      "div",
      { class: "list-scroll", role: "listbox", tabindex: 0, "aria-label": "Events", onscroll: () => this.scrolled(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.keys(event) },
      this.sheet,
    );
    this.newer = h("button", { class: "btn primary list-newer", type: "button", hidden: true, onclick: () => this.toEnd() });
    this.notice = h("div", { class: "list-notice" });
    fill(this, this.scroller, this.notice, this.newer);
    this.drawSoon = framed(() => this.draw());
    this.sheet.addEventListener("click", (event) => this.press(event));
    new ResizeObserver(() => this.resized()).observe(this.scroller);
    store.watch(["info"], (state) => this.info(state.info));
    store.watch(["filters"], () => this.begin());
    store.watch(["seq"], () => this.follow());
    document.addEventListener("fm:changes", (event) => this.change(/** @type {CustomEvent} */ (event).detail));
    this.info(store.state.info);
  }

  /** @param {any} info */
  info(info) {
    const { source } = this;
    if (!info) return this.nothing();
    if (!source || info.id !== source.session) this.begin();
    else source.grow(info.events);
  }

  /** A day without sessions. */
  nothing() {
    this.clear();
    this.source = null;
    this.sheet?.style.setProperty("height", "0");
    if (!store.state.day) return;
    const words = [h("h2", null, "Nothing was recorded on this day"), h("p", null, "No agent worked, or recording was off: the strip above shows gaps it knows of. Pick another day beside it.")];
    fill(/** @type {HTMLElement} */ (this.notice), h("div", { class: "empty" }, words));
  }

  begin() {
    const { info, filters, seq } = store.state;
    if (!info) return;
    const failed = (/** @type {any} */ error) => fill(/** @type {HTMLElement} */ (this.notice), trouble(error, () => this.begin()));
    const changed = (/** @type {{shift: number}} */ { shift }) => this.changed(shift);
    const narrowed = Object.values(filters).some(Boolean);
    this.clear();
    this.source = narrowed ? new FoundRows(info.id, filters, seq, changed, failed) : new DenseRows(info.id, info.events, changed, failed);
    this.unseen = 0;
    this.segment = { base: 0, count: 0 };
    this.resized();
    if (this.source instanceof FoundRows) this.source.ensure(0, 0);
    this.follow();
  }

  /** Measure again, and lay out the sheet. */
  resized() {
    const style = getComputedStyle(this);
    this.height = parseFloat(style.getPropertyValue("--fm-row")) || 36;
    this.relay();
    if (store.state.live && store.state.seq === null) this.toEnd();
    this.drawSoon?.();
  }

  /** Lay out the sheet; the segment moves only for a reader who goes somewhere else. @param {number} [near] */
  relay(near) {
    if (!this.source) return;
    const { count } = this.source;
    if (near !== undefined || this.segment.base >= count) this.segment = segmentFor(count, near ?? count);
    else this.segment.count = Math.min(SEGMENT, count - this.segment.base);
    this.sheet?.style.setProperty("height", `${this.segment.count * this.height}px`);
  }

  first() {
    return Math.floor((this.scroller?.scrollTop || 0) / this.height);
  }

  clear() {
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
    fill(/** @type {HTMLElement} */ (this.notice));
  }

  /** The source has more, or rows moved by `shift`. @param {number} shift */
  changed(shift) {
    const scroller = /** @type {HTMLElement} */ (this.scroller);
    const top = scroller.scrollTop;
    if (shift) this.clear();
    this.relay();
    if (store.state.live && store.state.seq === null) this.toEnd();
    else if (shift) scroller.scrollTop = top + shift * this.height;
    if (shift && store.state.seq !== null && this.source?.found && top === 0) void this.follow();
    this.drawSoon?.();
  }

  scrolled() {
    const scroller = /** @type {HTMLElement} */ (this.scroller);
    const source = this.source;
    if (!source) return;
    const end = scroller.scrollTop + scroller.clientHeight >= this.sheetHeight() - this.height * 1.5;
    const live = end && this.segment.base + this.segment.count >= source.count;
    if (live) this.unseen = 0;
    store.set({ live: live && store.state.seq === null });
    const { first, last } = visible(scroller.scrollTop, scroller.clientHeight, this.height, this.segment.count, 0);
    if (atEdge(this.segment, source.count, first, last)) {
      const index = end ? source.count : scroller.scrollTop === 0 ? 0 : this.segment.base + first; // dragged to an end: the list's own
      const part = scroller.scrollTop - first * this.height;
      this.clear();
      this.relay(index);
      scroller.scrollTop = (index - this.segment.base) * this.height + part;
    }
    this.drawSoon?.();
  }

  sheetHeight() {
    return this.segment.count * this.height;
  }

  draw() {
    const { source, scroller, sheet } = this;
    if (!source || !scroller || !sheet) return;
    const { first, last } = visible(scroller.scrollTop, scroller.clientHeight, this.height, this.segment.count);
    source.ensure(this.segment.base + first, this.segment.base + last);
    for (const [index, element] of this.shown) {
      const local = index - this.segment.base;
      if (local >= first && local < last) continue;
      element.remove();
      this.shown.delete(index);
      if (this.spare.length < 80) this.spare.push(element);
    }
    for (let local = first; local < last; local += 1) this.place(this.segment.base + local, local);
    const chosen = store.state.seq;
    const active = chosen === null ? null : sheet.querySelector(`[data-seq="${chosen}"]`);
    if (active) scroller.setAttribute("aria-activedescendant", active.id);
    else scroller.removeAttribute("aria-activedescendant");
    this.tell();
  }

  /** @param {number} index @param {number} local */
  place(index, local) {
    const row = this.source?.row(index) || null;
    let element = this.shown.get(index);
    if (!element) {
      element = this.spare.pop() || h("div", { role: "option" });
      element.dataset.seq = "";
      this.shown.set(index, element);
      this.sheet?.append(element);
    }
    element.style.setProperty("transform", `translateY(${local * this.height}px)`);
    const seq = row ? String(row.seq) : "-";
    if (element.dataset.seq !== seq || /** @type {any} */ (element).row !== row) {
      if (row) drawRow(element, row);
      else drawWaiting(element);
      /** @type {any} */ (element).row = row;
      element.dataset.seq = seq;
      element.id = row ? `fm-row-${row.seq}` : `fm-wait-${index}`;
    }
    if (!this.source?.found) {
      element.setAttribute("aria-setsize", String(this.source?.count));
      element.setAttribute("aria-posinset", String(index + 1));
    }
    const at = store.state.seq;
    element.setAttribute("aria-selected", String(row !== null && row.seq === at));
    element.classList.toggle("is-after", row !== null && at !== null && row.seq > at);
  }

  /** What stands in the place of rows, or above them. */
  tell() {
    const { source } = this;
    const notice = /** @type {HTMLElement} */ (this.notice);
    if (!source || notice.querySelector("[role=alert]")) return;
    if (source.count) fill(notice);
    else if (source.looking) fill(notice, h("p", { class: "note list-looking" }, "Looking…"));
    else if (source.found) {
      const clear = () => store.set({ filters: {} });
      fill(notice, h("div", { class: "empty" }, h("h2", null, "No event fits the filters"), h("p", null, "The session holds others."), h("button", { class: "btn", type: "button", onclick: clear }, "Show all events")));
    } else fill(notice, h("div", { class: "empty" }, h("h2", null, "Nothing happened here yet"), h("p", null, "The session is open. Its events appear here as they are recorded.")));
    const newer = /** @type {HTMLElement} */ (this.newer);
    newer.hidden = !this.unseen;
    newer.textContent = `${counted(this.unseen, "new event")} ↓`;
  }

  /** @param {MouseEvent} event */
  press(event) {
    const element = /** @type {HTMLElement} */ (event.target).closest(".row");
    const row = /** @type {any} */ (element)?.row;
    if (row) this.choose(row, false);
  }

  /** @param {any} row @param {boolean} walking */
  choose(row, walking) {
    const { session } = store.state;
    if (!session) return;
    store.set({ ms: row.ms });
    go(sessionHash(session, row.seq), { replace: walking });
  }

  /** Bring the event that is looked at into sight. */
  async follow() {
    const { source, scroller } = this;
    const { seq, live } = store.state;
    if (!source || !scroller) return;
    if (seq === null) {
      if (live) this.toEnd();
      return this.drawSoon?.();
    }
    const index = await source.indexOf(seq);
    if (source !== this.source) return;
    if (index < this.segment.base || index >= this.segment.base + this.segment.count) {
      this.clear();
      this.relay(index);
    }
    const far = Math.abs(index - this.segment.base - this.first()) > 60;
    scroller.scrollTop = scrollTo(index - this.segment.base, scroller.scrollTop, scroller.clientHeight, this.height, far);
    this.drawSoon?.();
  }

  toEnd() {
    if (!this.source || !this.scroller) return;
    this.unseen = 0;
    this.relay(this.source.count);
    this.scroller.scrollTop = this.sheetHeight();
    store.set({ live: store.state.seq === null });
    this.drawSoon?.();
  }

  /** @param {any} change */
  async change(change) {
    const { source } = this;
    if (!source || !(change.all || change.sessions?.includes(source.session))) return;
    if (source instanceof FoundRows) return source.grow();
    const before = source.count;
    try {
      const answer = await api.get(`sessions/${encodeURIComponent(source.session)}/events`, { from: before, limit: 1 });
      if (source !== this.source) return;
      if (!store.state.live) this.unseen += Math.max(0, answer.head - before);
      if (answer.head > before) announce(`${counted(answer.head - before, "new event")}`);
      source.grow(answer.head);
    } catch {
      // The shell says that the line is down; the next change asks again from the same position.
    }
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const page = Math.max(1, Math.floor((this.scroller?.clientHeight || 0) / this.height) - 1);
    /** @type {Record<string, number>} */
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.metaKey || event.ctrlKey || event.altKey || !(event.key in by)) return;
    event.preventDefault();
    event.stopPropagation();
    void this.walk(by[event.key]);
  }

  /** Go some rows on. @param {number} by */
  async walk(by) {
    const { source } = this;
    if (!source?.count) return;
    const { seq } = store.state;
    const at = seq === null ? (by < 0 ? source.count : this.segment.base + this.first() - 1) : await source.indexOf(seq);
    const index = Math.min(source.count - 1, Math.max(0, at + by));
    const row = source.row(index);
    if (row) return this.choose(row, true);
    if (store.state.session && !source.found) go(sessionHash(store.state.session, index), { replace: true });
  }
}

customElements.define("fm-list", List);
