/**
 * Commands on events and on what is recorded: pin, quarantine, forget, exclude.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { plural } from "../lib/format.js";
import { CommandDialog, checkbox, select, textInput, timeInput } from "./dialog.js";
import { notifyChange, toast } from "./toast.js";

/** @param {string} session @param {number} seq @param {boolean} pinned */
async function setPinned(session, seq, pinned) {
  await api.post(`sessions/${session}/pin`, { seq, pinned });
  notifyChange(session, "context");
}

/** @param {{session: string, seq: number, pinned?: boolean}} target */
export async function pin({ session, seq, pinned = true }) {
  await setPinned(session, seq, pinned);
  const text = pinned ? "Pinned. Every new session will get this." : "Unpinned.";
  toast(text, () => setPinned(session, seq, !pinned));
}

/** @param {string} session @param {Record<string, unknown>} body */
async function setQuarantine(session, body) {
  await api.post(`sessions/${session}/quarantine`, body);
  notifyChange(session, "quarantine");
}

/** @param {{session: string, seq?: number|null, lift?: boolean}} target */
export async function quarantine({ session, seq = null, lift = false }) {
  const target = seq === null ? {} : { seq };
  if (lift) {
    await setQuarantine(session, { ...target, lift: true });
    toast("Released from quarantine.", () => setQuarantine(session, target));
    return;
  }
  const dialog = new CommandDialog({
    title: seq === null ? "Quarantine this session" : `Quarantine the event at position ${seq}`,
    about:
      seq === null
        ? "The session stays in the log, marked. No agent gets it as context or finds it by search."
        : "The event and everything that followed from it in the same turn stay in the log, marked. No agent gets them as context or finds them by search.",
    confirm: "Quarantine",
  });
  const reason = textInput("Reason", "");
  dialog.fill(reason.row);
  dialog.open(async () => {
    await setQuarantine(session, { ...target, reason: reason.input.value.trim() || null });
    dialog.close();
    toast("Quarantined.", () => setQuarantine(session, { ...target, lift: true }));
  });
}

const FORGET_TEXT =
  "Removes the content from the log, from search, from the context and from the stored file versions. A record that the event happened remains.";

/** @param {{session: string, seq: number}} target */
export function forget({ session, seq }) {
  const whole = seq === undefined || seq === null;
  const dialog = new CommandDialog({
    title: whole ? "Forget this session" : `Forget the event at position ${seq}`,
    about: FORGET_TEXT,
    confirm: "Forget",
    danger: true,
  });
  const body = whole ? { session } : { session, seqs: [seq] };
  return countAndForget(dialog, session, () => body);
}

/** @param {{session?: string|null, since?: number|null, until?: number|null}} target */
export function forgetRange({ session = null, since = null, until = null }) {
  const dialog = new CommandDialog({ title: "Forget a time range", about: FORGET_TEXT, confirm: "Forget", danger: true });
  const from = timeInput("From", since);
  const to = timeInput("Until", until);
  const body = () => ({
    ...(session ? { session } : {}),
    since: toIso(from.input.value),
    until: toIso(to.input.value),
  });
  return countAndForget(dialog, session, body, [from, to]);
}

/** @param {string} local value of a datetime-local input */
const toIso = (local) => (local ? new Date(local).toISOString() : null);

/**
 * Forgetting cannot be undone. Count the events first, and again after each change of the range. Confirming needs a
 * count and a tick.
 * @param {CommandDialog} dialog
 * @param {string|null} session
 * @param {() => Record<string, unknown>} body
 * @param {{input: HTMLInputElement, row: HTMLElement}[]} [range]
 */
function countAndForget(dialog, session, body, range = []) {
  const status = h("p", { "aria-live": "polite" }, "Counting…");
  const understood = checkbox("I understand that this cannot be undone", false);
  let found = 0;
  const update = () => dialog.setReady(found > 0 && understood.input.checked);
  const count = async () => {
    found = 0;
    update();
    if (range.some(({ input }) => !input.value)) {
      status.textContent = "Choose a start and an end.";
      return;
    }
    try {
      const { events, sessions } = await api.post("forget", { ...body(), dry_run: true });
      found = events;
      status.textContent = found
        ? `${plural(events, "event")} in ${plural(sessions, "session")} will be forgotten.`
        : "There is nothing to forget in this range.";
    } catch (error) {
      status.textContent = "";
      dialog.showError(error);
    }
    update();
  };
  understood.input.addEventListener("change", update);
  for (const { input } of range) input.addEventListener("change", count);
  dialog.fill(...range.map(({ row }) => row), status, understood.row);
  dialog.open(async () => {
    const { events, remaining } = await api.post("forget", { ...body(), dry_run: false });
    dialog.close();
    notifyChange(session, "forgotten");
    const left = remaining.map((/** @type {any} */ { what, remove }) => ` Not deleted: ${what}. ${remove}`);
    toast(`${plural(events, "event")} forgotten.${left.join("")}`);
  });
  return count();
}

/** @param {Record<string, string>} exclusion @param {"add"|"remove"} change */
export async function setExclusion(exclusion, change) {
  await api.post("exclusions", { [change]: exclusion });
  notifyChange(null, "exclusions");
}

/** @param {{app?: string|null, folder?: string|null}} target */
export function exclude({ app = null, folder = null }) {
  const dialog = new CommandDialog({
    title: "Exclude from recording",
    about: "Nothing from it will be recorded. Events recorded so far stay until you forget them.",
    confirm: "Exclude",
  });
  const kind = select("What", [["folder", "A folder"], ["app", "An app"]], app ? "app" : "folder"); // prettier-ignore
  const name = textInput("Name", app || folder || "", { placeholder: "/full/path, or the name of the app" });
  dialog.fill(kind.row, name.row, h("p", { class: "note" }, "You can undo this in Settings."));
  dialog.open(async () => {
    const value = name.input.value.trim();
    const exclusion = { [kind.input.value]: value };
    await setExclusion(exclusion, "add");
    dialog.close();
    toast(`${value} is now excluded.`, () => setExclusion(exclusion, "remove"));
  });
  const update = () => dialog.setReady(Boolean(name.input.value.trim()));
  name.input.addEventListener("input", update);
  update();
}
