/**
 * Recorded text of any length: shown as text, a screenful at a time, since a megabyte in one block stalls a page.
 */

import { h } from "../dom.js";
import { asText } from "../layout/markdown.js";
import { counted } from "../layout/words.js";

const FIRST = 6000;
const NEXT = 60_000;

/**
 * @param {any} value
 * @returns {HTMLElement}
 */
export function longText(value) {
  const text = asText(value);
  const pre = h("pre", { class: "code" }, text.slice(0, FIRST));
  if (text.length <= FIRST) return pre;
  let shown = FIRST;
  const left = () => `Show more (${counted(text.length - shown, "character")} left)`;
  const button = h("button", { class: "btn quiet", type: "button" }, left());
  button.addEventListener("click", () => {
    pre.append(text.slice(shown, shown + NEXT));
    shown = Math.min(text.length, shown + NEXT);
    if (shown >= text.length) button.remove();
    else button.textContent = left();
  });
  return h("div", { class: "longtext" }, pre, button);
}

/** @param {any} value */
const isLong = (value) => typeof value === "object" || String(value).length > 300;

/** A few words or numbers, one to a line. @param {any} value */
function plainList(value) {
  if (!Array.isArray(value) || value.length > 50 || value.some((one) => one === null || isLong(one))) return null;
  return h("ul", { class: "overview" }, value.map((one) => h("li", null, String(one))));
}

/** A short record of names and values, one to a line; what is nested is shown as JSON. @param {Record<string, any>} record */
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
        h("dd", null, plainList(value) || (isLong(value) ? longText(value) : String(value))),
      ])
      .flat(),
  );
}
