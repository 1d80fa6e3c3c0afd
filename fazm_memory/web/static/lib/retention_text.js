/**
 * Texts about a retention policy: what it keeps and what a clean-up would free.
 */

import { addDays, dayName, dayOf } from "./days.js";
import { byteSize, plural } from "./format.js";

/**
 * @typedef {object} Effect what a policy deletes
 * @property {number} events
 * @property {number} bytes
 * @property {number} sessions
 * @property {number} versions of files that lose their content
 * @property {number} store_bytes size of the whole log
 * @property {Record<string, {events: number, bytes: number}>} by_kind
 */

/** @param {Effect} effect */
export const deletesAnything = (effect) => effect.events > 0 || effect.versions > 0;

/** @param {Effect} effect */
export function deletedText(effect) {
  const events = `details of ${plural(effect.events, "event")} in ${plural(effect.sessions, "session")}`;
  const versions = `${plural(effect.versions, "old file version")}`;
  return [effect.events ? events : "", effect.versions ? versions : ""].filter(Boolean).join(" and ");
}

/** @param {Effect} effect */
export function freedText(effect) {
  if (!deletesAnything(effect)) return "A clean-up today would free nothing. Nothing is old enough.";
  if (!effect.events) return `A clean-up today would delete ${deletedText(effect)}.`;
  const room = `${byteSize(effect.bytes)} of ${byteSize(effect.store_bytes)}`;
  return `A clean-up today would free ${room}: ${deletedText(effect)}.`;
}

/**
 * The line of one kind: since when it is kept and what a clean-up would delete.
 * @param {string} name
 * @param {number|null} days
 * @param {Effect|null} effect null while it is calculated
 * @param {number} now
 */
export function kindLine(name, days, effect, now) {
  const today = dayOf(now);
  const kept = days ? `kept since ${dayName(addDays(today, -days), today)}` : "kept forever";
  const expired = effect ? expiredText(name, effect) : "";
  return expired ? `${kept} · ${expired} to delete` : kept;
}

/** @param {string} name @param {Effect} effect */
function expiredText(name, effect) {
  if (name === "versions") return effect.versions ? plural(effect.versions, "version") : "";
  const part = effect.by_kind[name];
  return part ? `${plural(part.events, "event")}, ${byteSize(part.bytes)}` : "";
}

/** @param {number|null} days */
export const ageText = (days) => (days ? plural(days, "day") : "forever");

/**
 * What the first clean-up will delete, and when.
 * @param {{due: string, events: number, sessions: number}} announced
 */
export const announcedText = (announced) =>
  `On ${announced.due.slice(0, 10)} the first clean-up deletes details of ${plural(announced.events, "event")} of ` +
  `${plural(announced.sessions, "session")}.`;
