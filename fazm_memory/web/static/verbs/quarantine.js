/**
 * Quarantine: what is of doubtful origin leaves everything that sessions are given, until it is released.
 */

import { api } from "../api.js";
import { text } from "./inputs.js";
import { Sheet } from "./sheet.js";
import { changed, toast } from "./toast.js";

/**
 * @param {string} session
 * @param {Record<string, unknown>} body
 */
async function set(session, body) {
  const told = await api.post(`sessions/${session}/quarantine`, body);
  changed(session, "quarantine");
  return told;
}

/** @param {{session: string, seq?: number|null, lift?: boolean}} detail */
export async function quarantine({ session, seq = null, lift = false }) {
  const what = seq === null ? {} : { seq };
  if (lift) {
    await set(session, { ...what, lift: true });
    toast("Released from quarantine.", () => set(session, what));
    return;
  }
  const sheet = new Sheet({
    title: seq === null ? "Quarantine this session" : `Quarantine the event at position ${seq}`,
    about:
      seq === null
        ? "It stays in the log, marked, but no session is given it, no search finds it for an agent."
        : "It and what came of it in that turn, words and calls, stay in the log, marked, but no session is given them, no search finds them for an agent.",
    confirm: "Quarantine",
  });
  const reason = text("Reason", "");
  sheet.fill(reason.row);
  sheet.open(async () => {
    await set(session, { ...what, reason: reason.input.value.trim() || null });
    sheet.close();
    toast("Quarantined.", () => set(session, { ...what, lift: true }));
  });
}
