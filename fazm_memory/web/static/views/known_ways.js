/**
 * The ways of the days before, as a new session may follow them: folders and how far they got, how files were named,
 * and what was left alone.
 */

import { h } from "../dom.js";
import { sessionHash } from "../layout/route.js";
import { counted } from "../layout/words.js";

/**
 * @param {{folders?: any[]|null, conventions?: any[]|null, skipped?: any[]|null}} told
 * @returns {HTMLElement[]}
 */
export function knownWays(told) {
  return [
    section("Folders", told.folders, "No folder was worked through.", folder),
    section("Naming conventions", told.conventions, "No naming convention was seen.", convention),
    section("Left alone", told.skipped, "Nothing was skipped on purpose.", skipped),
  ];
}

/**
 * @param {string} title
 * @param {any[]|null|undefined} rows
 * @param {string} empty
 * @param {(row: any) => HTMLElement} draw
 */
function section(title, rows, empty, draw) {
  const body = rows?.length ? h("ul", { class: "card list" }, rows.map(draw)) : h("p", { class: "note" }, empty);
  return h("section", { class: "context-group", "aria-label": title }, h("h2", null, title), body);
}

/** Two days in one folder look alike: which session it was tells them apart. @param {any} row */
const origin = (row) => [" · ", h("a", { href: sessionHash(row.session) }, row.title || "where it is from")];

/** @param {any} row */
function folder(row) {
  // Without a listing nobody knows how many files there are, and a full bar would say "all".
  const words = row.listed
    ? `${row.processed} of ${counted(row.total, "file")} processed`
    : `${counted(row.processed, "file")} processed, of how many is not known`;
  return h(
    "li",
    { class: "way" },
    h("span", { class: "path" }, row.path),
    row.listed && h("meter", { min: 0, max: row.total || 1, value: row.processed, "aria-label": words }),
    h("span", { class: "note" }, words, origin(row)),
  );
}

/** @param {any} row */
function convention(row) {
  return h(
    "li",
    { class: "way" },
    h("span", { class: "path" }, row.pattern),
    h("span", { class: "note" }, `in ${row.folder}, ${counted(row.support, "file")}`, origin(row)),
    (row.examples || []).slice(0, 2).map((/** @type {string[]} */ pair) =>
      h("span", { class: "example" }, h("span", null, pair[0]), h("span", { "aria-label": "became" }, " → "), h("span", null, pair[1])),
    ),
  );
}

/** @param {any} row */
function skipped(row) {
  const some = (row.files || []).slice(0, 5).join(", ");
  const more = row.count > 5 ? ` and ${row.count - 5} more` : "";
  return h(
    "li",
    { class: "way" },
    h("span", { class: "path" }, row.rule),
    h("span", { class: "note" }, `in ${row.folder}`, origin(row)),
    h("span", { class: "note" }, `${some}${more}`),
  );
}
