/**
 * The rows of the event list. Both sources keep a bounded number of rows in memory.
 *
 * `SessionRows` shows a session without a filter. The outline of the session says which positions are rows, in time
 * order, and which are folded; a very long session has no outline, and every position is a row. The visible rows are
 * loaded in pages by position. With a filter the positions of the matches are unknown: `FilteredRows` reads in both
 * directions from the current event by cursor, and drops rows that are far away.
 */

import { api } from "./api.js";

const PAGE_SIZE = 100;
const MAX_PAGES = 24;
const MAX_ROWS = 2400;
const MAX_EMPTY_PAGES = 8; // read in a row before the list says that it is still searching

let collapseTurns = false; // stays from one session to the next

/** @typedef {Record<string, any> & {seq: number, ms: number}} Row */

/**
 * A run of similar events, shown as one row until it is opened.
 * @typedef {{seqs: number[], ms: number, tool: string|null, label: string, detail: string, inside?: boolean}} Fold
 */
/**
 * A turn: the index of its request among the items, how many follow, the position of its result.
 * @typedef {{start: number, size: number, result: number|null, label: string}} Turn
 */
/** @typedef {{seq: number, header?: Row, inside?: boolean, turn?: "open"|"collapsed", base?: Row, view?: Row}} Entry */

export class SessionRows {
  /** @type {Map<number, Row[]|null>} rows by page number; null while a page is loading */
  pages = new Map();
  /** @type {Map<number, boolean>} pages being loaded, and whether each must be loaded again */
  loading = new Map();
  /** @type {Entry[]|null} the rows of the list; null: every position is a row */
  entries = [];
  /** @type {(number|Fold)[]} */
  items = [];
  /** @type {Set<number>} first positions of the open folds */
  opened = new Set();
  /** @type {Turn[]} */
  turns = [];
  /** @type {Set<number>} positions of the requests of collapsed turns */
  collapsed = new Set();
  collapseAll = collapseTurns;
  /** @type {Record<number, string>} what the agent said right before a row */
  said = {};
  /** @type {Set<number>} positions that were recorded out of order */
  late = new Set();
  filtered = false;
  searching = true;
  outlining = false;
  stale = false; // events were recorded while the outline was loading

  /**
   * @param {string} session
   * @param {number} total
   * @param {(change: {shift: number, first?: boolean}) => void} changed
   * @param {(error: any) => void} failed
   */
  constructor(session, total, changed, failed) {
    this.session = session;
    this.head = total;
    this.changed = changed;
    this.failed = failed;
    this.ready = this.loadOutline();
  }

  get count() {
    return this.entries === null ? this.head : this.entries.length;
  }

  /** @param {number} index @returns {number|undefined} */
  seqAt(index) {
    return this.entries === null ? index : this.entries[index]?.seq;
  }

  /** @param {number} index @returns {Row|null} */
  row(index) {
    const entry = this.entries === null ? { seq: index } : this.entries[index];
    if (!entry) return null;
    if (entry.header) return entry.header;
    const base = this.pages.get(Math.floor(entry.seq / PAGE_SIZE))?.[entry.seq % PAGE_SIZE];
    const said = this.said[entry.seq];
    if (!base || (!entry.turn && !entry.inside && !said)) return base || null;
    if (entry.base !== base) {
      entry.base = base;
      entry.view = { ...base, said, inside: entry.inside, turnState: entry.turn };
    }
    return /** @type {Row} */ (entry.view);
  }

  /** The index of an event. Opens its fold. An event that is no row has that of the row before it. @param {number} seq */
  async indexOf(seq) {
    await this.ready;
    if (this.entries === null) return Math.min(seq, this.head - 1);
    this.openTurnOf(seq);
    const fold = this.items.find((item) => typeof item !== "number" && item.seqs.includes(seq));
    if (fold && !this.opened.has(/** @type {Fold} */ (fold).seqs[0])) this.toggle(/** @type {Fold} */ (fold).seqs[0]);
    let nearest = 0;
    for (const [index, entry] of this.entries.entries()) {
      if (entry.header || entry.seq > seq) continue;
      if (entry.seq === seq) return index;
      const best = this.entries[nearest];
      if (best.header || best.seq > seq || entry.seq > best.seq) nearest = index;
    }
    return nearest;
  }

  /** Open or close a fold. @param {number} first its first position */
  toggle(first) {
    if (!this.opened.delete(first)) this.opened.add(first);
    this.arrange();
    this.changed({ shift: 0 });
  }

