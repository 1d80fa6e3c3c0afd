/**
 * Where the list gets its rows. Both sources hold a bounded number of rows, whatever a session holds.
 *
 * Positions are dense, so an unfiltered session is simply an array that lives on the server: `DenseRows` reads
 * the pages that are looked at. With a filter nobody knows where the matches lie: `FoundRows` walks from where
 * the reader stands in both directions by keyset cursors, and forgets what is far behind.
 */

import { api } from "./api.js";
import { pagesOf } from "./layout/rows.js";

const PAGE = 100;
const PAGES = 24; // kept at a time
const FOUND = 2400; // rows kept at a time
const STEPS = 8; // empty pages to walk through before a reader is told "still looking"

/** @typedef {Record<string, any> & {seq: number, ms: number}} Row */

export class DenseRows {
  /** @type {Map<number, Row[]|null>} page number to rows; null while it is being read */
  pages = new Map();
  /** @type {Map<number, boolean>} pages on their way, and whether they are out of date when they come */
  reading = new Map();
  found = false;
  looking = false;

  /**
   * @param {string} session
   * @param {number} total
   * @param {(change: {shift: number}) => void} changed
   * @param {(error: any) => void} failed
   */
  constructor(session, total, changed, failed) {
    this.session = session;
    this.count = total;
    this.changed = changed;
    this.failed = failed;
  }

  /** @param {number} index @returns {Row|null} */
  row(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE] || null;
  }

  /** @param {number} seq */
  async indexOf(seq) {
    return Math.min(seq, this.count - 1);
  }

  /** @param {number} first @param {number} last */
  ensure(first, last) {
    for (const page of pagesOf(first, Math.min(last, this.count), PAGE)) {
      const held = this.pages.get(page);
      if (held !== undefined) {
        this.pages.delete(page); // the Map's order is the order of use
        this.pages.set(page, held);
      } else void this.read(page);
    }
    for (const page of this.pages.keys()) {
      if (this.pages.size <= PAGES) break;
      this.pages.delete(page);
    }
  }

  /** Rows that are there stay until newer ones come. @param {number} page */
  async read(page) {
    if (this.reading.has(page)) return void this.reading.set(page, true);
    this.reading.set(page, false);
    if (!this.pages.has(page)) this.pages.set(page, null);
    try {
      const from = page * PAGE;
      const answer = await api.get(`sessions/${encodeURIComponent(this.session)}/events`, {
        from,
        to: from + PAGE,
        limit: PAGE,
      });
      /** @type {Row[]} */
      const rows = [];
      for (const row of answer.items) rows[row.seq - from] = row;
      this.pages.set(page, rows);
      this.count = Math.max(this.count, answer.head);
      this.again(page);
      this.changed({ shift: 0 });
    } catch (error) {
      this.reading.delete(page);
      this.pages.delete(page);
      this.failed(error);
    }
  }

  /** What was recorded while a page was on its way may not be on it. @param {number} page */
  again(page) {
    const late = this.reading.get(page);
    this.reading.delete(page);
    if (late) void this.read(page);
  }

  /** More was recorded. @param {number} total */
  grow(total) {
    if (total < this.count) return;
    const tail = Math.floor(Math.max(0, this.count - 1) / PAGE);
    this.count = total;
    for (const page of [tail, tail + 1]) if (this.pages.has(page)) void this.read(page);
    this.changed({ shift: 0 });
  }
}

export class FoundRows {
  /** @type {Row[]} ascending */
  rows = [];
  found = true;
  /** @type {string|null|undefined} cursor of what lies before; undefined is not asked yet, null is the beginning */
  before = undefined;
  /** @type {string|null|undefined} */
  after = undefined;
  reading = false;

  /**
   * @param {string} session
   * @param {Record<string, string>} filters
   * @param {number|null} near position to begin at; null is the end
   * @param {(change: {shift: number}) => void} changed
   * @param {(error: any) => void} failed
   */
  constructor(session, filters, near, changed, failed) {
    this.session = session;
    this.filters = filters;
    this.near = near;
    this.changed = changed;
    this.failed = failed;
    if (near === null) this.after = null;
  }

  get count() {
    return this.rows.length;
  }

  get looking() {
    return this.reading || this.before === undefined || Boolean(this.before && !this.rows.length);
  }

  /** @param {number} index @returns {Row|null} */
  row(index) {
    return this.rows[index] || null;
  }

  /** The index of the row at or before a position. @param {number} seq */
  async indexOf(seq) {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].seq <= seq) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** @param {number} first @param {number} last */
  ensure(first, last) {
    if (this.reading) return;
    if (first <= 20 && this.before !== null) void this.read("desc");
    else if (last >= this.rows.length - 20 && this.after !== null) void this.read("asc");
  }

  /** @param {"asc"|"desc"} dir */
  async read(dir) {
    this.reading = true;
    let shift = 0;
    try {
      for (let step = 0; step < STEPS; step += 1) {
        const answer = await this.page(dir);
        const rows = dir === "desc" ? [...answer.items].reverse() : answer.items;
        if (dir === "desc") {
          this.before = answer.next;
          this.rows.unshift(...rows);
          shift += rows.length;
        } else {
          this.after = answer.next;
          this.rows.push(...rows);
        }
        if (rows.length || !answer.next) break;
      }
      if (this.rows.length > FOUND) shift += this.forget(dir);
    } catch (error) {
      this.before ??= null;
      this.failed(error);
    } finally {
      this.reading = false;
      this.changed({ shift });
    }
  }

  /** @param {"asc"|"desc"} dir */
  page(dir) {
    const cursor = dir === "desc" ? this.before : this.after;
    /** @type {Record<string, any>} */
    const ask = { ...this.filters, dir, limit: PAGE, cursor };
    if (!cursor && dir === "asc")
      ask.from = this.rows.length ? this.rows[this.rows.length - 1].seq + 1 : this.near || 0;
    if (!cursor && dir === "desc" && this.rows.length) ask.to = this.rows[0].seq;
    else if (!cursor && dir === "desc" && this.near !== null) ask.to = this.near + 1;
    return api.get(`sessions/${encodeURIComponent(this.session)}/events`, ask);
  }

  /** Drop the rows furthest from where the reader goes; they are read again by position. @param {"asc"|"desc"} dir */
  forget(dir) {
    const extra = this.rows.length - FOUND;
    if (dir === "desc") {
      this.rows.length = FOUND;
      this.after = undefined;
      return 0;
    }
    this.rows.splice(0, extra);
    this.before = undefined;
    return -extra;
  }

  /** More was recorded: what was the end may not be any more. */
  grow() {
    if (this.after !== null || this.reading || this.before === undefined) return;
    this.near = this.near ?? 0;
    this.after = undefined;
    void this.read("asc");
  }
}
