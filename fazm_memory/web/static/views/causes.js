/**
 * Why two states differ: the events between them, each a way to its place in the log.
 */

import { h } from "../dom.js";
import { sessionHash } from "../layout/route.js";

/**
 * @param {any[]} causes
 * @param {string} session whose positions the causes name when they do not say
 */
export function causeList(causes, session) {
  if (!causes.length) return null;
  return h(
    "section",
    { class: "diff-part", "aria-label": "Why" },
    h("h2", null, "Why"),
    h("ol", { class: "card list" }, causes.map((one) => cause(one, one.session || session))),
  );
}

/**
 * @param {any} one
 * @param {string} session
 */
function cause(one, session) {
  if (one.kind === "more") {
    const rest = Object.entries(one.counts || {}).map(([kind, count]) => `${count} ${kind}`);
    return h("li", { class: "cause" }, h("span", { class: "note" }, `and more: ${rest.join(", ")}`));
  }
  const failed = one.outcome && one.outcome !== "ok";
  const files = (one.files || []).slice(0, 3).join(", ");
  return h(
    "li",
    { class: "cause" },
    h("a", { href: sessionHash(session, one.seq), class: "seq" }, `@${one.seq}`),
    h("span", { class: `pill ${failed ? "bad" : one.kind === "decision" ? "accent" : ""}` }, failed ? one.outcome : one.kind),
    h(
      "span",
      { dir: "auto" },
      one.what,
      files ? h("span", { class: "note" }, ` ${files}`) : null,
      one.why ? h("span", { class: "note" }, ` – ${one.why}`) : null,
      one.retry_of !== undefined ? h("span", { class: "note" }, ` (again, after @${one.retry_of})`) : null,
    ),
  );
}
