/**
 * <fm-decisions>: decisions and open points of all sessions. What the user says of them is recorded as the user's
 * word, and the next context tells it.
 */

import { api } from "../api.js";
import { CommandDialog, textArea } from "../commands/dialog.js";
import { runCommand } from "../router.js";
import { now } from "../clock.js";
import { fill, h } from "../dom.js";
import { ago, endText } from "../lib/format.js";
import { sessionHash } from "../lib/route.js";
import { Screen } from "./screen.js";

/** @typedef {Record<string, any>} Point */

const SHOWN = /** @type {[string, string][]} */ ([
  ["open", "Open"],
  ["holds", "Decided"],
  ["superseded", "Superseded"],
]);
const BY = /** @type {[string, string][]} */ ([
  ["", "Anybody"],
  ["person", "You"],
  ["agent", "Agent"],
]);

class DecisionsScreen extends Screen {
  heading = "Decisions and open points";
  about = "Of all sessions. What you mark here is your word in the next context.";
  shown = "open";
  by = "";
  pages = 1;

  async draw() {
    const points = [];
    /** @type {string|null} */
    let cursor = null;
    for (let page = 0; page < this.pages; page += 1) {
      /** @type {any} */
      const answer = await api.get("points", { by: this.by, cursor });
      points.push(...answer.items);
      cursor = answer.next;
      if (!cursor) break;
    }
    this.drawTools(points);
    const shown = points.filter((point) => point.state === this.shown);
    return [
      shown.length
        ? h("div", { class: "points" }, bySession(shown).map((group) => this.group(group)))
        : h("div", { class: "empty" }, h("h2", null, EMPTY[this.shown]), h("p", null, "Other tabs or older sessions may have some.")),
      cursor ? h("button", { class: "btn", type: "button", onclick: () => this.more() }, "Older sessions") : null,
    ];
  }

  more() {
    this.pages += 1;
    void this.load();
  }

  /** @param {Point[]} points */
  drawTools(points) {
    const choice = (/** @type {string} */ label, /** @type {[string, string][]} */ options, /** @type {"shown"|"by"} */ name) =>
      h(
        "div",
        { class: "segmented", role: "group", "aria-label": label },
        options.map(([value, text]) => {
          const count = name === "shown" ? points.filter((point) => point.state === value).length : null;
          const choose = () => {
            this[name] = value;
            void this.load();
          };
          return h(
            "button",
            { type: "button", "aria-pressed": String(this[name] === value), "data-focus": `${name} ${value}`, onclick: choose },
            count === null ? text : `${text} ${count}`,
          );
        }),
      );
    const focused = document.activeElement?.getAttribute("data-focus");
    fill(/** @type {HTMLElement} */ (this.tools), choice("Which", SHOWN, "shown"), choice("By", BY, "by"));
    if (focused) /** @type {HTMLElement|null} */ (this.tools?.querySelector(`[data-focus="${focused}"]`))?.focus();
  }

  /** @param {Point[]} group points of one session */
  group(group) {
    const { session, title } = group[0];
    return h(
      "section",
      { class: "card thread", "aria-label": title || "Untitled session" },
      h("h2", { dir: "auto" }, h("a", { href: sessionHash(session) }, title || "Untitled session"), h("span", { class: "pill" }, endText(/** @type {any} */ (group[0])))),
      h("ul", { class: "points-list" }, group.map((point) => h("li", null, this.text(point), h("div", { class: "buttons" }, this.buttons(point))))),
    );
  }

  /** @param {Point} point */
  text({ text, why, question, seq, session, by, kind, at }) {
    const body = seq === null ? text : h("a", { href: sessionHash(session, seq) }, text);
    const about = [kind === "decision" && by === "person" ? "decided by you" : KINDS[kind], at ? ago(Date.parse(at), now()) : ""];
    return h(
      "div",
      { dir: "auto" },
      question ? h("p", { class: "note" }, question) : null,
      h("p", { class: "point-text" }, body),
      why ? h("p", { class: "note" }, why) : null,
      h("p", { class: "note" }, about.filter(Boolean).join(" · ")),
    );
  }

  /** @param {Point} point */
  buttons(point) {
    const button = (/** @type {string} */ label, /** @type {() => void} */ onclick) =>
      h("button", { class: "btn", type: "button", "aria-label": `${label}: ${point.text.slice(0, 80)}`, onclick }, label);
    if (point.state === "superseded") return [];
    if (point.kind === "question")
      return [button("Answer…", () => runCommand("answer", { session: point.session, question: point.id }))];
    if (point.kind === "decision")
      return [button("Superseded…", () => this.say(point, "superseded")), button("Wrong…", () => this.say(point, "wrong"))];
    if (point.kind === "asked")
      return [button("Answer…", () => this.say(point, "done")), button("No longer needed", () => void this.mark(point, "superseded", ""))];
    if (point.kind === "handover") return [button("No longer open", () => void this.mark(point, "done", ""))];
    return [button("Done", () => void this.mark(point, "done", ""))];
  }

  /** @param {Point} point @param {string} mark @param {string} said */
  mark({ session, kind, seq, id, text }, mark, said) {
    return this.apply(api.post("points", { session, kind, seq, id, text, mark, said }), "Recorded");
  }

  /** Ask for the user's word. @param {Point} point @param {"done"|"superseded"|"wrong"} mark */
  say(point, mark) {
    const dialog = new CommandDialog({
      title: TITLES[mark],
      about: point.text,
      confirm: "Record",
    });
    const said = textArea(mark === "superseded" ? "Your word (may stay empty)" : "Your word");
    dialog.fill(said.row, h("p", { class: "note" }, "The next session reads this as your word."));
    dialog.open(async () => {
      await api.post("points", {
        session: point.session, kind: point.kind, seq: point.seq, id: point.id, text: point.text, mark, said: said.input.value.trim() || null,
      }); // prettier-ignore
      dialog.close();
      await this.load();
    });
  }
}

/** @type {Record<string, string>} */
const KINDS = { asked: "asked by the agent", question: "waits for your answer", pending: "to do", todo: "step of the agent's list", handover: "", decision: "decided by the agent" };
/** @type {Record<string, string>} */
const TITLES = { done: "Your answer", superseded: "What holds now?", wrong: "What is right instead?" };
/** @type {Record<string, string>} */
const EMPTY = { open: "Nothing is open", holds: "No decisions", superseded: "Nothing was superseded" };

/** @param {Point[]} points @returns {Point[][]} */
function bySession(points) {
  /** @type {Map<string, Point[]>} */
  const groups = new Map();
  for (const point of points) groups.set(point.session, [...(groups.get(point.session) || []), point]);
  return [...groups.values()];
}

customElements.define("fm-decisions", DecisionsScreen);
