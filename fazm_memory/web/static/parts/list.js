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
import { noRows, noSession } from "./list_notice.js";
import { RowPool, rowOf } from "./row_pool.js";

class List extends HTMLElement {
  /** @type {DenseRows|FoundRows|null} */
  source = null;
  segment = { base: 0, count: 0 };
  height = 36;
  tall = 0; // the box when it was last laid out, or went to its end
  seen = 0; // how many there were when the reader last stood at the end
  greeted = false; // whether the line has come up: what was recorded before is asked for once

  connectedCallback() {
    this.sheet = h("div", { class: "rows", role: "presentation" });
    this.pool = new RowPool(this.sheet);
    this.scroller = h(
      "div",
      {
        class: "list-scroll",
        role: "listbox",
        tabindex: 0,
        "aria-label": "Events",
        onscroll: () => this.scrolled(),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.keys(event),
      },
      this.sheet,
    );
    this.newer = h("button", {
      class: "btn primary list-newer",
      type: "button",
      hidden: true,
      onclick: () => this.toEnd(),
    });
    this.notice = h("div", { class: "list-notice" });
    fill(this, this.scroller, this.notice, this.newer);
    this.drawSoon = framed(() => this.draw());
    this.sheet.addEventListener("click", (event) => this.press(event));
    new ResizeObserver(() => this.resized()).observe(this.scroller);
    store.watch(["info", "day"], (state) => this.info(state.info));
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
    this.scroller?.setAttribute("tabindex", "-1"); // what stands in the place of rows lies over it
    this.sheet?.style.setProperty("height", "0");
    if (store.state.day) fill(/** @type {HTMLElement} */ (this.notice), noSession());
  }

  begin() {
    const { info, filters, seq } = store.state;
    if (!info) return;
    const failed = (/** @type {any} */ error) =>
      fill(
        /** @type {HTMLElement} */ (this.notice),
        trouble(error, () => this.begin()),
      );
    const changed = (/** @type {{shift: number}} */ { shift }) => this.changed(shift);
    const narrowed = Object.values(filters).some(Boolean);
    this.clear();
    this.source = narrowed
      ? new FoundRows(info.id, filters, seq, changed, failed)
      : new DenseRows(info.id, info.events, changed, failed);
    this.seen = this.source.count;
    this.segment = { base: 0, count: 0 };
    this.resized();
    if (this.source instanceof FoundRows) this.source.ensure(0, 0);
    this.follow();
  }

  /** Measure again, and lay out the sheet. */
  resized() {
    const style = getComputedStyle(this);
    this.height = parseFloat(style.getPropertyValue("--fm-row")) || 36;
    this.tall = this.scroller?.clientHeight || 0;
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
    this.pool?.clear();
    this.scroller?.removeAttribute("aria-activedescendant");
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
    // What stands above may have grown since the list went to its end, before this told of it: nobody scrolled up.
    if (store.state.live && scroller.clientHeight !== this.tall) return this.resized();
    const end = scroller.scrollTop + scroller.clientHeight >= this.sheetHeight() - this.height * 1.5;
    const live = end && this.segment.base + this.segment.count >= source.count;
    if (live) this.seen = source.count;
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
    const { source, scroller, pool } = this;
    if (!source || !scroller || !pool) return;
    const { first, last } = visible(scroller.scrollTop, scroller.clientHeight, this.height, this.segment.count);
    source.ensure(this.segment.base + first, this.segment.base + last);
    const { base } = this.segment;
    const { seq } = store.state;
    const total = source.found ? null : source.count;
    pool.keep(base + first, base + last);
    for (let at = first; at < last; at += 1)
      pool.place(base + at, at * this.height, source.row(base + at), total, seq);
    const active = seq === null ? null : document.getElementById(`fm-row-${seq}`);
    if (active) scroller.setAttribute("aria-activedescendant", active.id);
    else scroller.removeAttribute("aria-activedescendant");
    this.tell();
  }

  /** What stands in the place of rows, or above them. */
  tell() {
    const { source } = this;
    const notice = /** @type {HTMLElement} */ (this.notice);
    if (!source || notice.querySelector("[role=alert]")) return;
    fill(notice, source.count ? null : noRows(source));
    this.scroller?.setAttribute("tabindex", source.count ? "0" : "-1");
    const newer = /** @type {HTMLElement} */ (this.newer);
    const unseen = source.found ? 0 : source.count - this.seen;
    newer.hidden = unseen <= 0;
    newer.textContent = `${counted(unseen, "new event")} ↓`;
  }

  /** @param {MouseEvent} event */
  press(event) {
    const row = rowOf(event.target);
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
    scroller.scrollTop = scrollTo(
      index - this.segment.base,
      scroller.scrollTop,
      scroller.clientHeight,
      this.height,
      far,
    );
    this.drawSoon?.();
  }

  toEnd() {
    if (!this.source || !this.scroller) return;
    this.seen = this.source.count;
    this.relay(this.source.count);
    this.tall = this.scroller.clientHeight; // the box may be on its way to another height, and back
    this.scroller.scrollTop = this.sheetHeight();
    store.set({ live: store.state.seq === null });
    this.drawSoon?.();
  }

  /** @param {any} change */
  async change(change) {
    const { source } = this;
    const first = !this.greeted;
    this.greeted = true;
    if (!source || !(first || change.all || change.sessions?.includes(source.session))) return;
    if (source instanceof FoundRows) return source.grow();
    const before = source.count;
    try {
      const answer = await api.get(`sessions/${encodeURIComponent(source.session)}/events`, {
        from: before,
        limit: 1,
      });
      if (source !== this.source) return;
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
    const by = {
      ArrowDown: 1,
      j: 1,
      ArrowUp: -1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
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
    const at =
      seq === null ? (by < 0 ? source.count : this.segment.base + this.first() - 1) : await source.indexOf(seq);
    const index = Math.min(source.count - 1, Math.max(0, at + by));
    const row = source.row(index);
    if (row) return this.choose(row, true);
    if (store.state.session && !source.found) go(sessionHash(store.state.session, index), { replace: true });
  }
}

customElements.define("fm-list", List);
