/**
 * Recorded values for reading: long text, tables of fields, overviews of nested records.
 */

import { h } from "../dom.js";
import { plural } from "../lib/format.js";
import { asText } from "../lib/markdown.js";
import { blocks, spans } from "../lib/prose.js";
import { fieldLabel } from "../lib/state_diff.js";

const FIRST_CHARS = 6000;
const NEXT_CHARS = 60_000;

/**
 * Text that is shown piece by piece, because a megabyte in one block stalls the page.
 * @param {any} value
 * @returns {HTMLElement}
 */
export function longText(value) {
  const text = asText(value);
  const pre = h("pre", { class: "code" }, text.slice(0, FIRST_CHARS));
  if (text.length <= FIRST_CHARS) return pre;
  let shown = FIRST_CHARS;
  const left = () => `Show more (${plural(text.length - shown, "character")} left)`;
  const button = h("button", { class: "btn quiet", type: "button" }, left());
  button.addEventListener("click", () => {
    pre.append(text.slice(shown, shown + NEXT_CHARS));
    shown = Math.min(text.length, shown + NEXT_CHARS);
    if (shown >= text.length) button.remove();
    else button.textContent = left();
  });
  return h("div", { class: "longtext" }, pre, button);
}

/**
 * What a person or an agent wrote, as prose. Long text is shown piece by piece.
 * @param {string} text
 */
export function proseText(text) {
  const body = h("div", { class: "prose", dir: "auto" }, ...blocks(text.slice(0, FIRST_CHARS)).map(blockNode));
  if (text.length <= FIRST_CHARS) return body;
  let shown = FIRST_CHARS;
  const left = () => `Show more (${plural(text.length - shown, "character")} left)`;
  const button = h("button", { class: "btn quiet", type: "button" }, left());
  button.addEventListener("click", () => {
    button.before(...blocks(text.slice(shown, shown + NEXT_CHARS)).map(blockNode));
    shown = Math.min(text.length, shown + NEXT_CHARS);
    if (shown >= text.length) button.remove();
    else button.textContent = left();
  });
  body.append(button);
  return body;
}

/** @param {import("../lib/prose.js").Block} block */
function blockNode({ kind, text, level = 0, mark = "" }) {
  if (kind === "code") return h("pre", { class: "code" }, text);
  const inner = spans(text).map((span) => (span.kind === "plain" ? span.text : h(span.kind, null, span.text)));
  if (kind === "item") return h("p", { class: `prose-item is-level-${level}` }, h("span", { class: "prose-mark" }, mark), h("span", null, ...inner));
  return h("p", { class: kind === "heading" ? "prose-heading" : null }, ...inner);
}

/** @param {any} value */
const isLong = (value) => typeof value === "object" || String(value).length > 300;

/** A list of short values, or null. @param {any} value */
function shortList(value) {
  if (!Array.isArray(value) || value.length > 50 || value.some((item) => item === null || isLong(item))) return null;
  return h(
    "ul",
    { class: "overview" },
    value.map((item) => h("li", null, String(item))),
  );
}

/** The fields of a record, one per line. Nested values are shown as JSON. @param {Record<string, any>} record */
export function table(record) {
  const rows = Object.entries(record).filter(
    ([, value]) => value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && !value.length),
  );
  return h(
    "dl",
    { class: "facts" },
    rows
      .map(([name, value]) => [
        h("dt", null, name.replaceAll("_", " ")),
        h("dd", null, shortList(value) || (isLong(value) ? longText(value) : String(value))),
      ])
      .flat(),
  );
}

const MAX_LINES = 40;
const NAME_FIELDS = ["what", "note", "path", "text", "key", "folder", "pattern", "title", "tool", "target", "name", "id"];
const HIDDEN_FIELDS = new Set([
  "seq",
  "turn",
  "at",
  "ms",
  "call_id",
  "digest",
  "input_hash",
  "session",
  "trust",
  "source",
  "actor",
  "last_seq",
  "first_seq",
]);

/** @param {any} value */
const isEmpty = (value) =>
  value === null ||
  value === undefined ||
  value === "" ||
  value === false ||
  (typeof value === "object" && Object.values(value).every(isEmpty));

/** A record for people: lists become lines that start with a name. @param {Record<string, any>} record */
export function overview(record) {
  const shown = Object.entries(record).filter(([, value]) => !isEmpty(value));
  const entries = shown.map(([name, value]) => [
    h("dt", null, name.replaceAll("_", " ")),
    h("dd", null, valueNode(name === "counts" ? labelled(value) : value)),
  ]);
  return h("dl", { class: "facts" }, entries.flat());
}

/** @param {Record<string, any>} counts */
const labelled = (counts) =>
  Object.fromEntries(Object.entries(counts).map(([name, value]) => [fieldLabel(name), value]));

/** @param {any} value */
function valueNode(value) {
  if (Array.isArray(value)) return lines(value, value.length);
  if (typeof value !== "object") return String(value).length > 400 ? longText(value) : String(value);
  const entries = Object.entries(value);
  if (entries.some(([, part]) => typeof part === "object" && part !== null && !Array.isArray(part))) {
    return lines(
      entries.map(([name, part]) =>
        typeof part === "object" && part !== null ? { name, ...part } : { name, value: part },
      ),
      entries.length,
    );
  }
  return lines(
    entries.map(([name, part]) => ({ name, value: part })),
    entries.length,
  );
}

/**
 * @param {any[]} items
 * @param {number} total
 */
function lines(items, total) {
  const more = total - MAX_LINES;
  return h(
    "ul",
    { class: "overview" },
    items.slice(0, MAX_LINES).map((item) => h("li", null, line(item))),
    more > 0 ? h("li", { class: "note" }, `and ${more.toLocaleString("en")} more`) : null,
  );
}

/** @param {any} item */
function line(item) {
  if (typeof item !== "object" || item === null) return String(item).slice(0, 1000);
  const nameField = NAME_FIELDS.find((name) => !isEmpty(item[name]));
  const rest = Object.entries(item)
    .filter(([name, value]) => name !== nameField && !HIDDEN_FIELDS.has(name) && !isEmpty(value) && typeof value !== "object")
    .map(([name, value]) => (name === "value" ? String(value) : `${fieldLabel(name)} ${value}`.trim()));
  return [
    h("span", null, String(nameField ? item[nameField] : "").slice(0, 1000)),
    rest.length ? h("span", { class: "note" }, ` ${rest.join(" · ").slice(0, 600)}`) : null,
  ];
}
