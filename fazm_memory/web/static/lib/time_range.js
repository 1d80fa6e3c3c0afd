/**
 * A range of time: zoom, pan, clamp.
 */

/** @typedef {{from: number, to: number}} TimeRange */

export const MIN_LENGTH = 2000;

/**
 * @param {TimeRange} range
 * @param {number} factor below 1 zooms in
 * @param {number} about the moment that keeps its place
 * @param {TimeRange} bounds
 * @returns {TimeRange}
 */
export function zoom(range, factor, about, bounds) {
  const length = Math.min(Math.max((range.to - range.from) * factor, MIN_LENGTH), bounds.to - bounds.from);
  const fraction = range.to > range.from ? (about - range.from) / (range.to - range.from) : 0.5;
  const from = about - fraction * length;
  return clamp({ from, to: from + length }, bounds);
}

/**
 * @param {TimeRange} range
 * @param {number} by milliseconds
 * @param {TimeRange} bounds
 */
export const pan = (range, by, bounds) => clamp({ from: range.from + by, to: range.to + by }, bounds);

/**
 * @param {TimeRange} range
 * @param {TimeRange} bounds
 * @returns {TimeRange}
 */
export function clamp(range, bounds) {
  const length = Math.min(range.to - range.from, bounds.to - bounds.from);
  const from = Math.min(Math.max(range.from, bounds.from), bounds.to - length);
  return { from: Math.round(from), to: Math.round(from + length) };
}

/**
 * A range with a margin on both sides.
 * @param {TimeRange} range
 * @param {number} [margin]
 * @returns {TimeRange}
 */
export function padded(range, margin = 0.04) {
  const pad = Math.max((range.to - range.from) * margin, 15_000);
  return { from: Math.round(range.from - pad), to: Math.round(range.to + pad) };
}

/**
 * @param {TimeRange} range
 * @param {number} ms
 */
export const contains = (range, ms) => ms >= range.from && ms <= range.to;

/**
 * The range, moved so that it contains a moment.
 * @param {TimeRange} range
 * @param {number} ms
 * @returns {TimeRange}
 */
export function reveal(range, ms) {
  if (contains(range, ms)) return range;
  const length = range.to - range.from;
  const from = ms < range.from ? ms - length * 0.15 : ms - length * 0.85;
  return { from: Math.round(from), to: Math.round(from + length) };
}
