/**
 * Which sessions of a long list stand in the document: those in sight and a few beside them. All rows are equally
 * high, and so are the names of days, so that what is left out can be stood in for by empty space of its exact height.
 */

const STEP = 10; // the window moves by so many rows at a time, not with every pixel

/** @typedef {{row: number, head: number}} Heights */
/** @typedef {{first: number, last: number, above: number, below: number}} Window half-open, and the space around it */

/**
 * @param {number[]} sizes how many sessions each day has
 * @param {Heights} heights of a session and of the name of a day
 * @param {number} top how far the list is scrolled
 * @param {number} height of what is in sight
 * @returns {Window}
 */
export function sessionWindow(sizes, heights, top, height) {
  const { row, head } = heights;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (!total) return { first: 0, last: 0, above: 0, below: 0 };
  const begin = Math.max(0, indexAt(sizes, heights, top - height));
  const end = Math.min(total - 1, indexAt(sizes, heights, top + 2 * height));
  const first = Math.floor(begin / STEP) * STEP;
  const last = Math.min(total, (Math.floor(end / STEP) + 1) * STEP);
  const whole = total * row + sizes.length * head;
  // The name of the first one's day is drawn with it, wherever in its day it stands.
  return {
    first,
    last,
    above: topOf(sizes, heights, first) - head,
    below: whole - topOf(sizes, heights, last - 1) - row,
  };
}

/**
 * Where a session begins.
 * @param {number[]} sizes
 * @param {Heights} heights
 * @param {number} index
 */
export function topOf(sizes, { row, head }, index) {
  let heads = 0;
  let before = 0;
  for (const size of sizes) {
    heads += 1;
    before += size;
    if (index < before) break;
  }
  return index * row + heads * head;
}

/**
 * The session at a height, or the nearest one.
 * @param {number[]} sizes
 * @param {Heights} heights
 * @param {number} at
 */
function indexAt(sizes, { row, head }, at) {
  let y = 0;
  let before = 0;
  for (const size of sizes) {
    const long = head + size * row;
    if (at < y + long) return before + Math.max(0, Math.floor((at - y - head) / row));
    y += long;
    before += size;
  }
  return before - 1;
}
