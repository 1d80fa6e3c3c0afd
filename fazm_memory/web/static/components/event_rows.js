/**
 * Rows of the event list, and a pool that reuses their elements.
 */

import { fill, h } from "../dom.js";
import { iconName, icon } from "../icons.js";
import { shortDay } from "../lib/days.js";
import { clockSeconds, duration, kindName, outcomeName, plural, relativePath, rowMarks } from "../lib/format.js";
import { store } from "../store.js";

/** @type {Record<string, string>} CSS class by kind */
const KIND_CLASSES = {
  prompt: "prompt", message: "message", decision: "decision", file: "file", evicted: "evicted", rewind: "rewind",
  handoff: "handoff", "handoff.answer": "handoff", gap: "gap", app: "app",
}; // prettier-ignore

/** @param {any} row */
function isFailed(row) {
  return Boolean(row.outcome) && row.outcome !== "ok";
}

/** Text without the marks of Markdown. @param {string} text */
const plainText = (text) => text.replace(/\*\*|`+(?:\w+ )?|(^|\s)#{1,6} /g, "$1");

/** @param {any} row @param {string|null} [folder] @returns {{title: string, detail: string, error: string}} */
function rowText(row, folder = null) {
  const title = row.title || kindName(row.kind);
  const text = (/** @type {string} */ first, /** @type {string|null} */ detail = "", error = "") => ({
    title: first,
    detail: detail || "",
    error,
  });
  if (row.kind.startsWith("action")) {
    const failed = isFailed(row) && row.detail ? row.detail : "";
    return text(title, relativePath(row.target, folder) || (failed ? "" : row.detail), failed);
  }
  if (row.kind === "handoff") return text(row.detail || title, title);
  if (row.kind === "session.open") return text(title, row.target);
  if (row.kind.startsWith("session.")) return text(kindName(row.kind), row.detail);
  if (row.kind === "pending" || row.kind === "pending.done") return text(title, row.detail);
  if (row.kind === "message" || row.kind === "plan") return text(plainText(title), plainText(row.detail === title ? "" : row.detail || ""));
  const target = relativePath(row.target, folder);
  return text(title, [target && title.endsWith(target) ? "" : target, row.detail].filter((part) => part && part !== title).join(" — "));
}

/** What a call did to files, without edits. @param {Record<string, number>} changed */
const changedText = ({ renamed, deleted }) =>
  [renamed ? `moved ${plural(renamed, "file")}` : "", deleted ? `deleted ${plural(deleted, "file")}` : ""].filter(Boolean).join(", ");

/** The time of a row, under its day if that is another than in the row before. @param {any} row @param {string|null} day */
function timeOf(row, day) {
  const late = row.late ? { class: "row-time is-late", title: "Recorded later. Placed by its own time." } : { class: "row-time" };
  return h("span", late, day ? h("span", { class: "row-day" }, shortDay(day), " ") : null, clockSeconds(row.ms), row.late ? "*" : "");
}

/**
 * @param {HTMLElement} element
 * @param {any} row
 * @param {string|null} day
 */
function drawRow(element, row, day) {
  if (row.fold) return drawFold(element, row, day);
  const { title, detail, error } = rowText(row, store.state.info?.workspace);
  const failed = isFailed(row);
  /** @type {{label: string, tone: string}[]} */
  const marks = rowMarks(row);
  element.className = `row is-${KIND_CLASSES[row.kind] || (row.kind.startsWith("action") ? "action" : "other")}`;
  element.classList.toggle("is-failed", failed);
  element.classList.toggle("is-rewound", (row.marks || []).includes("rewound"));
  element.classList.toggle("is-inside", Boolean(row.inside));
  fill(
    element,
    timeOf(row, day),
    h("span", { class: "row-glyph" }, icon(iconName(row.kind, row.tool))),
    h("span", { class: "visually-hidden" }, `${kindName(row.kind)}: `),
    h(
      "span",
      { class: "row-text" },
      h("span", { class: "row-title" }, title),
      detail ? [" ", h("span", { class: "row-detail" }, detail)] : null,
      error ? [" ", h("span", { class: "row-error" }, error)] : null,
      row.said ? [" ", h("span", { class: "row-quote" }, plainText(row.said))] : null,
    ),
    h(
      "span",
      { class: "row-marks" },
      row.retry_of !== null && row.retry_of !== undefined
        ? h("span", { class: "pill" }, `retry of ${row.retry_of}`)
        : null,
      marks
        .filter((mark) => mark.label !== "retry")
        .map((mark) => h("span", { class: `pill ${mark.tone}` }, mark.label)),
      failed && !marks.some((mark) => mark.label === outcomeName(row.outcome))
        ? h("span", { class: "pill bad" }, outcomeName(row.outcome))
        : null,
      row.changed?.renamed || row.changed?.deleted
        ? [h("span", { class: "pill" }, changedText(row.changed)), h("span", { class: "row-act", title: "Take it back (b)" }, "Take back…")]
        : null,
      row.kind === "rewind" && row.seq === store.state.info?.latest_rewind && !row.title.startsWith("Rewind undone")
        ? h("span", { class: "row-act", title: "Undo this rewind" }, "Undo…")
        : null,
      row.turnState === "open" ? h("span", { class: "row-fold" }, "Collapse") : null,
    ),
    h("span", { class: "row-duration", title: row.tokens ? `${row.tokens.toLocaleString("en")} tokens` : null }, duration(row.duration_ms)),
  );
}

/** A run of similar events. @param {HTMLElement} element @param {any} row @param {string|null} day */
function drawFold(element, row, day) {
  const { open } = row.fold;
  const detail = row.detail.startsWith("in ") ? `in ${relativePath(row.detail.slice(3), store.state.info?.workspace)}` : row.detail;
  const { turn } = row.fold;
  element.className = `row is-action is-fold${open ? " is-open" : ""}${row.inside || turn ? " is-inside" : ""}`;
  fill(
    element,
    turn ? h("span", { class: "row-time" }) : timeOf(row, day),
    h("span", { class: "row-glyph" }, turn ? null : icon(iconName(row.kind, row.tool))),
    h(
      "span",
      { class: "row-text" },
      h("span", { class: "row-title" }, row.title),
      " ",
      h("span", { class: "row-detail" }, detail),
    ),
    h("span", { class: "row-marks" }, h("span", { class: "row-fold" }, open ? "Hide" : "Show")),
    h("span", { class: "row-duration" }),
  );
}

/** @param {HTMLElement} element */
function drawLoading(element) {
  element.className = "row";
  fill(
    element,
    h("span", { class: "row-time" }),
    h("span", { class: "row-placeholder" }),
    h("span", { class: "visually-hidden" }, "Loading…"),
  );
}

const MAX_SPARE = 80;

/** The elements of the visible rows. Elements that scroll out are reused. */
export class RowPool {
  /** @type {Map<number, HTMLElement>} index in the list to element */
  shown = new Map();
  /** @type {HTMLElement[]} */
  spare = [];

  /** @param {HTMLElement} sheet */
  constructor(sheet) {
    this.sheet = sheet;
  }

  clear() {
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
  }

  /** Remove the rows outside a range. @param {number} first @param {number} last half-open */
  trim(first, last) {
    for (const [index, element] of this.shown) {
      if (index >= first && index < last) continue;
      element.remove();
      this.shown.delete(index);
      if (this.spare.length < MAX_SPARE) this.spare.push(element);
    }
  }

  /**
   * @param {number} index
   * @param {number} top
   * @param {any} row null while it is loading
   * @param {number|null} total number of rows, if known
   * @param {{seq: number|null, left: number|null}} marked the selected event, or the one whose panel was closed last
   * @param {string|null} day the day that begins with this row
   */
  place(index, top, row, total, { seq: selected, left }, day) {
    const element = this.shown.get(index) || this.take(index);
    element.style.setProperty("transform", `translateY(${top}px)`);
    if (/** @type {any} */ (element).row !== row || /** @type {any} */ (element).day !== day) {
      if (row) drawRow(element, row, day);
      else drawLoading(element);
      Object.assign(element, { row, day });
      element.id = row ? `fm-${row.fold?.turn ? "turn" : row.fold ? "fold" : "row"}-${row.seq}` : `fm-loading-${index}`;
    }
    if (total === null) {
      element.removeAttribute("aria-setsize");
      element.removeAttribute("aria-posinset");
    } else {
      element.setAttribute("aria-setsize", String(total));
      element.setAttribute("aria-posinset", String(index + 1));
    }
    element.setAttribute("aria-selected", String(row !== null && !row.fold && row.seq === selected));
    element.classList.toggle("is-left", row !== null && !row.fold && row.seq === left);
    element.classList.toggle("is-new-day", day !== null);
    element.classList.toggle("is-after", row !== null && selected !== null && store.state.then && row.seq > selected);
  }

  /** @param {number} index */
  take(index) {
    const element = this.spare.pop() || h("div", { role: "option" });
    /** @type {any} */ (element).row = undefined;
    this.shown.set(index, element);
    this.sheet.append(element);
    return element;
  }
}

/** The event of the row that contains an element. @param {EventTarget|null} target */
export function rowOf(target) {
  return target instanceof Element ? /** @type {any} */ (target.closest(".row"))?.row || null : null;
}