  /** Open the collapsed turn that hides an event. @param {number} seq */
  openTurnOf(seq) {
    const index = this.items.findIndex((item) => (typeof item === "number" ? item === seq : item.seqs.includes(seq)));
    const turn = this.turns.find(({ start, size }) => index > start && index <= start + size);
    const request = turn && /** @type {number} */ (this.items[turn.start]);
    if (request !== undefined && seq !== turn?.result && this.collapsed.has(request)) this.toggleTurn(request);
  }

  /** Collapse a turn to its request and its result, or open it. @param {number} request */
  toggleTurn(request) {
    if (!this.collapsed.delete(request)) this.collapsed.add(request);
    this.arrange();
    this.changed({ shift: 0 });
  }

  /** Collapse all turns, or open them. */
  toggleTurns() {
    this.collapseAll = collapseTurns = this.collapsed.size < this.turns.length / 2;
    this.collapsed = new Set(collapseTurns ? this.turns.map(({ start }) => /** @type {number} */ (this.items[start])) : []);
    this.arrange();
    this.changed({ shift: 0 });
  }

  /** Make the rows from the outline, the open folds and the collapsed turns. */
  arrange() {
    /** @type {Entry[]} */
    const entries = [];
    const turns = new Map(this.turns.map((turn) => [turn.start, turn]));
    for (let at = 0; at < this.items.length; at += 1) {
      const item = this.items[at];
      const turn = turns.get(at);
      if (typeof item !== "number") {
        entries.push(...foldEntries(item, this.opened.has(item.seqs[0])));
        continue;
      }
      const collapsed = Boolean(turn) && this.collapsed.has(item);
      entries.push({ seq: item, turn: turn ? (collapsed ? "collapsed" : "open") : undefined });
      if (!turn || !collapsed) continue;
      const fold = { open: false, count: turn.size, turn: true };
      entries.push({ seq: item, header: { seq: item, ms: 0, kind: "action", tool: null, title: turn.label, detail: "", fold } });
      if (turn.result !== null) entries.push({ seq: turn.result });
      at += turn.size;
    }
    this.entries = entries;
  }

  async loadOutline() {
    if (this.outlining) return void (this.stale = true);
    this.outlining = true;
    const first = this.searching;
    try {
      do {
        this.stale = false;
        const answer = await api.get(`sessions/${encodeURIComponent(this.session)}/outline`);
        this.head = Math.max(this.head, answer.head);
        this.late = new Set(answer.late);
        this.items = answer.items || [];
        this.said = answer.said || {};
        this.setTurns(answer.turns || []);
        if (answer.items) this.arrange();
        else this.entries = null;
      } while (this.stale);
      this.searching = false;
      this.changed({ shift: 0, first });
    } catch (error) {
      this.failed(error);
    } finally {
      this.outlining = false;
    }
  }

  /** @param {Turn[]} turns */
  setTurns(turns) {
    const known = new Set(this.turns.map(({ start }) => start));
    this.turns = turns;
    if (!this.collapseAll) return;
    // The last turn may still be running: it stays open.
    for (const { start } of turns.slice(0, -1)) if (!known.has(start)) this.collapsed.add(/** @type {number} */ (this.items[start]));
  }

  /** @param {number} first @param {number} last */
  ensure(first, last) {
    const needed = new Set();
    for (let index = first; index < Math.min(last, this.count); index += 1) {
      if (!this.entries?.[index]?.header) needed.add(Math.floor(/** @type {number} */ (this.seqAt(index)) / PAGE_SIZE));
    }
    for (const page of needed) {
      const rows = this.pages.get(page);
      if (rows !== undefined) {
        this.pages.delete(page); // the order of the Map is the order of use
        this.pages.set(page, rows);
      } else void this.load(page);
    }
    for (const page of this.pages.keys()) {
      if (this.pages.size <= Math.max(MAX_PAGES, needed.size)) break;
      this.pages.delete(page);
    }
  }

