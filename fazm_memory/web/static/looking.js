/**
 * Moving the window of time that strip and lanes share: nearer, further, along the day, or onto the session.
 */

import { dayBounds } from "./layout/days.js";
import { holds, padded, pan, within, zoom } from "./layout/span.js";
import { store } from "./store.js";

/** @typedef {import("./layout/span.js").Span} Span */

/** The day that is shown, from its first moment to its last. @returns {Span} */
export function bounds() {
  return dayBounds(/** @type {string} */ (store.state.day));
}

/** Look at a stretch of the day. @param {Span} span */
export function look(span) {
  if (store.state.day) store.set({ span: within(span, bounds()) });
}

/** Move on by a part of the window. @param {number} part */
export function shift(part) {
  const { span } = store.state;
  if (span) store.set({ span: pan(span, (span.to - span.from) * part, bounds()) });
}

/**
 * @param {number} factor below 1 comes nearer
 * @param {number} [about] the moment that stays where it is: the playhead's, or the middle
 */
export function zoomBy(factor, about) {
  const { span, ms } = store.state;
  if (!span) return;
  const middle = ms !== null && holds(span, ms) ? ms : (span.from + span.to) / 2;
  store.set({ span: zoom(span, factor, about ?? middle, bounds()) });
}

/** All of the session that lies in the day. */
export function fit() {
  const { info, day } = store.state;
  if (info && day) store.set({ span: spanOf(info, day, null) });
}

/**
 * The stretch of a day in which a session was at work.
 * @param {any} info
 * @param {string} day
 * @param {number|null} ms a moment it must hold
 * @returns {Span}
 */
export function spanOf(info, day, ms) {
  const whole = dayBounds(day);
  const from = Math.max(whole.from, Math.min(info.opened_ms, ms ?? Infinity));
  const to = Math.min(whole.to, Math.max(info.last_ms, ms ?? 0));
  const start = Math.min(from, to);
  return within(padded({ from: start, to: Math.max(to, start + 60_000) }), whole);
}
