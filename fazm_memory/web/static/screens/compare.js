/**
 * <fm-compare>: two positions of a session, or two branches: what differs in their state, and why.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { sessionHash } from "../lib/route.js";
import { diffParts, parsePosition, positionText } from "../lib/state_diff.js";
import { Screen } from "./screen.js";

const MAX_SESSIONS = 100;
const MOMENTS = "A position, a turn (turn 3), a time (yesterday 16:00) or an event (event 11)";

/** @typedef {{session: string, at: string|null}} Position */

class CompareScreen extends Screen {
  heading = "Compare";
  about = "What differs between two positions or two branches, and why.";

  /** @param {{kinds: string[]}} change */
  concerns(change) {
    return change.kinds.includes("fork") || change.kinds.includes("rewind");
  }

  async draw() {
    const { items: sessions } = await api.get("sessions", { limit: MAX_SESSIONS });
    const [a, b] = [parsePosition(this.params.a), parsePosition(this.params.b)];
    const form = picker(sessions, a, b);
    if (!a.session || !b.session) {
      return [
        form,
        emptyBlock("Choose two positions", "Choose a session on each side. Without a position, the latest is used."),
      ];
    }
    const comparison = await api.get("compare", { a: positionText(a), b: positionText(b) });
    const parts = diffParts(comparison.diff);
    return [
      form,
      parts.length
        ? h("div", { class: "diff-parts" }, heads(comparison), parts.map(partSection))
        : emptyBlock("No difference", "Both positions have the same state."),
      causeSection(comparison.diff.because || [], comparison.b.session),
    ];
  }
}

/** @param {string} title @param {string} text */
const emptyBlock = (title, text) => h("div", { class: "empty" }, h("h2", null, title), h("p", null, text));

/** @param {any[]} sessions @param {Position} a @param {Position} b */
function picker(sessions, a, b) {
  const first = positionInputs("First", sessions, a);
  const second = positionInputs("Second", sessions, b);
  const button = h("button", { class: "btn primary", type: "submit" }, "Compare");
  const form = h("form", { class: "card compare-pick" }, first.row, second.row, button);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = `#/compare?${new URLSearchParams({ a: first.value(), b: second.value() })}`;
  });
  return form;
}

/** @param {string} name @param {any[]} sessions @param {Position} position */
function positionInputs(name, sessions, position) {
  const known = sessions.some((session) => session.id === position.session);
  const select = h(
    "select",
    { class: "field", "aria-label": `${name} session` },
    h("option", { value: "" }, "Choose a session…"),
    !known && position.session ? h("option", { value: position.session }, position.session.slice(0, 8)) : null,
    sessions.map(({ id, parent, title, agent }) =>
      h("option", { value: id }, `${parent ? "↳ " : ""}${title || "Untitled"} · ${agent}`),
    ),
  );
  select.value = position.session;
  const label = `${name} position`;
  const at = h("input", { class: "field", type: "text", "aria-label": label, placeholder: "latest", title: MOMENTS });
  at.value = position.at ?? "";
  const value = () => positionText({ session: select.value, at: at.value.trim() || null });
  return { value, row: h("fieldset", { class: "compare-side" }, h("legend", null, name), select, at) };
}

/** @param {any} comparison */
function heads({ a, b }) {
  const head = (/** @type {any} */ { session, at, title }) =>
    h(
      "a",
      { class: "compare-head", href: sessionHash(session, at) },
      h("strong", null, title || "Untitled"),
      h("span", { class: "note" }, `position ${at}`),
    );
  return h("div", { class: "diff-row heads" }, head(a), head(b));
}

/** @param {import("../lib/state_diff.js").DiffPart} part */
function partSection({ title, rows }) {
  return h("section", { class: "diff-part", "aria-label": title }, h("h2", null, title), rows.map(diffRow));
}

/** Sign and its accessible name. @type {Record<string, [string, string]>} */
const SIGNS = { added: ["+", "only second"], removed: ["−", "only first"], changed: ["±", "differs"] };

/** @param {import("../lib/state_diff.js").DiffRow} row */
function diffRow({ op, name, before, after }) {
  const [sign, label] = SIGNS[op];
  const cell = (/** @type {string} */ text) =>
    h(
      "div",
      { class: "diff-cell", dir: "auto" },
      name ? h("span", { class: "diff-name" }, name) : null,
      text ? h("span", { class: "note" }, text) : null,
    );
  const blank = () => h("div", { class: "diff-cell blank" });
  return h(
    "div",
    { class: `diff-row ${op}` },
    op === "added" ? blank() : cell(before),
    h("span", { class: "diff-sign", role: "img", "aria-label": label }, sign),
    op === "removed" ? blank() : cell(after),
  );
}

/**
 * The events that led to the difference.
 * @param {any[]} causes
 * @param {string} session the session of causes that name none
 */
function causeSection(causes, session) {
  if (!causes.length) return null;
  const items = causes.map((cause) => causeItem(cause, cause.session || session));
  return h("section", { class: "diff-part", "aria-label": "Why" }, h("h2", null, "Why"), h("ol", { class: "card list" }, items));
}

/** @param {any} cause @param {string} session */
function causeItem(cause, session) {
  if (cause.kind === "more") {
    const counts = Object.entries(cause.counts || {}).map(([kind, count]) => `${count} ${kind}`);
    return h("li", { class: "cause" }, h("span", { class: "note" }, `and more: ${counts.join(", ")}`));
  }
  const failed = cause.outcome && cause.outcome !== "ok";
  const tone = failed ? "bad" : cause.kind === "decision" ? "accent" : "";
  const note = (/** @type {string} */ text) => (text ? h("span", { class: "note" }, ` ${text}`) : null);
  return h(
    "li",
    { class: "cause" },
    h("a", { href: sessionHash(session, cause.seq), class: "seq" }, `@${cause.seq}`),
    h("span", { class: `pill ${tone}` }, failed ? cause.outcome : cause.kind),
    h(
      "span",
      { dir: "auto" },
      cause.what,
      note((cause.files || []).slice(0, 3).join(", ")),
      note(cause.why ? `– ${cause.why}` : ""),
      note(cause.retry_of === undefined ? "" : `(retry of @${cause.retry_of})`),
    ),
  );
}

customElements.define("fm-compare", CompareScreen);