  /** The old rows stay until the new ones are loaded. @param {number} page */
  async load(page) {
    if (this.loading.has(page)) return void this.loading.set(page, true);
    this.loading.set(page, false);
    if (!this.pages.has(page)) this.pages.set(page, null);
    try {
      const from = page * PAGE_SIZE;
      const answer = await api.get(`sessions/${encodeURIComponent(this.session)}/events`, {
        from,
        to: from + PAGE_SIZE,
        limit: PAGE_SIZE,
        housekeeping: this.entries === null ? 1 : undefined,
      });
      /** @type {Row[]} */
      const rows = [];
      for (const row of answer.items) rows[row.seq - from] = this.late.has(row.seq) ? { ...row, late: true } : row;
      this.pages.set(page, rows);
      if (answer.head > this.head) this.grow(answer.head);
      this.finish(page);
      this.changed({ shift: 0 });
    } catch (error) {
      this.loading.delete(page);
      this.pages.delete(page);
      this.failed(error);
    }
  }

  /** Load again if events were recorded during the request. @param {number} page */
  finish(page) {
    const stale = this.loading.get(page);
    this.loading.delete(page);
    if (stale) void this.load(page);
  }

  /** Events were added. @param {number} total */
  grow(total) {
    if (total <= this.head) return;
    const tail = Math.floor(Math.max(0, this.head - 1) / PAGE_SIZE);
    this.head = total;
    for (const page of [tail, tail + 1]) if (this.pages.has(page)) void this.load(page);
    if (this.entries === null) this.changed({ shift: 0 });
    else void this.loadOutline();
  }
}

/** A fold, and its events if it is open. @param {Fold} item @param {boolean} open @returns {Entry[]} */
function foldEntries(item, open) {
  const { ms, tool, label, detail, inside } = item;
  const [seq] = item.seqs;
  const fold = { open, count: item.seqs.length };
  const header = { seq, ms, kind: "action", tool, title: label, detail, inside, fold };
  return [{ seq, header }, ...(open ? item.seqs.map((each) => ({ seq: each, inside: true })) : [])];
}

export class FilteredRows {
  /** @type {Row[]} ascending */
  rows = [];
  filtered = true;
  /** @type {string|null|undefined} cursor of the rows before; undefined: not requested yet, null: there are none */
  before = undefined;
  /** @type {string|null|undefined} */
  after = undefined;
  loading = false;
  grown = false; // events were recorded while rows were loading

  /**
   * @param {string} session
   * @param {Record<string, string>} filters
   * @param {number|null} near position to start at; null: the end
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
    this.ready = Promise.resolve();
  }

  get count() {
    return this.rows.length;
  }

  /** @param {number} index @returns {number|undefined} */
  seqAt(index) {
    return this.rows[index]?.seq;
  }

  get searching() {
    return this.loading || this.before === undefined || Boolean(this.before && !this.rows.length);
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
    if (this.loading) return;
    if (first <= 20 && this.before !== null) void this.load("desc");
    else if (last >= this.rows.length - 20 && this.after !== null) void this.load("asc");
  }

  /** @param {"asc"|"desc"} dir */
  async load(dir) {
    this.loading = true;
    let shift = 0;
    try {
      for (let step = 0; step < MAX_EMPTY_PAGES; step += 1) {
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
      if (this.rows.length > MAX_ROWS) shift += this.trim(dir);
    } catch (error) {
      this.before ??= null;
      this.failed(error);
    } finally {
      this.loading = false;
      this.changed({ shift });
      if (this.grown) this.grow();
    }
  }

  /** @param {"asc"|"desc"} dir */
  page(dir) {
    const cursor = dir === "desc" ? this.before : this.after;
    /** @type {Record<string, any>} */
    const query = { ...this.filters, dir, limit: PAGE_SIZE, cursor };
    if (!cursor && dir === "asc")
      query.from = this.rows.length ? this.rows[this.rows.length - 1].seq + 1 : this.near || 0;
    if (!cursor && dir === "desc" && this.rows.length) query.to = this.rows[0].seq;
    else if (!cursor && dir === "desc" && this.near !== null) query.to = this.near + 1;
    return api.get(`sessions/${encodeURIComponent(this.session)}/events`, query);
  }

  /** Drop the rows at the other end. They are loaded again by position. @param {"asc"|"desc"} dir */
  trim(dir) {
    const extra = this.rows.length - MAX_ROWS;
    if (dir === "desc") {
      this.rows.length = MAX_ROWS;
      this.after = undefined;
      return 0;
    }
    this.rows.splice(0, extra);
    this.before = undefined;
    return -extra;
  }

  /** Events were added, so there may be more matches at the end. */
  grow() {
    this.grown = this.loading;
    if (this.after !== null || this.loading || this.before === undefined) return;
    this.near = this.near ?? 0;
    this.after = undefined;
    void this.load("asc");
  }
}
