/**
 * Idle time: what lies between sessions is folded, what lies inside one is shown as long as it was.
 */

/** @typedef {import("./time_scale.js").Stretch} Stretch */

const MINUTE = 60_000;

/**
 * Merge overlapping spans into the stretches in which any session was at work.
 * @param {{from: number, to: number}[]} spans
 * @returns {{from: number, to: number}[]}
 */
export function busy(spans) {
  /** @type {{from: number, to: number}[]} */
  const merged = [];
  for (const span of [...spans].sort((one, other) => one.from - other.from)) {
    const last = merged[merged.length - 1];
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ from: span.from, to: span.to });
  }
  return merged;
}

/**
 * @param {{from: number, to: number}[]} spans the sessions' own
 * @param {number} from
 * @param {number} to
 * @param {{least?: number, margin?: number}} [options] fold what is idle for at least this long, but for a margin
 * @returns {Stretch[]}
 */
export function foldIdle(spans, from, to, { least = 30 * MINUTE, margin = 2 * MINUTE } = {}) {
  /** @type {Stretch[]} */
  const out = [];
  let at = from;
  const push = (/** @type {number} */ end, /** @type {boolean} */ folded) => {
    if (end <= at) return;
    const last = out[out.length - 1];
    if (last && last.folded === folded) last.to = end;
    else out.push({ from: at, to: end, folded });
    at = end;
  };
  const idle = (/** @type {number} */ end, /** @type {number} */ before, /** @type {number} */ after) => {
    if (end - at < least) return push(end, false);
    push(at + before, false);
    push(end - after, true);
    push(end, false);
  };
  for (const span of busy(spans)) {
    if (span.to <= from || span.from >= to) continue;
    if (span.from > at) idle(span.from, at === from ? 0 : margin, margin);
    push(Math.min(to, Math.max(span.to, at)), false);
  }
  if (at < to) {
    if (out.length) idle(to, margin, 0);
    else push(to, false);
  }
  return out;
}
