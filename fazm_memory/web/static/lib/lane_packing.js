/**
 * Place the events of a lane as marks. Every mark has a minimum width. Events that overlap go to another row if
 * there is one, else they share a mark.
 */

/**
 * @typedef {object} Mark
 * @property {number} x
 * @property {number} width
 * @property {number} row
 * @property {number} count number of events in it
 * @property {boolean} failed whether any of them failed
 * @property {any} item the first event, or the first that failed
 */

const MIN_WIDTH = 3;

/**
 * @param {{ms: number, end_ms: number, outcome?: string|null}[]} items by time
 * @param {(ms: number) => number} x
 * @param {{rows?: number, width: number}} options
 * @returns {Mark[]}
 */
export function packLane(items, x, { rows = 2, width }) {
  /** @type {Mark[]} */
  const marks = [];
  /** @type {number[]} */
  const ends = new Array(rows).fill(-Infinity);
  /** @type {Mark[]} the last mark of each row */
  const last = [];
  for (const item of items) {
    const start = x(item.ms);
    const end = Math.max(x(item.end_ms), start + MIN_WIDTH);
    if (end < 0 || start > width) continue;
    const failed = isFailed(item.outcome);
    let row = ends.findIndex((taken) => start >= taken + 0.5);
    if (row < 0) {
      row = ends.indexOf(Math.min(...ends));
      const mark = last[row];
      mark.width = Math.max(mark.width, end - mark.x);
      mark.count += 1;
      if (failed && !mark.failed) mark.item = item;
      mark.failed ||= failed;
      ends[row] = mark.x + mark.width;
      continue;
    }
    const mark = { x: start, width: end - start, row, count: 1, failed, item };
    marks.push(mark);
    last[row] = mark;
    ends[row] = end;
  }
  return marks;
}

/** A call that the user refused did not fail. @param {string|null|undefined} outcome */
export const isFailed = (outcome) => Boolean(outcome) && outcome !== "ok" && outcome !== "denied";

/**
 * The mark at a point, or the nearest one within `slack` pixels.
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
