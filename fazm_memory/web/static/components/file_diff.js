/**
 * <fm-file-diff>: a file before and after an event. Loaded when it is opened.
 */

import { api } from "../api.js";
import { errorText, fill, h, withCommands } from "../dom.js";
import { icon } from "../icons.js";
import { screenHash } from "../lib/route.js";
import { changedLines, numbered, sideBySide } from "../lib/diff_rows.js";
import { byteSize, shortPath, toSentence } from "../lib/format.js";
import { highlight, languageOf } from "../lib/highlight.js";

/** @typedef {import("../lib/diff_rows.js").DiffRow} DiffRow */

let split = false; // side by side; stays from one file to the next

/** Show differences side by side, or one below the other. */
export function toggleSplit() {
  split = !split;
  document.dispatchEvent(new CustomEvent("fm:diff-view"));
}

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
        h("a", { class: "btn quiet", href: screenHash("files", { path: file.path }) }, "Who changed it"),
        this.status,
      ),
      file.evidence ? h("p", { class: "note" }, file.evidence) : null,
      this.body,
    );
    fill(this, details);
    if (this.open) {
      details.open = true;
      void this.load(); // the toggle event comes later
    }
    this.redraw = () => this.drawDiff();
    document.addEventListener("fm:diff-view", this.redraw);
  }

  disconnectedCallback() {
    if (this.redraw) document.removeEventListener("fm:diff-view", this.redraw);
  }

  async load() {
    const body = /** @type {HTMLElement} */ (this.body);
    if (this.loaded) return;
    this.loaded = true;
    this.setAttribute("aria-busy", "true");
    try {
      const answer = await api.get(`sessions/${encodeURIComponent(this.session)}/events/${this.seq}/file`, {
        path: this.file.path,
      });
      this.answer = answer;
      this.drawDiff();
    } catch (error) {
      this.loaded = false;
      fill(
        body,
        h("p", { class: "note bad" }, withCommands(errorText(error))),
      );
    } finally {
      this.removeAttribute("aria-busy");
    }
  }

  drawDiff() {
    const { answer } = this;
    if (!answer) return;
    const hunks = answer.hunks || [];
    const { added, removed } = changedLines(hunks);
    fill(
      /** @type {HTMLElement} */ (this.body),
      hunks.length
        ? h(
            "div",
            { class: "diff-tools" },
            h("span", { class: "diff-count" }, h("b", { class: "is-added" }, `+${added}`), " ", h("b", { class: "is-removed" }, `−${removed}`)),
            h(
              "button",
              {
                class: "btn quiet",
                type: "button",
                "aria-pressed": String(split),
                onclick: toggleSplit,
              },
              "Side by side",
            ),
          )
        : null,
      diffParts(answer),
    );
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
function diffParts(answer) {
  const sizes = [sizeText("Before", answer.before), sizeText("After", answer.after)].filter(Boolean).join(" · ");
  const hunks = answer.hunks || [];
  const pictures = [pictureOf("Before", answer.before), pictureOf("After", answer.after)].filter(Boolean);
  const parts = [];
  if (pictures.length) parts.push(h("div", { class: "diff-pictures" }, pictures));
  else if (hunks.length) parts.push(hunkTable(hunks, answer.path));
  if (answer.note) parts.push(h("p", { class: "note" }, answer.note));
  else if (answer.left_out && !pictures.length) parts.push(h("p", { class: "note" }, missingText(answer)));
  else if (!hunks.length && !pictures.length) parts.push(h("p", { class: "note" }, "The content did not change."));
  if (sizes) parts.push(h("p", { class: "note" }, sizes));
  return parts;
}

/** @param {string} label @param {any} version */
function pictureOf(label, version) {
  if (!version?.image) return null;
  return h("figure", null, h("img", { src: version.image, alt: `${label} the event` }), h("figcaption", { class: "note" }, label));
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

/** @param {any[]} hunks @param {string} path */
function hunkTable(hunks, path) {
  const colours = { language: languageOf(path), open: { "-": "", "+": "" } };
  const body = hunks.flatMap((hunk, index) => {
    const lines = numbered(hunk).map((row) => ({ ...row, code: coloured(row, colours) }));
    const after = lines.filter(({ op }) => op !== "-").length;
    const name = hunk.a === null ? (index ? "⋯" : "") : `lines ${hunk.b}–${hunk.b + Math.max(0, after - 1)}`;
    const head = name ? h("tr", { class: "diff-at" }, h("td", { colspan: 4 }, name)) : null;
    return [head, ...(split ? sideBySide(lines).map(pairRow) : lines.map(lineRow))];
  });
  const unnumbered = hunks.every(({ a }) => a === null);
  const look = `diff-table${split ? " is-split" : ""}${unnumbered ? " is-unnumbered" : ""}`;
  return h(
    "div",
    { class: "diff-scroll", tabindex: 0, role: "region", "aria-label": "File difference" },
    h("table", { class: look }, split && !unnumbered ? columns() : null, h("tbody", null, body)),
  );
}

/** The widths of the columns side by side. The first row spans all of them, so it cannot give them. */
const columns = () => h("colgroup", null, ["is-number", "", "is-number", ""].map((name) => h("col", { class: name })));

/**
 * The text of a line in syntax colours. Each side carries its own open comments.
 * @param {DiffRow} row
 * @param {{language: any, open: Record<string, string>}} colours
 */
function coloured(row, colours) {
  const sides = row.op === " " ? ["-", "+"] : [row.op];
  const { tokens, open } = highlight(row.text, colours.language, colours.open[sides[sides.length - 1]]);
  for (const side of sides) colours.open[side] = open;
  return tokens.map(({ kind, text }) => (kind ? h("span", { class: `code-${kind}` }, text) : text));
}

const TONES = /** @type {Record<string, string>} */ ({ "+": "is-added", "-": "is-removed", " ": "" });

/** @param {any} row */
const lineRow = (row) =>
  h(
    "tr",
    { class: TONES[row.op] },
    h("td", { class: "diff-number" }, row.a),
    h("td", { class: "diff-number" }, row.b),
    h("td", { class: "diff-op" }, row.op),
    h("td", { class: "diff-text" }, row.code),
  );

/** @param {any} pair */
function pairRow({ left, right }) {
  const cells = (/** @type {any} */ row, /** @type {number|null} */ number) => [
    h("td", { class: "diff-number" }, number),
    h("td", { class: `diff-text ${row ? TONES[row.op] : "is-blank"}` }, row ? (left === right ? row.code.map(copyOf) : row.code) : null),
  ];
  return h("tr", null, cells(left, left?.a ?? null), cells(right, right?.b ?? null));
}

/** A node can be in the page only once. @param {Node|string} part */
const copyOf = (part) => (part instanceof Node ? part.cloneNode(true) : part);

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
