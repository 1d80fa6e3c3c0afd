/**
 * Compare: two positions of a session, or two branches, side by side: what differs in their state, and why.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { diffParts, place, placeText } from "../layout/diff_rows.js";
import { sessionHash } from "../layout/route.js";
import { causeList } from "./causes.js";
import { Screen } from "./screen.js";

const OFFERED = 100;

class CompareScreen extends Screen {
  heading() {
    return "Compare";
  }

  about() {
    return "Two positions or two branches: what differs in their state, and why.";
  }

  /** @param {{kinds: string[]}} change */
  concerns(change) {
    return change.kinds.includes("fork") || change.kinds.includes("rewind");
  }

  async draw() {
    const listed = await api.get("sessions", { limit: OFFERED });
    const a = place(this.params.a);
    const b = place(this.params.b);
    const picker = this.picker(listed.items, a, b);
    if (!a.session || !b.session) {
      return [
        picker,
        h("div", { class: "empty" }, h("h2", null, "Choose two places"), h("p", null, "A session and a position on each side. Without a position, the latest is meant.")),
      ];
    }
    const told = await api.get("compare", { a: placeText(a), b: placeText(b) });
    const parts = diffParts(told.diff);
    return [
      picker,
      parts.length
        ? h("div", { class: "diff-parts" }, sides(told), parts.map(part))
        : h("div", { class: "empty" }, h("h2", null, "No difference"), h("p", null, "Both places have the same state.")),
      causeList(told.diff.because || [], told.b.session),
    ];
  }

  /**
   * @param {any[]} sessions
   * @param {{session: string, at: number|null}} a
   * @param {{session: string, at: number|null}} b
   */
  picker(sessions, a, b) {
    const left = side("First", sessions, a);
    const right = side("Second", sessions, b);
    const form = h("form", { class: "card compare-pick" }, left.row, right.row, h("button", { class: "btn primary", type: "submit" }, "Compare"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const query = new URLSearchParams({ a: left.value(), b: right.value() });
      location.hash = `#/compare?${query}`;
    });
    return form;
  }
}

/**
 * @param {string} name
 * @param {any[]} sessions
 * @param {{session: string, at: number|null}} chosen
 */
function side(name, sessions, chosen) {
  const known = sessions.some((one) => one.id === chosen.session);
  const select = h(
    "select",
    { class: "field", "aria-label": `${name} session` },
    h("option", { value: "" }, "Choose a session…"),
    !known && chosen.session ? h("option", { value: chosen.session }, chosen.session.slice(0, 8)) : null,
    sessions.map((one) => h("option", { value: one.id }, `${one.parent ? "↳ " : ""}${one.title || "Untitled"} · ${one.agent}`)),
  );
  select.value = chosen.session;
  const at = h("input", { class: "field", type: "number", min: 0, step: 1, "aria-label": `${name} position`, placeholder: "latest" });
  if (chosen.at !== null) at.value = String(chosen.at);
  const value = () => placeText({ session: select.value, at: at.value === "" ? null : Number(at.value) });
  return { value, row: h("fieldset", { class: "compare-side" }, h("legend", null, name), select, at) };
}

/** @param {any} told */
function sides(told) {
  const head = (/** @type {any} */ one) =>
    h("a", { class: "compare-head", href: sessionHash(one.session, one.at) }, h("strong", null, one.title || "Untitled"), h("span", { class: "note" }, `position ${one.at}`));
  return h("div", { class: "diff-row heads" }, head(told.a), head(told.b));
}

/** @param {import("../layout/diff_rows.js").DiffPart} one */
function part(one) {
  return h("section", { class: "diff-part", "aria-label": one.title }, h("h2", null, one.title), one.rows.map(row));
}

/** The sign stands for the colour, and the words for the sign. @type {Record<string, [string, string]>} */
const SIGNS = { added: ["+", "only second"], removed: ["−", "only first"], changed: ["±", "differs"] };

/** @param {import("../layout/diff_rows.js").DiffRow} one */
function row(one) {
  const [sign, words] = SIGNS[one.op];
  const cell = (/** @type {boolean} */ filled, /** @type {string} */ text) =>
    h("div", { class: filled ? "diff-cell" : "diff-cell blank", dir: "auto" }, filled ? [one.name ? h("span", { class: "diff-name" }, one.name) : null, text ? h("span", { class: "note" }, text) : null] : null);
  return h(
    "div",
    { class: `diff-row ${one.op}` },
    cell(one.op !== "added", one.before),
    h("span", { class: "diff-sign", role: "img", "aria-label": words }, sign),
    cell(one.op !== "removed", one.after),
  );
}

customElements.define("fm-compare", CompareScreen);
