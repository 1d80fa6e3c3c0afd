/**
 * <fm-filediff>: a file before and after an event, from the kept versions; read when it is opened.
 */

import { api } from "../api.js";
import { explained, fill, h, prose } from "../dom.js";
import { icon } from "../icons.js";
import { shortPath, size } from "../layout/words.js";

export class FileDiff extends HTMLElement {
  /** @param {string} session @param {number} seq @param {any} file @param {boolean} open */
  static of(session, seq, file, open) {
    const made = new FileDiff();
    Object.assign(made, { session, seq, file, open });
    return made;
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
    const fold = h(
      "details",
      { class: "diff", ontoggle: () => fold.open && void this.load() },
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
    fill(this, fold);
    if (this.open) fold.open = true;
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
        h("p", { class: "note bad" }, prose(explained(error))),
      );
    }
  }

  async reveal() {
    const status = /** @type {HTMLElement} */ (this.status);
    try {
      await api.post("reveal", { path: this.file.path, session: this.session, seq: this.seq });
      status.textContent = "Shown in its folder.";
    } catch (error) {
      status.textContent = /** @type {any} */ (error).message;
    }
  }
}

/** @param {any} answer */
function diffTable(answer) {
  const sides = [side("Before", answer.before), side("After", answer.after)].filter(Boolean).join(" · ");
  const parts = [answer.left_out ? h("p", { class: "note" }, `The contents are ${answer.left_out}.`) : null];
  const hunks = answer.hunks || [];
  if (hunks.length) parts.push(hunkTable(hunks));
  else if (!answer.left_out) parts.push(h("p", { class: "note" }, "The contents did not change."));
  if (sides) parts.push(h("p", { class: "note diff-sides" }, sides));
  return /** @type {any} */ (parts);
}

/** @param {string} name @param {any} one */
function side(name, one) {
  if (!one) return "";
  return one.exists === false ? `${name}: no file` : `${name}: ${size(one.bytes || 0)}`;
}

/** @param {any[]} hunks */
export function hunkTable(hunks) {
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
      const look = line.op === "+" ? "is-added" : line.op === "-" ? "is-removed" : "";
      rows.push(
        h(
          "tr",
          { class: look },
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
 * A unified diff as text, line by line in its colours. The names it begins with stand above it already, and where a
 * piece of it lies says little to people.
 * @param {string} text
 * @param {Record<string, any>} [props]
 */
export function textDiff(text, props = {}) {
  const lines = text.split("\n");
  const named = lines[0]?.startsWith("--- ") && lines[1]?.startsWith("+++ ");
  const pieces = (named ? lines.slice(2) : lines).slice(0, 2000).map((line, index) => {
    if (line.startsWith("@@ ")) return index ? h("span", { class: "is-apart" }, "⋯\n") : null;
    const look = line.startsWith("+") ? "is-added" : line.startsWith("-") ? "is-removed" : "";
    return h("span", { class: look }, `${line}\n`);
  });
  return h("pre", { ...props, class: `code text-diff ${props.class || ""}` }, pieces);
}

customElements.define("fm-filediff", FileDiff);
