/**
 * <fm-file-diff>: a file before and after an event. Loaded when it is opened.
 */

import { api } from "../api.js";
import { errorText, fill, h, withCommands } from "../dom.js";
import { icon } from "../icons.js";
import { byteSize, shortPath, toSentence } from "../lib/format.js";

export class FileDiff extends HTMLElement {
  /** @param {string} session @param {number} seq @param {any} file @param {boolean} open */
  static of(session, seq, file, open) {
    return Object.assign(new FileDiff(), { session, seq, file, open });
  }

  session = "";
  seq = 0;
  /** @type {any} */
  file = null;
  open = false;

  connectedCallback() {
    if (this.body) return;
    const { file } = this;
    this.body = h("div", { class: "diff-body" });
    this.status = h("span", { class: "note" });
    const details = h(
      "details",
      { class: "diff", ontoggle: () => details.open && void this.load() },
      h(
        "summary",
        { title: file.path },
        h("span", { class: "diff-path" }, shortPath(file.path, 2)),
        h("span", { class: `pill is-${file.change}` }, file.change),
        file.by && file.by !== "agent"
          ? h("span", { class: "pill" }, file.by === "person" ? "by you" : `by ${file.by}`)
          : null,
      ),
      h(
        "div",
        { class: "diff-facts" },
        h("span", { class: "diff-full" }, file.from ? `${file.from} → ${file.path}` : file.path),
        h(
          "button",
          {
            class: "btn quiet",
            type: "button",
            "aria-label": `Reveal ${shortPath(file.path, 1)}`,
            onclick: () => void this.reveal(),
          },
          icon("folder"),
          "Reveal",
        ),
        this.status,
      ),
      file.evidence ? h("p", { class: "note" }, file.evidence) : null,
      this.body,
    );
    fill(this, details);
    if (this.open) details.open = true;
  }

  async load() {
    const body = /** @type {HTMLElement} */ (this.body);
    if (this.loaded) return;
    this.loaded = true;
    try {
      const answer = await api.get(`sessions/${encodeURIComponent(this.session)}/events/${this.seq}/file`, {
        path: this.file.path,
      });
      fill(body, diffTable(answer));
    } catch (error) {
      this.loaded = false;
      fill(
        body,
        h("p", { class: "note bad" }, withCommands(errorText(error))),
      );
    }
  }

  async reveal() {
    const status = /** @type {HTMLElement} */ (this.status);
    try {
      await api.post("reveal", { path: this.file.path, session: this.session, seq: this.seq });
      status.textContent = "Shown in the file manager.";
    } catch (error) {
      status.textContent = /** @type {any} */ (error).message;
    }
  }
}

/** @param {any} answer */
function diffTable(answer) {
  const sizes = [sizeText("Before", answer.before), sizeText("After", answer.after)].filter(Boolean).join(" · ");
  const parts = [answer.left_out ? h("p", { class: "note" }, missingText(answer)) : null];
  const hunks = answer.hunks || [];
  if (hunks.length) parts.push(hunkTable(hunks));
  else if (!answer.left_out) parts.push(h("p", { class: "note" }, "The content did not change."));
  if (sizes) parts.push(h("p", { class: "note" }, sizes));
  return /** @type {any} */ (parts);
}

/** Why there is no line-by-line difference. @param {any} answer */
function missingText({ before, after, left_out: reason }) {
  if (!before && !after) return "No snapshot of this file.";
  if (!before) return "No snapshot of this file before the event.";
  if (!after) return "No snapshot of this file after the event.";
  return toSentence(reason);
}

/** @param {string} label @param {any} version */
function sizeText(label, version) {
  if (!version) return "";
  return version.exists === false ? `${label}: no file` : `${label}: ${byteSize(version.bytes || 0)}`;
}

/** @param {any[]} hunks */
function hunkTable(hunks) {
  const rows = [];
  for (const hunk of hunks) {
    let [a, b] = [hunk.a, hunk.b];
    rows.push(
      h(
        "tr",
        { class: "diff-at" },
        h("td", { colspan: 4 }, `lines ${hunk.a}–${hunk.a + Math.max(0, hunk.a_lines - 1)}`),
      ),
    );
    for (const line of hunk.lines) {
      const tone = line.op === "+" ? "is-added" : line.op === "-" ? "is-removed" : "";
      rows.push(
        h(
          "tr",
          { class: tone },
          h("td", { class: "diff-number" }, line.op === "+" ? "" : a++),
          h("td", { class: "diff-number" }, line.op === "-" ? "" : b++),
          h("td", { class: "diff-op" }, line.op),
          h("td", { class: "diff-text" }, line.text),
        ),
      );
    }
  }
  return h(
    "div",
    { class: "diff-scroll", tabindex: 0, role: "region", "aria-label": "File difference" },
    h("table", { class: "diff-table" }, h("tbody", null, rows)),
  );
}

/**
 * A unified diff in colours, without the file names and line numbers.
 * @param {string} text
 * @param {Record<string, any>} [props]
 */
export function textDiff(text, props = {}) {
  const lines = text.split("\n");
  const hasNames = lines[0]?.startsWith("--- ") && lines[1]?.startsWith("+++ ");
  const pieces = (hasNames ? lines.slice(2) : lines).slice(0, 2000).map((line, index) => {
    if (line.startsWith("@@ ")) return index ? h("span", { class: "diff-gap" }, "⋯\n") : null;
    const tone = line.startsWith("+") ? "is-added" : line.startsWith("-") ? "is-removed" : "";
    return h("span", { class: tone }, `${line}\n`);
  });
  return h("pre", { ...props, class: `code text-diff ${props.class || ""}` }, pieces);
}

customElements.define("fm-file-diff", FileDiff);
