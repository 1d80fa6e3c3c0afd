/**
 * One event as a row of the list.
 */

import { fill, h } from "../dom.js";
import { glyphOf, icon } from "../icons.js";
import { clockSeconds, duration, inside, kindName, markWord, outcomeWord } from "../layout/words.js";
import { store } from "../store.js";

/** @type {Record<string, string>} kinds that look alike */
const FAMILY = {
  prompt: "prompt", message: "message", decision: "decision", file: "file", evicted: "evicted", rewind: "rewind",
  handoff: "handoff", "handoff.answer": "handoff", gap: "gap", app: "app",
}; // prettier-ignore

/** @param {any} row */
export function isFailed(row) {
  return Boolean(row.outcome) && row.outcome !== "ok";
}

/** The words of a row, apart from its marks. @param {any} row @param {string|null} [folder] @returns {{lead: string, rest: string, trouble: string}} */
export function wording(row, folder = null) {
  const title = row.title || kindName(row.kind);
  const said = (/** @type {string} */ lead, /** @type {string|null} */ rest = "", trouble = "") => ({
    lead,
    rest: rest || "",
    trouble,
  });
  if (row.kind.startsWith("action")) {
    const failed = isFailed(row) && row.detail ? row.detail : "";
    return said(title, inside(row.target, folder) || (failed ? "" : row.detail), failed);
  }
  if (row.kind === "handoff") return said(row.detail || title, title);
  if (row.kind === "session.open") return said(title, row.target);
  if (row.kind.startsWith("session.")) return said(kindName(row.kind), row.detail);
  if (row.kind === "pending" || row.kind === "pending.done") return said(title, row.detail);
  return said(title, [inside(row.target, folder), row.detail].filter((one) => one && one !== title).join(" — "));
}

/**
 * @param {HTMLElement} element reused from one scroll position to the next
 * @param {any} row
 */
export function drawRow(element, row) {
  const { lead, rest, trouble } = wording(row, store.state.info?.workspace);
  const failed = isFailed(row);
  /** @type {{word: string, look: string}[]} */
  const marks = (row.marks || []).map(markWord).filter(Boolean);
  element.className = `row is-${FAMILY[row.kind] || (row.kind.startsWith("action") ? "action" : "other")}`;
  element.classList.toggle("is-failed", failed);
  element.classList.toggle("is-rewound", (row.marks || []).includes("rewound"));
  fill(
    element,
    h("span", { class: "row-time" }, clockSeconds(row.ms)),
    h("span", { class: "row-glyph" }, icon(glyphOf(row.kind, row.tool))),
    h("span", { class: "visually-hidden" }, `${kindName(row.kind)}: `),
    h(
      "span",
      { class: "row-text" },
      h("span", { class: "row-lead" }, lead),
      rest ? [" ", h("span", { class: "row-rest" }, rest)] : null,
      trouble ? [" ", h("span", { class: "row-trouble" }, trouble)] : null,
    ),
    h(
      "span",
      { class: "row-marks" },
      row.retry_of !== null && row.retry_of !== undefined
        ? h("span", { class: "pill" }, `retry of ${row.retry_of}`)
        : null,
      marks
        .filter((mark) => mark.word !== "retry")
        .map((mark) => h("span", { class: `pill ${mark.look}` }, mark.word)),
      failed && !marks.some((mark) => mark.word === outcomeWord(row.outcome))
        ? h("span", { class: "pill bad" }, outcomeWord(row.outcome))
        : null,
    ),
    h("span", { class: "row-long" }, duration(row.duration_ms)),
  );
}

/** @param {HTMLElement} element */
export function drawWaiting(element) {
  element.className = "row is-waiting";
  fill(element, h("span", { class: "row-time" }), h("span", { class: "row-ghost" }), h("span", { class: "visually-hidden" }, "Being read…"));
}
