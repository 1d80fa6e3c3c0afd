/**
 * What this machine allows and holds: permissions, watched folders, storage.
 */

import { h, prose } from "../dom.js";
import { capital, counted, sentence, size } from "../layout/words.js";

/** @type {Record<string, string>} */
const TONES = { granted: "good", missing: "warn" };

/** @param {any[]|null} permissions */
export function permissionsCard(permissions) {
  if (!permissions) return null;
  return h(
    "section",
    { class: "card", "aria-label": "Permissions" },
    h("h3", null, "Permissions"),
    permissions.length
      ? h("ul", { class: "list" }, permissions.map(permission))
      : h("p", { class: "note" }, "This system asks for none."),
  );
}

/** @param {any} one */
function permission(one) {
  return h(
    "li",
    { class: "setting" },
    h("div", null, h("p", null, h("strong", null, capital(one.name)), " ", h("span", { class: `pill ${TONES[one.state] || ""}` }, one.state)), one.why ? h("p", { class: "note" }, prose(sentence(one.why))) : null),
  );
}

/** @param {any[]|null} roots */
export function rootsCard(roots) {
  if (!roots) return null;
  return h(
    "section",
    { class: "card", "aria-label": "Watched folders" },
    h("h3", null, "Watched folders"),
    roots.length
      ? h("ul", { class: "list" }, roots.map(root))
      : h("p", { class: "note" }, "None yet. Folders that agents work in are watched by themselves; others are named in config.toml."),
  );
}

/** @param {any} one */
function root(one) {
  const state = one.watched ? h("span", { class: "pill good" }, "watched") : h("span", { class: "pill" }, "not watched");
  return h("li", { class: "setting" }, h("div", null, h("p", null, h("span", { class: "path" }, one.path), " ", state), one.why ? h("p", { class: "note" }, prose(sentence(one.why))) : null));
}

/**
 * @param {any} storage
 * @param {number|boolean|null} companion
 */
export function storageCard(storage, companion) {
  if (!storage) return null;
  /** @type {[string, string][]} */
  const rows = [
    ["Holds", `${counted(storage.events, "event")} of ${counted(storage.sessions, "session")}`],
    ["Log", size(storage.log_bytes)],
    ["Kept files", size(storage.versions_bytes) || "none"],
    ["Oldest", storage.oldest ? new Date(storage.oldest).toLocaleDateString([], { dateStyle: "medium" }) : "nothing yet"],
    ["Key", storage.key ? [storage.key.backend, storage.key.where].filter(Boolean).join(", ") : ""],
    ["Folder", storage.home],
    ["Companion", companion ? "running" : "not running: run `fazm-memory run`"],
  ];
  return h(
    "section",
    { class: "card", "aria-label": "Storage" },
    h("h3", null, "Storage"),
    h("dl", { class: "facts" }, rows.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, prose(value))])),
  );
}
