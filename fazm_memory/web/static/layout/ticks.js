/**
 * Where a time axis is marked: round moments of the user's own clock, as close as their labels allow.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const STEPS = [
  SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE,
  30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 28 * DAY,
]; // prettier-ignore

/**
 * @param {number} perPixel milliseconds a pixel stands for
 * @param {number} apart pixels a label needs
 */
export function chooseStep(perPixel, apart) {
  return STEPS.find((step) => step / perPixel >= apart) || STEPS[STEPS.length - 1];
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} width
 * @param {{apart?: number, offset?: (ms: number) => number}} [options] offset: the local clock's distance from UTC
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
  const clock = `${two(local.getUTCHours())}:${two(local.getUTCMinutes())}`;
  return step < MINUTE ? `${clock}:${two(local.getUTCSeconds())}` : clock;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param {number} number */
const two = (number) => String(number).padStart(2, "0");
