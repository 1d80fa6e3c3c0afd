/**
 * The time axis: idle periods, conversion between time and pixels, tick marks.
 *
 * A scale is a list of pieces. A folded piece stands for idle time and has a fixed width. The other pieces share
 * the remaining width in proportion to their length.
 */

/** @typedef {{from: number, to: number, folded: boolean}} Period */
/** @typedef {Period & {x: number, width: number}} Piece */
/** @typedef {{pieces: Piece[], width: number, x: (ms: number) => number, ms: (x: number) => number}} Scale */

const FOLD_WIDTH = 26;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * @param {Period[]} periods in order, without holes
 * @param {number} width
 * @param {number} [foldWidth]
 * @returns {Scale}
 */
export function timeScale(periods, width, foldWidth = FOLD_WIDTH) {
  const folds = periods.filter((period) => period.folded).length;
  const fold = folds ? Math.min(foldWidth, (width * 0.5) / folds) : 0;
  const open = periods.reduce((sum, period) => sum + (period.folded ? 0 : period.to - period.from), 0);
  const perMs = open > 0 ? (width - folds * fold) / open : 0;
  let x = 0;
  const pieces = periods.map((period) => {
    const piece = { ...period, x, width: period.folded ? fold : (period.to - period.from) * perMs };
    x += piece.width;
    return piece;
  });
  return { pieces, width, x: (ms) => xOf(pieces, ms), ms: (at) => msOf(pieces, at) };
}

/** @param {number} from @param {number} to @param {number} width */
export const linearScale = (from, to, width) => timeScale([{ from, to, folded: false }], width);

/**
 * @param {Piece[]} pieces
 * @param {number} ms
 */
function xOf(pieces, ms) {
  if (!pieces.length) return 0;
  const piece = pieces.find((each) => ms < each.to) || pieces[pieces.length - 1];
  const length = piece.to - piece.from;
  const fraction = length > 0 ? (ms - piece.from) / length : 0;
  return piece.x + fraction * piece.width;
}

/**
 * @param {Piece[]} pieces
 * @param {number} x
 */
function msOf(pieces, x) {
  if (!pieces.length) return 0;
  const piece = pieces.find((each) => x < each.x + each.width) || pieces[pieces.length - 1];
  const fraction = piece.width > 0 ? (x - piece.x) / piece.width : 0;
  return piece.from + fraction * (piece.to - piece.from);
}

/**
 * Merge overlapping ranges into the periods in which any session was active.
 * @param {{from: number, to: number}[]} ranges
 * @returns {{from: number, to: number}[]}
 */
export function activePeriods(ranges) {
  /** @type {{from: number, to: number}[]} */
  const merged = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = merged[merged.length - 1];
    if (last && range.from <= last.to) last.to = Math.max(last.to, range.to);
    else merged.push({ from: range.from, to: range.to });
  }
  return merged;
}

/**
 * Fold long idle time between sessions. Idle time inside a session keeps its length.
 * @param {{from: number, to: number}[]} ranges of the sessions
 * @param {number} from
 * @param {number} to
 * @param {{least?: number, margin?: number}} [options] least: the shortest idle time to fold; margin: kept at both ends
 * @returns {Period[]}
 */
export function foldIdle(ranges, from, to, { least = 30 * MINUTE, margin = 2 * MINUTE } = {}) {
  /** @type {Period[]} */
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
  for (const range of activePeriods(ranges)) {
    if (range.to <= from || range.from >= to) continue;
    if (range.from > at) idle(range.from, at === from ? 0 : margin, margin);
    push(Math.min(to, Math.max(range.to, at)), false);
  }
  if (at < to) {
    if (out.length) idle(to, margin, 0);
    else push(to, false);
  }
  return out;
}

const STEPS = [
  SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE,
  30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 28 * DAY,
]; // prettier-ignore

/**
 * The smallest step whose labels do not overlap.
 * @param {number} perPixel milliseconds per pixel
 * @param {number} apart pixels between labels
 */
export function chooseStep(perPixel, apart) {
  return STEPS.find((step) => step / perPixel >= apart) || STEPS[STEPS.length - 1];
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} width
 * @param {{apart?: number, offset?: (ms: number) => number}} [options] offset: of local time from UTC
 * @returns {{ms: number, label: string}[]}
 */
export function ticks(from, to, width, { apart = 76, offset = localOffset } = {}) {
  if (!(to > from) || width <= 0) return [];
  const step = chooseStep((to - from) / width, apart);
  const out = [];
  const shift = offset(from);
  for (let local = Math.ceil((from + shift) / step) * step; out.length < 400; local += step) {
    const ms = local - offset(local - shift);
    if (ms > to) break;
    if (ms >= from) out.push({ ms, label: label(ms, step, offset) });
  }
  return out;
}

/** @param {number} ms */
export const localOffset = (ms) => -new Date(ms).getTimezoneOffset() * MINUTE;

/**
 * @param {number} ms
 * @param {number} step
 * @param {(ms: number) => number} offset
 */
function label(ms, step, offset) {
  const local = new Date(ms + offset(ms));
  if (step >= DAY) return `${local.getUTCDate()} ${MONTHS[local.getUTCMonth()]}`;
  const clock = `${twoDigits(local.getUTCHours())}:${twoDigits(local.getUTCMinutes())}`;
  return step < MINUTE ? `${clock}:${twoDigits(local.getUTCSeconds())}` : clock;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param {number} number */
const twoDigits = (number) => String(number).padStart(2, "0");
