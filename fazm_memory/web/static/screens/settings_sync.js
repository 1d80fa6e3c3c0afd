/**
 * The card "Other machines": whether sync works, what is wrong, the machines, and file versions.
 */

import { api } from "../api.js";
import { h, withCommands } from "../dom.js";
import { ago, byteSize, plural } from "../lib/format.js";

/**
 * @param {any} sync
 * @param {(change: Promise<unknown>, confirmation: string) => void} apply
 */
export function syncCard(sync, apply) {
  if (!sync) return null;
  const title = "Other machines";
  const children = sync.active ? activeCard(sync, apply) : [offNote()];
  return h("section", { class: "card", "aria-label": title }, h("h3", null, title), children);
}

function offNote() {
  const text =
    "This machine syncs with no other. `fazm-memory sync init --folder DIR` makes one memory of several machines, end-to-end encrypted.";
  return h("p", { class: "note" }, withCommands(text));
}

/**
 * @param {any} sync
 * @param {(change: Promise<unknown>, confirmation: string) => void} apply
 */
function activeCard(sync, apply) {
  const post = (/** @type {Record<string, unknown>} */ body, /** @type {string} */ text) =>
    apply(api.post("settings/sync", body), text);
  const shares = sync.files?.on;
  return [
    h("p", null, statePill(sync), ` ${stateText(sync)}`),
    ...[sync.error, ...(sync.problems || [])].filter(Boolean).map((text) => h("p", { class: "note warn" }, text)),
    lateNote(sync),
    h("ul", { class: "list" }, sync.devices.map(deviceItem)),
    h("p", { class: "note" }, filesText(sync.files)),
    sync.folders_unclear?.length ? h("p", { class: "note" }, withCommands(unclearText(sync.folders_unclear))) : null,
    h("p", { class: "note" }, metered(sync)),
    h(
      "div",
      { class: "buttons" },
      button("Sync now", "sync", () => post({}, "Synced")),
      button(shares ? "Stop sharing file versions" : "Share file versions", "sync files", () =>
        post({ files: !shares }, shares ? "File versions are no longer shared" : "File versions are shared"),
      ),
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
  return h("span", { class: "pill good" }, "in sync");
}

/** @param {any} sync */
function stateText(sync) {
  const last = sync.last_ok ? `Last worked ${ago(Date.parse(sync.last_ok), Date.now())}` : "It has not worked yet";
  return `${last}, as “${sync.name}” in ${sync.place}.`;
}

/** @param {any} sync */
function lateNote(sync) {
  const late = sync.forgotten_not_yet_by || [];
  if (!late.length) return null;
  return h("p", { class: "note warn" }, `What was forgotten here is not yet forgotten on: ${late.join(", ")}.`);
}

/** @param {any} device */
function deviceItem(device) {
  const state = device.this ? "this machine" : device.removed ? "removed" : device.left ? "left" : "";
  const seen = !device.this && device.synced_at ? `synced ${ago(Date.parse(device.synced_at), Date.now())}` : "";
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
  );
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
