/**
 * How the page says what a retention policy keeps, and what a clean-up by it would give back.
 */

import { dayName, dayOf, dayShift } from "./days.js";
import { counted, size } from "./words.js";

/**
 * @typedef {object} Effect what a policy would let go, or let go
 * @property {number} events
 * @property {number} bytes
 * @property {number} sessions
 * @property {number} versions of files, that lose their contents
 * @property {number} store_bytes the whole log
 * @property {Record<string, {events: number, bytes: number}>} by_kind
 */

/** Whether anything would be lost for good. @param {Effect} effect */
export const loses = (effect) => effect.events > 0 || effect.versions > 0;

/** @param {Effect} effect */
export function whatGoes(effect) {
  const events = `details of ${counted(effect.events, "event")} of ${counted(effect.sessions, "session")}`;
  const versions = `the contents of ${counted(effect.versions, "old version")} of files`;
  return [effect.events ? events : "", effect.versions ? versions : ""].filter(Boolean).join(", and ");
}

/** @param {Effect} effect */
export function givesBack(effect) {
  if (!loses(effect)) return "A clean-up today would give back nothing: nothing here is old enough.";
  if (!effect.events) return `A clean-up today would let go of ${whatGoes(effect)}.`;
  const room = `${size(effect.bytes)} of ${size(effect.store_bytes)}`;
  return `A clean-up today would give back ${room}: ${whatGoes(effect)}.`;
}

/**
 * One kind's line: back to which day it is kept, and what of it would go today.
 * @param {string} name
 * @param {number|null} days
 * @param {Effect|null} effect null while it is worked out
 * @param {number} now
 */
export function kindLine(name, days, effect, now) {
  const today = dayOf(now);
  const kept = days ? `kept back to ${dayName(dayShift(today, -days), today)}` : "kept for good";
  const going = effect ? goingOf(name, effect) : "";
  return going ? `${kept} · ${going} would go today` : kept;
}

/** @param {string} name @param {Effect} effect */
function goingOf(name, effect) {
  if (name === "versions") return effect.versions ? counted(effect.versions, "version") : "";
  const part = effect.by_kind[name];
  return part ? `${counted(part.events, "event")}, ${size(part.bytes)}` : "";
}

/** @param {number|null} days */
export const ageWords = (days) => (days ? counted(days, "day") : "for good");
