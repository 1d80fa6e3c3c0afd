/**
 * Pin: this belongs to what every next session is given. Light, so it is done at once and undone from the toast.
 */

import { api } from "../api.js";
import { changed, toast } from "./toast.js";

/**
 * @param {string} session
 * @param {number} seq
 * @param {boolean} pinned
 */
async function set(session, seq, pinned) {
  const told = await api.post(`sessions/${session}/pin`, { seq, pinned });
  changed(session, "context");
  return told;
}

/** @param {{session: string, seq: number, pinned?: boolean}} detail */
export async function pin({ session, seq, pinned = true }) {
  await set(session, seq, pinned);
  const words = pinned ? "Pinned: the next sessions are given this." : "No longer pinned.";
  toast(words, () => set(session, seq, !pinned));
}
