/**
 * A call and its retry: both results, their difference, and what else changed in between.
 */

import { h } from "../dom.js";
import { duration, outcomeName, relativePath } from "../lib/format.js";
import { screenHash, sessionHash } from "../lib/route.js";
import { textDiff } from "./file_diff.js";

/** @param {string} session @param {any} retry @param {string|null} [workspace] */
export function retryDetails(session, retry, workspace) {
  const { before, after, changed, meanwhile } = retry;
  const result = (/** @type {any} */ one) => [outcomeName(one.outcome), duration(one.duration_ms)].filter(Boolean).join(", ");
  const place = (/** @type {number} */ seq) => h("a", { href: sessionHash(session, seq) }, `position ${seq}`);
  const differs = changed.length ? `Different: ${changed.join(", ")}.` : "The result is the same.";
  return h(
    "div",
    { class: "retry" },
    h(
      "p",
      null,
      "First ",
      place(retry.retry_of),
      before ? ` (${result(before)})` : " (no longer recorded)",
      ", then ",
      place(retry.seq),
      ` (${result(after)}).`,
    ),
    before ? h("p", { class: "note" }, differs) : null,
    retry.diff ? textDiff(retry.diff) : null,
    between(session, meanwhile, workspace),
  );
}

/** @param {string} session @param {any} meanwhile @param {string|null|undefined} workspace */
function between(session, { files, requests, decisions }, workspace) {
  const place = (/** @type {any} */ one) => h("a", { href: sessionHash(session, one.seq), class: "seq" }, `@${one.seq}`);
  const items = [
    ...requests.map((/** @type {any} */ one) => h("li", { dir: "auto" }, place(one), " asked: ", one.text)),
    ...decisions.map((/** @type {any} */ one) => h("li", { dir: "auto" }, place(one), " decided: ", one.what)),
    ...files.map((/** @type {any} */ one) =>
      h("li", null, h("a", { href: screenHash("files", { path: one.path }) }, relativePath(one.path, workspace)), ` changed by ${authorName(one.by)}`),
    ),
  ];
  if (!items.length) return h("p", { class: "note" }, "No request, decision or file change is known in between.");
  return [h("p", { class: "note" }, "In between:"), h("ul", { class: "meanwhile" }, items)];
}

/** @param {string} by */
export const authorName = (by) => ({ agent: "the agent", person: "you", unknown: "somebody unknown" })[by] || by;
