/**
 * Forgetting cannot be undone, so it is counted first and confirmed by a tick that says so.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { counted } from "../layout/words.js";
import { check, when } from "./inputs.js";
import { Sheet } from "./sheet.js";
import { changed, toast } from "./toast.js";

const ABOUT = "What it held goes from the log, from search, from what sessions are given and from kept files. That it happened stays.";

/** @param {{session: string, seq: number}} detail */
export function forget({ session, seq }) {
  const whole = seq === undefined || seq === null;
  const sheet = new Sheet({
    title: whole ? "Forget this session" : `Forget the event at position ${seq}`,
    about: ABOUT,
    confirm: "Forget",
    danger: true,
  });
  const body = whole ? { session } : { session, seqs: [seq] };
  counting(sheet, session, () => body);
}

/** @param {{session?: string|null, since?: number|null, until?: number|null}} detail */
export function forgetRange({ session = null, since = null, until = null }) {
  const sheet = new Sheet({ title: "Forget a stretch of time", about: ABOUT, confirm: "Forget", danger: true });
  const from = when("From", since);
  const to = when("Until", until);
  const body = () => ({
    ...(session ? { session } : {}),
    since: moment(from.input.value),
    until: moment(to.input.value),
  });
  counting(sheet, session, body, [from, to]);
}

/** @param {string} local as an input of type datetime-local gives it */
const moment = (local) => (local ? new Date(local).toISOString() : null);

/**
 * Count what would go, again after each change of the range; only a count that was shown can be confirmed.
 * @param {Sheet} sheet
 * @param {string|null} session
 * @param {() => Record<string, unknown>} body
 * @param {{input: HTMLInputElement, row: HTMLElement}[]} [range]
 */
function counting(sheet, session, body, range = []) {
  const told = h("p", { "aria-live": "polite" }, "Counting…");
  const sure = check("I understand that this cannot be undone", false);
  let found = 0;
  const judge = () => sheet.ready(found > 0 && sure.input.checked);
  const count = async () => {
    found = 0;
    judge();
    if (range.some((one) => !one.input.value)) {
      told.textContent = "Say from when until when.";
      return;
    }
    try {
      const would = await api.post("forget", { ...body(), dry_run: true });
      found = would.events;
      told.textContent = found
        ? `${counted(would.events, "event")} of ${counted(would.sessions, "session")} would be forgotten.`
        : "There is nothing to forget there.";
    } catch (error) {
      told.textContent = "";
      sheet.say(error);
    }
    judge();
  };
  sure.input.addEventListener("change", judge);
  for (const one of range) one.input.addEventListener("change", count);
  sheet.fill(...range.map((one) => one.row), told, sure.row);
  sheet.open(async () => {
    const done = await api.post("forget", { ...body(), dry_run: false });
    sheet.close();
    changed(session, "forgotten");
    toast(`${counted(done.events, "event")} forgotten.`);
  });
  return count();
}
