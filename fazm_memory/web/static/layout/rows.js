/**
 * A list of any length on a scrolling area of bounded height. Rows are all as tall; browsers cannot scroll over
 * tens of millions of pixels, so a very long list is shown in segments that follow the reader.
 */

/** Rows of one segment: under 12 million pixels at the tallest row, which every engine can scroll over. */
export const SEGMENT = 200_000;

/**
 * @param {number} total
 * @param {number} near an index the segment must hold, well away from its ends where it can
 * @param {number} [size]
 * @returns {{base: number, count: number}}
 */
export function segmentFor(total, near, size = SEGMENT) {
  if (total <= size) return { base: 0, count: total };
  const base = Math.min(Math.max(0, near - Math.floor(size / 2)), total - size);
  return { base, count: size };
}

/**
 * Whether the reader came so close to a segment's end that it must move on.
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
 * Which rows are to be in the document.
 * @param {number} scroll
 * @param {number} height of the viewport
 * @param {number} row height of a row
 * @param {number} count
 * @param {number} [spare] rows beyond the edges
 * @returns {{first: number, last: number}} half-open
 */
export function visible(scroll, height, row, count, spare = 8) {
  const first = Math.max(0, Math.min(count, Math.floor(scroll / row) - spare));
  const last = Math.max(first, Math.min(count, Math.ceil((scroll + height) / row) + spare));
  return { first, last };
}

/**
 * The pages of a keyed store that a stretch of rows needs.
 * @param {number} first
 * @param {number} last half-open
 * @param {number} page
 * @returns {number[]}
 */
export function pagesOf(first, last, page) {
  const out = [];
  for (let at = Math.floor(first / page); at * page < last; at += 1) out.push(at);
  return out;
}

/**
 * Where to scroll so that a row is seen, moving as little as possible.
 * @param {number} index
 * @param {number} scroll
 * @param {number} height
 * @param {number} row
 * @param {boolean} [centre] bring it to the middle when it was out of sight
 */
export function scrollTo(index, scroll, height, row, centre = false) {
  const top = index * row;
  if (top >= scroll && top + row <= scroll + height) return scroll;
  if (centre) return Math.max(0, top - (height - row) / 2);
  return top < scroll ? top : top + row - height;
}
