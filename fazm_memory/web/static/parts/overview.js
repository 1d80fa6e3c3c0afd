/**
 * A record as people read it: each name with its value, lists as lines that begin with what matters. Exact JSON is the
 * raw event's business.
 */

import { h } from "../dom.js";
import { fieldWord } from "../layout/diff_rows.js";
import { counted } from "../layout/words.js";
import { longText } from "./longtext.js";

const MOST = 40;
const LEADS = ["what", "note", "path", "text", "key", "folder", "pattern", "title", "tool", "target", "name", "id"];
const DULL = new Set([
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
const empty = (value) =>
  value === null ||
  value === undefined ||
  value === "" ||
  value === false ||
  (typeof value === "object" && Object.values(value).every(empty));

/** @param {Record<string, any>} record */
export function overview(record) {
  const shown = Object.entries(record).filter(([, value]) => !empty(value));
  const entries = shown.map(([name, value]) => [
    h("dt", null, name.replaceAll("_", " ")),
    h("dd", null, told(name === "counts" ? plainNames(value) : value)),
  ]);
  return h("dl", { class: "facts" }, entries.flat());
}

/** @param {Record<string, any>} counts */
const plainNames = (counts) => Object.fromEntries(Object.entries(counts).map(([name, value]) => [fieldWord(name), value]));

/** @param {any} value */
function told(value) {
  if (Array.isArray(value)) return lines(value, value.length);
  if (typeof value !== "object") return String(value).length > 400 ? longText(value) : String(value);
  const entries = Object.entries(value);
  if (entries.some(([, one]) => typeof one === "object" && one !== null && !Array.isArray(one))) {
    return lines(
      entries.map(([name, one]) =>
        typeof one === "object" && one !== null ? { name, ...one } : { name, value: one },
      ),
      entries.length,
    );
  }
  return lines(
    entries.map(([name, one]) => ({ name, value: one })),
    entries.length,
  );
}

/**
 * @param {any[]} items
 * @param {number} total
 */
function lines(items, total) {
  const more = total - MOST;
  return h(
    "ul",
    { class: "overview" },
    items.slice(0, MOST).map((item) => h("li", null, line(item))),
    more > 0 ? h("li", { class: "note" }, `and ${counted(more, "more", "more")}`) : null,
  );
}

/** @param {any} item */
function line(item) {
  if (typeof item !== "object" || item === null) return String(item).slice(0, 1000);
  const lead = LEADS.find((name) => !empty(item[name]));
  const rest = Object.entries(item)
    .filter(([name, value]) => name !== lead && !DULL.has(name) && !empty(value) && typeof value !== "object")
    .map(([name, value]) => (name === "value" ? String(value) : `${fieldWord(name)} ${value}`.trim()));
  return [
    h("span", null, String(lead ? item[lead] : "").slice(0, 1000)),
    rest.length ? h("span", { class: "note" }, ` ${rest.join(" · ").slice(0, 600)}`) : null,
  ];
}
