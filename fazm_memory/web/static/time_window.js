/**
 * The time range that the day chart and the lanes share: set it, pan, zoom, fit the session.
 */

import { api } from "./api.js";
import { dayBounds } from "./lib/days.js";
import { clamp, contains, padded, pan, zoom } from "./lib/time_range.js";
import { store } from "./store.js";

/** @typedef {import("./lib/time_range.js").TimeRange} TimeRange */

/** The bounds of the day that is shown. @returns {TimeRange} */
export function currentDay() {
  return dayBounds(/** @type {string} */ (store.state.day));
}

/** @param {TimeRange} range */
export function showRange(range) {
  if (store.state.day) store.set({ range: clamp(range, currentDay()) });
}

/** Pan by a fraction of the visible range. @param {number} fraction */
export function panBy(fraction) {
  const { range } = store.state;
  if (range) store.set({ range: pan(range, (range.to - range.from) * fraction, currentDay()) });
}

/**
 * @param {number} factor below 1 zooms in
 * @param {number} [about] the moment that keeps its place; by default the playhead, or else the middle
 */
export function zoomBy(factor, about) {
  const { range, ms } = store.state;
  if (!range) return;
  const middle = ms !== null && contains(range, ms) ? ms : (range.from + range.to) / 2;
  store.set({ range: zoom(range, factor, about ?? middle, currentDay()) });
}

/** When something was last done in a session. It may be closed days later. @param {any} info */
export const lastWork = (info) => info.worked_ms ?? info.last_ms;

const LATE = 20; // events before a position among which some may be of a later time: they were recorded out of order

/** The position of the last event of a session that has a row, up to a time. @param {string} session @param {number} ms */
export async function lastUntil(session, ms) {
  const path = `sessions/${encodeURIComponent(session)}`;
  const { at } = await api.get(`${path}/position`, { ms });
  const { items } = await api.get(`${path}/events`, { to: at, dir: "desc", limit: LATE });
  const last = items.find((/** @type {any} */ item) => item.ms <= ms) || items[0];
  return last?.seq ?? Math.max(0, at - 1);
}

/** Show the whole session as far as it lies in the day. */
export function fitSession() {
  const { info, day } = store.state;
  if (info && day) store.set({ range: sessionRange(info, day, null) });
}

/**
 * The part of a day in which a session was active.
 * @param {any} info
 * @param {string} day
 * @param {number|null} ms a moment that the range must contain
 * @returns {TimeRange}
 */
export function sessionRange(info, day, ms) {
  const bounds = dayBounds(day);
  const from = Math.max(bounds.from, Math.min(info.opened_ms, ms ?? Infinity));
  const to = Math.min(bounds.to, Math.max(lastWork(info), ms ?? 0));
  const start = Math.min(from, to);
  return clamp(padded({ from: start, to: Math.max(to, start + 60_000) }), bounds);
}
