/**
 * The card "Other machines": make or join a vault, whether sync works, what is wrong, the machines, what is shared.
 */

import { api } from "../api.js";
import { CommandDialog, textInput } from "../commands/dialog.js";
import { now } from "../clock.js";
import { h, withCommands } from "../dom.js";
import { ago, byteSize, plural } from "../lib/format.js";

/** @typedef {(change: Promise<unknown>, confirmation: string) => void} Apply */

const POLL_MS = 1500;
const PLACE = "Folder that the machines share, or s3:// URL";
const PLACE_HINT = { placeholder: "~/Sync/memory", required: true };

/** @param {Record<string, unknown>} body */
const post = (body) => api.post("settings/sync", body);

/**
 * @param {any} sync
 * @param {boolean} companion whether the companion runs and will do the first round
 * @param {Apply} apply
 */
export function syncCard(sync, companion, apply) {
  if (!sync) return null;
  const title = "Other machines";
  const children = sync.active ? activeCard(sync, apply) : offCard(sync.error, companion, apply);
  return h("section", { class: "card", "aria-label": title }, h("h3", null, title), children);
}

/** @param {string | null} error why it stopped, if it was removed @param {boolean} companion @param {Apply} apply */
function offCard(error, companion, apply) {
  const text =
    "This machine syncs with no other. Several machines can share one memory, end-to-end encrypted, over a folder that something syncs (iCloud Drive, Syncthing, a NAS) or an object store.";
  return [
    error ? h("p", { class: "note warn" }, error) : null,
    h("p", { class: "note" }, text),
    h(
      "div",
      { class: "buttons" },
      button("Set up sync…", "sync init", () => openInit(companion, apply)),
      button("Join another machine…", "sync join", () => openJoin(companion, apply)),
    ),
  ];
}

/** Redraw the settings, and do the first round if nobody else will. @param {boolean} companion @param {Apply} apply @param {string} text */
const begin = (companion, apply, text) => apply(companion ? Promise.resolve() : post({}), text);

/** @param {boolean} companion @param {Apply} apply */
function openInit(companion, apply) {
  const about = "Makes an encrypted vault there, with this machine as its first.";
  const dialog = new CommandDialog({ title: "Set up sync", about, confirm: "Make the vault" });
  const place = textInput(PLACE, "", PLACE_HINT);
  const name = textInput("Name of this machine (optional)", "");
  dialog.fill(place.row, name.row);
  dialog.open(async () => {
    const { recovery_key: key } = await post({ do: "init", place: place.input.value, name: name.input.value });
    dialog.close();
    begin(companion, apply, "The vault is made");
    showKey(key);
  });
}

/** @param {string} key */
function showKey(key) {
  const about = "It opens everything, on any machine. It is shown only now and stored nowhere. Write it down.";
  const dialog = new CommandDialog({ title: "Recovery key", about });
  dialog.fill(h("p", null, h("code", { "data-testid": "recovery-key" }, key)));
  dialog.open();
}

/** @param {boolean} companion @param {Apply} apply */
function openJoin(companion, apply) {
  const about = "Enter the recovery key, or the code that “Add a machine” shows on a machine of the vault.";
  const dialog = new CommandDialog({ title: "Join another machine", about, confirm: "Join" });
  const place = textInput(PLACE, "", PLACE_HINT);
  const key = textInput("Recovery key or code", "", { required: true });
  const name = textInput("Name of this machine (optional)", "");
  dialog.fill(place.row, key.row, name.row);
  dialog.open(async () => {
    const where = { place: place.input.value, name: name.input.value };
    const secret = key.input.value.trim();
    if (isCode(secret)) await joinByCode(dialog, { ...where, code: secret }, companion, apply);
    else {
      await post({ do: "join", ...where, key: secret });
      dialog.close();
      begin(companion, apply, "Joined");
    }
  });
}

/** A code has 16 letters and digits, a recovery key 56. @param {string} text */
const isCode = (text) => text.replace(/[^a-z0-9]/gi, "").length <= 20;

/** @param {CommandDialog} dialog @param {Record<string, string>} body @param {boolean} companion @param {Apply} apply */
async function joinByCode(dialog, body, companion, apply) {
  await post({ do: "ask", ...body });
  dialog.fill(h("p", { class: "note", "aria-busy": "true" }, "Waiting for the other machine…"));
  const { fingerprint } = await poll(dialog, { do: "answer" }, (found) => found.fingerprint);
  dialog.fill(...fingerprintRows(fingerprint, "the other machine"));
  dialog.act = async () => {
    await poll(dialog, { do: "accepted" }, (found) => found.accepted);
    await post({ do: "finish" });
    dialog.close();
    begin(companion, apply, "Joined");
  };
}

