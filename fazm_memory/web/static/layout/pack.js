/**
 * Marks on a lane: nothing thinner than the eye can find, nothing drawn twice on the same spot, and what
 * overlaps goes on a row of its own as far as there are rows.
 */

/**
 * @typedef {object} Mark
 * @property {number} x
 * @property {number} width
 * @property {number} row
 * @property {number} count how many events it stands for
 * @property {boolean} bad whether any of them failed
 * @property {any} item the first of them, or the first that failed
 */

export const LEAST = 3;

/**
 * @param {{ms: number, end_ms: number, outcome?: string|null}[]} items by time
 * @param {(ms: number) => number} x
 * @param {{rows?: number, least?: number, width: number}} options
 * @returns {Mark[]}
 */
export function packLane(items, x, { rows = 2, least = LEAST, width }) {
  /** @type {Mark[]} */
  const marks = [];
  /** @type {number[]} */
  const ends = new Array(rows).fill(-Infinity);
  /** @type {Mark[]} the last mark of each row */
  const last = [];
  for (const item of items) {
    const start = x(item.ms);
    const end = Math.max(x(item.end_ms), start + least);
    if (end < 0 || start > width) continue;
    const bad = isBad(item.outcome);
    let row = ends.findIndex((taken) => start >= taken + 0.5);
    if (row < 0) {
      row = ends.indexOf(Math.min(...ends));
      const mark = last[row];
      mark.width = Math.max(mark.width, end - mark.x);
      mark.count += 1;
      if (bad && !mark.bad) mark.item = item;
      mark.bad ||= bad;
      ends[row] = mark.x + mark.width;
      continue;
    }
    const mark = { x: start, width: end - start, row, count: 1, bad, item };
    marks.push(mark);
    last[row] = mark;
    ends[row] = end;
  }
  return marks;
}

/** @param {string|null|undefined} outcome */
export const isBad = (outcome) => Boolean(outcome) && outcome !== "ok";

/**
 * The mark under a point, with a little patience for small ones.
 * @param {Mark[]} marks
 * @param {number} x
 * @param {number} row
 * @param {number} [slack]
 * @returns {Mark|null}
 */
export function markAt(marks, x, row, slack = 4) {
  let best = null;
  let nearest = slack;
  for (const mark of marks) {
    if (mark.row !== row) continue;
    const away = x < mark.x ? mark.x - x : Math.max(0, x - mark.x - mark.width);
    if (away <= nearest) {
      nearest = away;
      best = mark;
    }
  }
  return best;
}
