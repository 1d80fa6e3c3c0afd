/**
 * <fm-event-list>: the events of a session. Only visible rows are in the document. The list follows new events until
 * the reader scrolls up.
 */

import { api } from "../api.js";
import { announce, errorBlock, fill, h, oncePerFrame } from "../dom.js";
import { dayOf } from "../lib/days.js";
import { sessionHash } from "../lib/route.js";
import { SEGMENT, atEdge, scrollTo, segmentFor, visible } from "../lib/virtual_list.js";
import { plural } from "../lib/format.js";
import { navigate, runCommand } from "../router.js";
import { SessionRows, FilteredRows } from "../row_sources.js";
import { store } from "../store.js";
import { RowPool, rowOf } from "./event_rows.js";

class EventList extends HTMLElement {
  /** @type {SessionRows|FilteredRows|null} */
  source = null;
  segment = { base: 0, count: 0 };
  height = 36;
  boxHeight = 0; // at the last layout or scroll to the end
  readCount = 0; // number of events when the reader was last at the end
  /** @type {number|null} */
  left = null; // the event whose panel was closed last

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
    this.newButton = h("button", {
      class: "btn primary list-new-button",
      type: "button",
      hidden: true,
      onclick: () => this.scrollToEnd(),
    });
    this.notice = h("div", { class: "list-notice" });
    fill(this, this.scroller, this.notice, this.newButton);
    this.drawSoon = oncePerFrame(() => this.draw());
    this.sheet.addEventListener("click", (event) => this.clicked(event));
    new ResizeObserver(() => this.resized()).observe(this.scroller);
    store.watch(["info", "day"], (state) => this.showSession(state.info));
    store.watch(["filters"], () => this.start());
    store.watch(["seq", "then"], () => this.showSelected());
    document.addEventListener("fm:changes", (event) => this.logChanged(/** @type {CustomEvent} */ (event).detail));
    this.showSession(store.state.info);
  }

  /** @param {any} info */
  showSession(info) {
    const { source } = this;
    if (!info) return this.showEmptyDay();
    if (!source || info.id !== source.session) this.start();
    else source.grow(info.events);
  }

  showEmptyDay() {
    this.clear();
    this.source = null;
    this.removeAttribute("aria-busy");
    this.scroller?.setAttribute("tabindex", "-1"); // the notice covers it
    this.sheet?.style.setProperty("height", "0");
    if (store.state.day) fill(/** @type {HTMLElement} */ (this.notice), emptyDayNotice());
  }

  start() {
    const { info, filters, seq } = store.state;
    if (!info) return;
    const failed = (/** @type {any} */ error) => {
      this.removeAttribute("aria-busy");
      fill(
        /** @type {HTMLElement} */ (this.notice),
        errorBlock(error, () => this.start()),
      );
    };
    const changed = (/** @type {{shift: number, first?: boolean}} */ { shift, first = false }) =>
      this.rowsChanged(shift, first);
    const filtered = Object.values(filters).some(Boolean);
    this.clear();
    this.source = filtered
      ? new FilteredRows(info.id, filters, seq, changed, failed)
      : new SessionRows(info.id, info.events, changed, failed);
    this.readCount = this.source.count;
    this.segment = { base: 0, count: 0 };
    this.left = null;
    this.setAttribute("aria-busy", "true"); // until the first rows are drawn
    this.resized();
    if (this.source instanceof FilteredRows) this.source.ensure(0, 0);
    this.showSelected();
  }

  resized() {
    const style = getComputedStyle(this);
    this.height = parseFloat(style.getPropertyValue("--fm-row")) || 36;
    const before = this.boxHeight;
    this.boxHeight = this.scroller?.clientHeight || 0;
    this.layout();
    if (store.state.live && store.state.seq === null) this.scrollToEnd();
    else if (this.boxHeight < before) this.keepSelected(before);
    this.drawSoon?.();
  }

  /** What is drawn above the list must not push the selected row out of it. @param {number} before height of the box */
  keepSelected(before) {
    const { scroller } = this;
    const row = document.getElementById(`fm-row-${store.state.seq}`);
    if (!scroller || !row) return;
    const bottom = row.getBoundingClientRect().bottom - scroller.getBoundingClientRect().top;
    if (bottom <= before && bottom > this.boxHeight) scroller.scrollTop += bottom - this.boxHeight;
  }

  /** The segment moves only if `near` is given. @param {number} [near] */
  layout(near) {
    if (!this.source) return;
    const { count } = this.source;
    if (near !== undefined || this.segment.base >= count) this.segment = segmentFor(count, near ?? count);
    else this.segment.count = Math.min(SEGMENT, count - this.segment.base);
    this.sheet?.style.setProperty("height", `${this.segment.count * this.height}px`);
  }

  firstVisible() {
    return Math.floor((this.scroller?.scrollTop || 0) / this.height);
  }

  clear() {
    this.pool?.clear();
    this.scroller?.removeAttribute("aria-activedescendant");
    fill(/** @type {HTMLElement} */ (this.notice));
  }

  /** Rows were loaded; existing ones moved by `shift`. @param {number} shift @param {boolean} [first] */
  rowsChanged(shift, first = false) {
    if (first && this.source) this.readCount = this.source.count;
    const scroller = /** @type {HTMLElement} */ (this.scroller);
    const top = scroller.scrollTop;
    if (shift) this.clear();
    this.layout();
    if (store.state.live && store.state.seq === null) this.scrollToEnd();
    else if (shift) scroller.scrollTop = top + shift * this.height;
    if (shift && store.state.seq !== null && this.source?.filtered && top === 0) void this.showSelected();
    this.drawSoon?.();
  }

  scrolled() {
    const scroller = /** @type {HTMLElement} */ (this.scroller);
    const source = this.source;
    if (!source) return;
    // The box changed its height, so this is not a reader scrolling up.
    if (store.state.live && scroller.clientHeight !== this.boxHeight) return this.resized();
    const end = scroller.scrollTop + scroller.clientHeight >= this.sheetHeight() - this.height * 1.5;
    const live = end && this.segment.base + this.segment.count >= source.count;
    if (live) this.readCount = source.count;
    store.set({ live: live && store.state.seq === null });
    const { first, last } = visible(scroller.scrollTop, scroller.clientHeight, this.height, this.segment.count, 0);
    if (atEdge(this.segment, source.count, first, last)) {
      const index = end ? source.count : scroller.scrollTop === 0 ? 0 : this.segment.base + first; // dragged to an end: go to the end of the list
      const part = scroller.scrollTop - first * this.height;
      this.clear();
      this.layout(index);
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
    source.ensure(Math.max(0, this.segment.base + first - 1), this.segment.base + last);
    const { base } = this.segment;
    const { seq } = store.state;
    const left = seq === null ? this.left : null;
    const total = source.filtered ? null : source.count;
    pool.trim(base + first, base + last);
    let loaded = !source.searching;
    for (let at = first; at < last; at += 1) {
      const row = source.row(base + at);
      loaded &&= row !== null;
      pool.place(base + at, at * this.height, row, total, { seq, left }, newDay(source, base + at));
    }
    const selected = seq === null ? null : document.getElementById(`fm-row-${seq}`);
    if (selected) scroller.setAttribute("aria-activedescendant", selected.id);
    else scroller.removeAttribute("aria-activedescendant");
    this.drawNotices();
    if (loaded) this.removeAttribute("aria-busy");
  }

  drawNotices() {
    const { source } = this;
    const notice = /** @type {HTMLElement} */ (this.notice);
    if (!source || notice.querySelector("[role=alert]")) return;
    fill(notice, source.count ? null : emptyNotice(source));
    this.scroller?.setAttribute("tabindex", source.count ? "0" : "-1");
    const button = /** @type {HTMLElement} */ (this.newButton);
    if (this.endInView()) this.readCount = source.count; // what is on the screen is not new
    const unread = source.filtered ? 0 : source.count - this.readCount;
    button.hidden = unread <= 0;
    button.textContent = `${plural(unread, "new event")} ↓`;
  }

  /** Whether the last row is visible. */
  endInView() {
    const { source, scroller, segment } = this;
    if (!source || !scroller || segment.base + segment.count < source.count) return false;
    return scroller.scrollTop + scroller.clientHeight >= this.sheetHeight() - this.height / 2;
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const row = rowOf(event.target);
    const on = (/** @type {string} */ part) => event.target instanceof Element && Boolean(event.target.closest(part));
    if (row && on(".row-act")) return runCommand(row.kind === "rewind" ? "undo" : "rewind", { session: store.state.session, seq: row.seq });
    const onMark = on(".row-fold");
    if (row?.fold?.turn || (row?.turnState && onMark)) this.keepUnread((source) => source.toggleTurn(row.seq));
    else if (row?.fold) this.toggle(row.seq);
    else if (row) this.select(row, false);
  }

  /** Open or close a fold. @param {number} first its first position */
  toggle(first) {
    this.keepUnread((source) => source.toggle(first));
  }

  /** Collapse all turns to request and result, or open them. */
  toggleTurns() {
    this.keepUnread((source) => source.toggleTurns());
    void this.showSelected();
  }

  /** Change the rows, but not the number of unread ones. @param {(source: SessionRows) => void} change */
  keepUnread(change) {
    const { source } = this;
    if (!(source instanceof SessionRows)) return;
    const unread = source.count - this.readCount;
    change(source);
    this.readCount = source.count - unread;
  }

  /** @param {any} row @param {boolean} stepping */
  select(row, stepping) {
    const { session, then } = store.state;
    if (!session) return;
    store.set({ ms: row.ms });
    navigate(sessionHash(session, row.seq, then), { replace: stepping });
  }

  /** Scroll to the selected event. */
  async showSelected() {
    const { source, scroller } = this;
    const { seq, live } = store.state;
    if (!source || !scroller) return;
    if (seq !== null) this.left = seq;
    if (seq === null) {
      if (live) this.scrollToEnd();
      return this.drawSoon?.();
    }
    const index = await this.indexOf(source, seq);
    if (source !== this.source) return;
    if (index < this.segment.base || index >= this.segment.base + this.segment.count) {
      this.clear();
      this.layout(index);
    }
    const far = Math.abs(index - this.segment.base - this.firstVisible()) > 60;
    scroller.scrollTop = scrollTo(
      index - this.segment.base,
      scroller.scrollTop,
      scroller.clientHeight,
      this.height,
      far,
    );
    this.drawSoon?.();
  }

  /** The index of an event. What opens to show it is not new. @param {SessionRows|FilteredRows} source @param {number} seq */
  async indexOf(source, seq) {
    await source.ready;
    const unread = source.count - this.readCount;
    const index = await source.indexOf(seq);
    if (source === this.source) this.readCount = source.count - unread;
    return index;
  }

  scrollToEnd() {
    if (!this.source || !this.scroller) return;
    this.readCount = this.source.count;
    this.layout(this.source.count);
    this.boxHeight = this.scroller.clientHeight; // a later change of this height is not a reader scrolling up
    this.scroller.scrollTop = this.sheetHeight();
    store.set({ live: store.state.seq === null });
    this.drawSoon?.();
  }

  /** @param {any} change */
  async logChanged(change) {
    const { source } = this;
    if (!source || !(change.all || change.sessions?.includes(source.session))) return;
    if (source instanceof FilteredRows) return source.grow();
    const before = source.head;
    try {
      const answer = await api.get(`sessions/${encodeURIComponent(source.session)}/events`, {
        from: before,
        limit: 1,
      });
      if (source !== this.source) return;
      if (answer.head > before) announce(`${plural(answer.head - before, "new event")}`);
      source.grow(answer.head);
    } catch {
      // The page shows that the connection is lost. The next change tries again.
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
    void this.step(by[event.key]);
  }

  /** The event whose panel was closed last, if its row is still in view. */
  leftInView() {
    const row = this.left === null ? null : document.getElementById(`fm-row-${this.left}`);
    const box = this.scroller?.getBoundingClientRect();
    const at = row?.getBoundingClientRect();
    return box && at && at.bottom > box.top && at.top < box.bottom ? this.left : null;
  }

  /** Select another row. @param {number} by @returns {Promise<void>} */
  async step(by) {
    const { source } = this;
    if (!source?.count) return;
    const seq = store.state.seq ?? this.leftInView();
    let at = by < 0 ? source.count : this.segment.base + this.firstVisible() - 1;
    if (seq !== null) {
      at = await this.indexOf(source, seq);
      if (by > 0 && (source.seqAt(at) ?? 0) > seq) at -= 1; // an event before the first row
    }
    let index = Math.min(source.count - 1, Math.max(0, at + by));
    let row = source.row(index);
    if (row?.fold?.turn) {
      index += by < 0 || index + 1 >= source.count ? -1 : 1; // over the header of a collapsed turn
      row = source.row(index);
    }
    if (row?.fold) {
      // Keys walk through every event: down to the first of a fold, up over its header or to its last.
      const back = by < 0;
      if (!row.fold.open) this.toggle(row.seq);
      if (back && !row.fold.open) index += row.fold.count;
      else index += back && index > 0 ? -1 : 1;
      row = source.row(index);
      if (row?.fold) return this.step(back ? by - 1 : by + 1);
    }
    if (row) return this.select(row, true);
    const target = source.seqAt(index);
    const { session, then } = store.state;
    if (session && target !== undefined) navigate(sessionHash(session, target, then), { replace: true });
  }
}

/**
 * The day of a row that begins a day; null for the others, and while the row before is loading.
 * @param {SessionRows|FilteredRows} source @param {number} index
 */
function newDay(source, index) {
  const row = source.row(index);
  if (!row?.ms) return null; // the summary of a collapsed turn has no time of its own
  const day = dayOf(row.ms);
  let before = index - 1;
  while (before >= 0 && source.row(before)?.ms === 0) before -= 1;
  const earlier = before < 0 ? null : source.row(before);
  return before >= 0 && (!earlier || dayOf(earlier.ms) === day) ? null : day;
}

function emptyDayNotice() {
  return h(
    "div",
    { class: "empty" },
    h("h2", null, "Nothing recorded on this day"),
    h(
      "p",
      null,
      "No agent was active, or recording was off. Known gaps are hatched in the chart above. Choose another day.",
    ),
  );
}

/**
 * @param {{searching: boolean, filtered: boolean}} source
 */
function emptyNotice(source) {
  if (source.searching) return h("p", { class: "note list-searching" }, source.filtered ? "Searching…" : "Loading…");
  if (!source.filtered) {
    return h(
      "div",
      { class: "empty" },
      h("h2", null, "No events yet"),
      h("p", null, "The session is open. New events appear here."),
    );
  }
  return h(
    "div",
    { class: "empty" },
    h("h2", null, "No events match the filters"),
    h("p", null, "The session has other events."),
    h("button", { class: "btn", type: "button", onclick: () => store.set({ filters: {} }) }, "Show all events"),
  );
}

customElements.define("fm-event-list", EventList);