/** @param {Apply} apply */
async function openPair(apply) {
  const about = "On the other machine choose “Join another machine” and enter this code, with the folder as it is called there.";
  const dialog = new CommandDialog({ title: "Add a machine", about, confirm: "They are the same" });
  dialog.open();
  dialog.setReady(false);
  try {
    const { code } = await post({ do: "pair" });
    const waiting = h("p", { class: "note", "aria-busy": "true" }, "Waiting for the other machine…");
    dialog.fill(h("p", null, h("code", { "data-testid": "pair-code" }, code)), waiting);
    const { request } = await poll(dialog, { do: "request", code }, (found) => found.request);
    dialog.fill(...fingerprintRows(request.fingerprint, `“${request.name}”`));
    dialog.setReady(true);
    dialog.act = async () => {
      await post({ do: "confirm", code, fingerprint: request.fingerprint });
      dialog.close();
      apply(Promise.resolve(), `“${request.name}” may join now`);
    };
  } catch (error) {
    dialog.showError(error);
  }
}

/** @param {string} fingerprint @param {string} who */
function fingerprintRows(fingerprint, who) {
  return [
    h("p", null, `Fingerprint with ${who}. Confirm only if both machines show the same:`),
    h("p", null, h("code", { "data-testid": "fingerprint" }, fingerprint)),
  ];
}

/**
 * Ask until there is an answer. Never resolves once the dialog is closed.
 * @param {CommandDialog} dialog
 * @param {Record<string, unknown>} body
 * @param {(found: any) => unknown} ready
 * @returns {Promise<any>}
 */
async function poll(dialog, body, ready) {
  for (;;) {
    const found = await post(body);
    if (ready(found)) return found;
    await new Promise((resolve) => window.setTimeout(resolve, POLL_MS));
    if (!dialog.element.open) await new Promise(() => {});
  }
}

/** @param {any} sync @param {Apply} apply */
function openRename(sync, apply) {
  const dialog = new CommandDialog({ title: "Rename this machine", confirm: "Rename" });
  const name = textInput("Name", sync.name, { required: true });
  dialog.fill(name.row);
  dialog.open(async () => {
    const change = post({ do: "rename", name: name.input.value });
    await change;
    dialog.close();
    apply(change, "Renamed");
  });
}

/** @param {any} device @param {Apply} apply */
function openRemove(device, apply) {
  const about = "It keeps what it has and gets nothing new. The keys are changed.";
  const dialog = new CommandDialog({ title: `Remove “${device.name}”`, about, confirm: "Remove", danger: true });
  dialog.open(async () => {
    const change = post({ do: "remove", device: device.id });
    await change;
    dialog.close();
    apply(change, `“${device.name}” is removed`);
  });
}

/** @param {Apply} apply */
function openLeave(apply) {
  const about = "What was synced stays here and on the other machines. You can join again with the recovery key.";
  const dialog = new CommandDialog({ title: "Stop syncing this machine", about, confirm: "Leave", danger: true });
  dialog.open(async () => {
    const change = post({ do: "leave" });
    await change;
    dialog.close();
    apply(change, "This machine syncs no more");
  });
}

/**
 * @param {any} sync
 * @param {Apply} apply
 */
function activeCard(sync, apply) {
  const change = (/** @type {Record<string, unknown>} */ body, /** @type {string} */ text) => apply(post(body), text);
  const files = sync.files?.on;
  const transcripts = sync.transcripts?.on;
  return [
    h("p", null, statePill(sync), ` ${stateText(sync)}`),
    sync.progress ? h("p", { class: "note" }, progressText(sync.progress)) : null,
    ...[sync.error, ...(sync.problems || [])].filter(Boolean).map((text) => h("p", { class: "note warn" }, text)),
    lateNote(sync),
    h("ul", { class: "list" }, sync.devices.map((/** @type {any} */ device) => deviceItem(device, sync, apply))),
    h("p", { class: "note" }, filesText(sync.files)),
    h("p", { class: "note" }, transcriptsText(sync.transcripts)),
    sync.folders_unclear?.length ? h("p", { class: "note" }, withCommands(unclearText(sync.folders_unclear))) : null,
    h("p", { class: "note" }, metered(sync)),
    h(
      "div",
      { class: "buttons" },
      button("Sync now", "sync", () => change({}, "Synced")),
      button("Add a machine…", "sync pair", () => void openPair(apply)),
      button(files ? "Stop sharing file versions" : "Share file versions", "sync files", () =>
        change({ files: !files }, files ? "File versions are no longer shared" : "File versions are shared"),
      ),
      button(transcripts ? "Stop sharing transcripts" : "Share transcripts", "sync transcripts", () =>
        change(
          { transcripts: !transcripts },
          transcripts ? "Transcripts are no longer shared" : "Transcripts are shared",
        ),
      ),
      button("Leave…", "sync leave", () => openLeave(apply)),
    ),
  ];
}

