/**
 * One fact of the context: what it says, where it comes from, why it is in or out, and the say a person has.
 */

import { h } from "../dom.js";
import { sessionHash } from "../layout/route.js";

/** What a kind of fact is called. @type {Record<string, string>} */
const KINDS = {
  question: "question",
  pending: "to do",
  failed: "failed",
  interrupted: "interrupted",
  changed: "changed by others",
  said: "last words",
  held: "in quarantine",
  place: "folders",
  evicted: "compacted",
  mended: "mended",
  looked: "looked at",
  more: "more files",
};
const DOUBTED = new Set(["web", "unverified"]);

/**
 * @param {any} item
 * @param {(item: string, choice: string, words: string) => void} choose
 */
export function contextItem(item, choose) {
  const open = item.section === "OPEN";
  return h(
    "li",
    { class: "context-item", "data-choice": item.choice },
    h(
      "div",
      { class: "context-words" },
      h(
        "p",
        { class: "context-marks" },
        h("span", { class: `pill ${open ? "warn" : ""}` }, KINDS[item.kind] || item.kind),
        item.choice === "pin" ? h("span", { class: "pill accent" }, "pinned") : null,
        DOUBTED.has(item.trust) ? h("span", { class: "pill bad" }, `trust: ${item.trust}`) : null,
      ),
      h("p", { class: "context-text", dir: "auto" }, item.text),
      h(
        "p",
        { class: "note context-from" },
        h("span", { class: "context-why" }, item.why),
        item.session ? h("a", { href: sessionHash(item.session, item.seq) }, "where it is from") : null,
      ),
    ),
    says(item, choose),
  );
}

/**
 * @param {any} item
 * @param {(item: string, choice: string, words: string) => void} choose
 */
function says(item, choose) {
  const say = (/** @type {string} */ choice, /** @type {string} */ label, /** @type {string} */ words) =>
    h(
      "button",
      {
        type: "button",
        "aria-pressed": String(item.choice === choice),
        "aria-label": `${label}: ${short(item.text)}`,
        "data-focus": `${item.id} ${choice}`,
        onclick: () => choose(item.id, choice === "auto" && !item.given ? "include" : choice, words),
      },
      label,
    );
  const plain = item.given || item.choice === "exclude" || item.choice === "auto" ? "Auto" : "Include";
  return h(
    "div",
    { class: "segmented", role: "group", "aria-label": `Choice for ${short(item.text)}` },
    say("auto", item.given || item.choice !== "auto" ? plain : "Include", "Included where it fits"),
    say("pin", "Pin", "Pinned: always given"),
    say("exclude", "Exclude", "Excluded: never given"),
  );
}

/** @param {string} text */
const short = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
