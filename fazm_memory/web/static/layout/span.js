/**
 * The stretch of time that is looked at: zoomed about a moment, moved, and kept within bounds.
 */

/** @typedef {{from: number, to: number}} Span */

export const SHORTEST = 2000;

/**
 * @param {Span} span
 * @param {number} factor below 1 comes nearer
 * @param {number} about the moment that stays where it is
 * @param {Span} bounds
 * @returns {Span}
 */
export function zoom(span, factor, about, bounds) {
  const length = Math.min(Math.max((span.to - span.from) * factor, SHORTEST), bounds.to - bounds.from);
  const part = span.to > span.from ? (about - span.from) / (span.to - span.from) : 0.5;
  const from = about - part * length;
  return within({ from, to: from + length }, bounds);
}

/**
 * @param {Span} span
 * @param {number} by milliseconds
 * @param {Span} bounds
 */
export const pan = (span, by, bounds) => within({ from: span.from + by, to: span.to + by }, bounds);

/**
 * @param {Span} span
 * @param {Span} bounds
 * @returns {Span}
 */
export function within(span, bounds) {
  const length = Math.min(span.to - span.from, bounds.to - bounds.from);
  const from = Math.min(Math.max(span.from, bounds.from), bounds.to - length);
  return { from: Math.round(from), to: Math.round(from + length) };
}

/**
 * A span with air on both sides, at least a minute long.
 * @param {Span} span
 * @param {number} [air]
 * @returns {Span}
 */
export function padded(span, air = 0.04) {
  const pad = Math.max((span.to - span.from) * air, 15_000);
  return { from: Math.round(span.from - pad), to: Math.round(span.to + pad) };
}

/**
 * @param {Span} span
 * @param {number} ms
 */
export const holds = (span, ms) => ms >= span.from && ms <= span.to;

/**
 * The span moved as little as needed to hold a moment.
 * @param {Span} span
 * @param {number} ms
 * @returns {Span}
 */
export function reach(span, ms) {
  if (holds(span, ms)) return span;
  const length = span.to - span.from;
  const from = ms < span.from ? ms - length * 0.15 : ms - length * 0.85;
  return { from: Math.round(from), to: Math.round(from + length) };
}