/** @param {string} label @param {string} focus @param {() => void} onclick */
function button(label, focus, onclick) {
  return h("button", { class: "btn", type: "button", "data-focus": focus, onclick }, label);
}

/** @param {any} sync */
function statePill(sync) {
  if (sync.error) return h("span", { class: "pill bad" }, "not working");
  if (sync.problems?.length) return h("span", { class: "pill warn" }, "problems");
  if (sync.progress || !sync.last_ok) return h("span", { class: "pill" }, "syncing");
  return h("span", { class: "pill good" }, "in sync");
}

/** @param {any} sync */
function stateText(sync) {
  const last = sync.last_ok ? `Last worked ${ago(Date.parse(sync.last_ok), now())}` : "The first sync is not done yet";
  return `${last}, as “${sync.name}” in ${sync.place}.`;
}

/** @param {any} sync */
function lateNote(sync) {
  const late = sync.forgotten_not_yet_by || [];
  if (!late.length) return null;
  return h("p", { class: "note warn" }, `What was forgotten here is not yet forgotten on: ${late.join(", ")}.`);
}

/** @param {any} device @param {any} sync @param {Apply} apply */
function deviceItem(device, sync, apply) {
  const state = device.this ? "this machine" : device.removed ? "removed" : device.left ? "left" : "";
  const seen = !device.this && device.synced_at ? `synced ${ago(Date.parse(device.synced_at), now())}` : "";
  const late = device.this ? 0 : device.uploads - device.read;
  const text = [seen, late > 0 ? `${plural(late, "upload")} not read yet` : ""].filter(Boolean).join(", ");
  return h(
    "li",
    { class: "setting" },
    h(
      "div",
      null,
      h("p", null, h("strong", null, device.name), " ", state ? h("span", { class: "pill" }, state) : null),
      text ? h("p", { class: "note" }, text) : null,
    ),
    device.this ? quiet("Rename…", `Rename ${device.name}`, () => openRename(sync, apply)) : null,
    device.this || device.removed ? null : quiet("Remove…", `Remove ${device.name}`, () => openRemove(device, apply)),
  );
}

/** @param {string} label @param {string} name @param {() => void} onclick */
function quiet(label, name, onclick) {
  return h("button", { class: "btn quiet", type: "button", "aria-label": name, "data-focus": name, onclick }, label);
}

/** @param {any} progress */
function progressText({ doing, what, done, total }) {
  return `${doing === "uploading" ? "Uploading" : "Receiving"}: ${done.toLocaleString()} of ${plural(total, what)}.`;
}

/** @param {any} shared */
function transcriptsText(shared) {
  if (!shared?.on) return "Agents’ own transcripts stay on this machine.";
  const waiting = shared.to_fetch ? `, ${shared.to_fetch} to fetch` : "";
  return `${plural(shared.transcripts, "transcript")} shared, ${byteSize(shared.bytes) || "0 bytes"} of ${byteSize(shared.limit)}${waiting}.`;
}

/** @param {any} files */
function filesText(files) {
  if (!files?.on) return "Contents of files stay on this machine.";
  const waiting = files.to_fetch ? `, ${plural(files.to_fetch, "version")} to fetch` : "";
  return `${plural(files.versions, "file version")} shared, ${byteSize(files.bytes) || "0 bytes"} of ${byteSize(files.limit)}${waiting}.`;
}

/** @param {string[]} folders */
function unclearText(folders) {
  return `${plural(folders.length, "folder")} of other machines not found here: \`fazm-memory sync folders\`.`;
}

/** @param {any} sync */
function metered({ totals = {} }) {
  const requests = ["puts", "gets", "lists", "deletes"].reduce((sum, name) => sum + (totals[name] || 0), 0);
  const sent = byteSize(totals.sent || 0) || "0 bytes";
  const received = byteSize(totals.received || 0) || "0 bytes";
  return `${plural(requests, "request")}, ${sent} sent, ${received} received.`;
}
