/**
 * <fm-files>: the files that a session changed, or the sessions that changed a file: who, when and how.
 */

import { api } from "../api.js";
import { authorName } from "../components/retry.js";
import { proseText } from "../components/values.js";
import { now } from "../clock.js";
import { fill, h } from "../dom.js";
import { ago, clock, plural, relativePath, shorten } from "../lib/format.js";
import { screenHash, sessionHash } from "../lib/route.js";
import { dayName, dayOf } from "../lib/days.js";
import { Screen } from "./screen.js";

const AUTHORS = /** @type {[string, string][]} */ ([
  ["", "Anybody"],
  ["agent", "Agent"],
  ["person", "You"],
  ["unknown", "Unknown"],
]);
const TURNS = /** @type {[string, string][]} */ ([
  ["", "Whole session"],
  ["5", "Last 5 turns"],
  ["1", "Last turn"],
]);

class FilesScreen extends Screen {
  heading = "Files";
  about = "Who changed what, when and how.";

  async draw() {
    const { path = "", by = "" } = this.params;
    this.drawTools();
    return path ? fileHistory(await api.get("file-changes", { path, by })) : this.filesOf();
  }

  async filesOf() {
    const { session = "", by = "", turns = "" } = this.params;
    const found = await api.get(`sessions/${encodeURIComponent(session)}/files`, { by, turns });
    const files = found.files.slice().reverse();
    return [
      h("p", null, "Session ", h("a", { href: sessionHash(found.session) }, found.title || "Untitled session")),
      files.length
        ? h(
            "section",
            { "aria-label": "Changed files" },
            h("ul", { class: "card list" }, files.map((/** @type {any} */ file) => fileItem(found, file, by))),
          )
        : nothing("No changed files", by ? "Not by this author. Choose another one." : "This session changed no file."),
      found.omitted ? h("p", { class: "note" }, `${plural(found.omitted, "older file")} not shown.`) : null,
    ];
  }

  drawTools() {
    const choice = (/** @type {string} */ label, /** @type {[string, string][]} */ options, /** @type {"by"|"turns"} */ name) =>
      h(
        "div",
        { class: "segmented", role: "group", "aria-label": label },
        options.map(([value, text]) =>
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String((this.params[name] || "") === value),
              "data-focus": `${name} ${value}`,
              onclick: () => this.choose(name, value),
            },
            text,
          ),
        ),
      );
    const focused = document.activeElement?.getAttribute("data-focus");
    const tools = /** @type {HTMLElement} */ (this.tools);
    fill(tools, this.params.path ? null : choice("Turns", TURNS, "turns"), choice("Changed by", AUTHORS, "by"));
    if (focused) /** @type {HTMLElement|null} */ (tools.querySelector(`[data-focus="${focused}"]`))?.focus();
  }

  /** @param {"by"|"turns"} name @param {string} value */
  choose(name, value) {
    this.params = { ...this.params, [name]: value };
    history.replaceState(null, "", screenHash("files", this.params));
    void this.load();
  }
}

/** @param {string} title @param {string} text */
const nothing = (title, text) => h("div", { class: "empty" }, h("h2", null, title), h("p", null, text));

/** @param {any} found @param {any} file @param {string} by */
function fileItem({ session, workspace }, file, by) {
  const others = by ? [] : (file.changed_by || []).filter((/** @type {any} */ one) => one.by !== file.by);
  const moved = file.from ? `${relativePath(file.from, workspace)} → ` : "";
  return h(
    "li",
    { class: "file-change" },
    h("p", { class: "path" }, h("a", { href: screenHash("files", { path: file.path }) }, `${moved}${relativePath(file.path, workspace)}`)),
    change(session, file),
    others.reverse().map((/** @type {any} */ one) => change(session, one)),
  );
}

/** One author's last change. @param {string} session @param {any} one */
function change(session, { change, by, turn, seq, ms, evidence }) {
  return h(
    "p",
    { class: "note" },
    h("span", { class: `pill is-${change}` }, change),
    ` by ${authorName(by)}, `,
    h("a", { href: sessionHash(session, seq) }, `${ms === null ? "" : `${dayName(dayOf(ms), dayOf(now()))}, ${clock(ms)}, `}turn ${turn}`),
    evidence ? ` · ${evidence}` : "",
  );
}

/** @param {any} found */
function fileHistory({ path, changes }) {
  return [
    h("p", { class: "path" }, path),
    changes.length
      ? h("section", { "aria-label": "Changes of this file" }, h("ol", { class: "card list" }, changes.map(historyItem)))
      : nothing("No changes", "No recorded change of this file by this author."),
  ];
}

/** @param {any} one */
function historyItem({ session, title, agent, at, seq, change, by, from, count, request }) {
  return h(
    "li",
    { class: "file-change" },
    h(
      "p",
      null,
      h("span", { class: `pill is-${change}` }, count > 1 ? `${change} ${count} times` : change),
      ` by ${authorName(by)}`,
      from ? `, from ${from}` : "",
      " · ",
      h("a", { href: sessionHash(session, seq), title: at }, ago(Date.parse(at), now())),
      " · ",
      h("a", { href: sessionHash(session) }, title || "Untitled session"),
      ` (${agent})`,
    ),
    request ? asked(request) : null,
  );
}

/** The request that led to a change. A long one unfolds. @param {string} request */
function asked(request) {
  const start = shorten(request.replace(/\s+/g, " "), 200);
  if (!start.endsWith("…")) return h("p", { class: "note", dir: "auto" }, `Asked: ${start}`);
  return h("details", { class: "note" }, h("summary", { dir: "auto" }, `Asked: ${start}`), proseText(request));
}

customElements.define("fm-files", FilesScreen);
