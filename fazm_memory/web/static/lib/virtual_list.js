/**
 * Virtual scrolling: which rows of a long list belong in the document, and where they are.
 *
 * All rows have the same height. Browsers cannot scroll over tens of millions of pixels, so a very long list is
 * shown in segments that move with the reader.
 */

/** Rows per segment: under 12 million pixels at the tallest row, which every engine can scroll. */
export const SEGMENT = 200_000;

/**
 * @param {number} total
 * @param {number} near an index that the segment must contain, if possible not close to its ends
 * @param {number} [size]
 * @returns {{base: number, count: number}}
 */
export function segmentFor(total, near, size = SEGMENT) {
  if (total <= size) return { base: 0, count: total };
  const base = Math.min(Math.max(0, near - Math.floor(size / 2)), total - size);
  return { base, count: size };
}

/**
 * Whether the visible rows are so close to the end of a segment that it must move.
 * @param {{base: number, count: number}} segment
 * @param {number} total
 * @param {number} first index within the segment
 * @param {number} last
 */
export function atEdge(segment, total, first, last) {
  const room = Math.floor(segment.count / 10);
  return (segment.base > 0 && first < room) || (segment.base + segment.count < total && last > segment.count - room);
}

/**
 * The rows that belong in the document.
 * @param {number} scroll
 * @param {number} height of the viewport
 * @param {number} row height of a row
 * @param {number} count
 * @param {number} [spare] extra rows above and below
 * @returns {{first: number, last: number}} half-open
 */
export function visible(scroll, height, row, count, spare = 8) {
  const first = Math.max(0, Math.min(count, Math.floor(scroll / row) - spare));
  const last = Math.max(first, Math.min(count, Math.ceil((scroll + height) / row) + spare));
  return { first, last };
}

/**
 * The scroll position that makes a row visible with the least movement.
 * @param {number} index
 * @param {number} scroll
 * @param {number} height
 * @param {number} row
 * @param {boolean} [centre] centre the row if it was not visible
 */
export function scrollTo(index, scroll, height, row, centre = false) {
  const top = index * row;
  if (top >= scroll && top + row <= scroll + height) return scroll;
  if (centre) return Math.max(0, top - (height - row) / 2);
  return top < scroll ? top : top + row - height;
}

const STEP = 10; // rows by which the window moves, so that it is not redrawn at every pixel

/** @typedef {{row: number, head: number}} Heights */
/** @typedef {{first: number, last: number, above: number, below: number}} SessionWindow half-open, with the space around it */

/**
 * The sessions of the sidebar that belong in the document. Empty space stands for the others.
 * @param {number[]} sizes number of sessions of each day
 * @param {Heights} heights of a session row and of a day heading
 * @param {number} top scroll position
 * @param {number} height of the viewport
 * @returns {SessionWindow}
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
  // The heading of the first session's day is always drawn above it.
  return {
    first,
    last,
    above: topOf(sizes, heights, first) - head,
    below: whole - topOf(sizes, heights, last - 1) - row,
  };
}

/**
 * The top of a session row in pixels.
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
 * The index of the session at a height, or the nearest one.
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
