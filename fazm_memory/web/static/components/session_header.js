/**
 * <fm-session-header>: the session, its commands, its open questions, and the selected moment.
 */

import { now } from "../clock.js";
import { fill, h, keepFocus } from "../dom.js";
import { icon } from "../icons.js";
import { dayName, dayOf } from "../lib/days.js";
import { screenHash, sessionHash } from "../lib/route.js";
import { clock, dollars, endText, plural, shortPath } from "../lib/format.js";
import { navigate, runCommand } from "../router.js";
import { store } from "../store.js";
import { lastWork } from "../time_window.js";
import { Menu } from "./menu.js";

/** @type {Record<string, string>} */
const TONES = { active: "good", resumed: "good", open: "good", paused: "warn", closed: "", archived: "" };

/** Commands that keep their label where the others are only icons. */
const MAIN = new Set(["resume", "rewind"]);

class SessionHeader extends HTMLElement {
  connectedCallback() {
    this.head = h("header", { class: "session-head" });
    this.questions = h("div");
    this.playhead = h("div", { class: "playhead-bar", role: "status", hidden: true });
    fill(this, this.head, this.questions, this.playhead);
    store.watch(["info", "day"], () => this.draw());
    store.watch(["ms", "seq", "then", "info"], () => this.drawPlayhead());
    this.draw();
    this.drawPlayhead();
  }

  draw() {
    const { info, day } = store.state;
    const head = /** @type {HTMLElement} */ (this.head);
    if (!info) {
      fill(/** @type {HTMLElement} */ (this.questions)); // those of the previous session
      return fill(head, day ? h("h1", null, dayName(day, dayOf(now()))) : null);
    }
    const menu = /** @type {Menu|null} */ (head.querySelector("fm-menu"));
    if (menu?.open && this.drawn === info.id) {
      // Do not redraw an open menu. Updates are drawn when it closes.
      menu.onclose = () => this.draw();
      return;
    }
    this.drawn = info.id;
    const restoreFocus = keepFocus(this, () => head.querySelector(".session-commands button"));
    fill(
      head,
      h(
        "div",
        { class: "session-name" },
        h(
          "div",
          { class: "session-heading" },
          h("h1", null, info.title || "Untitled session"),
          h("span", { class: `pill ${info.ended ? "" : TONES[info.lifecycle] || ""}` }, endText(info)),
        ),
        h("p", { class: "session-facts-line" }, this.facts(info)),
      ),
      h("div", { class: "session-commands", role: "toolbar", "aria-label": "Session" }, this.commands(info)),
    );
    fill(
      /** @type {HTMLElement} */ (this.questions),
      (info.questions || []).map((/** @type {any} */ question) =>
        h(
          "div",
          { class: "question-bar" },
          icon("handoff"),
          h("a", { href: sessionHash(info.id, question.seq), class: "question-note" }, question.note),
          h("span", { class: "pill accent" }, question.to === "human" ? "waiting for you" : "waiting for an agent"),
          h(
            "button",
            {
              class: "btn",
              type: "button",
              onclick: () => runCommand("answer", { session: info.id, question: question.id }),
            },
            "Answer…",
          ),
          h(
            "button",
            {
              class: "btn quiet",
              type: "button",
              onclick: () => runCommand("waive", { session: info.id, question: question.id }),
            },
            "Waive",
          ),
        ),
      ),
    );
    restoreFocus();
  }

  /** @param {any} info */
  facts(info) {
    const parent = info.parent_session;
    const forks = (info.branches || []).filter((/** @type {any} */ branch) => branch.parent === info.id);
    return [
      h("span", null, info.agent),
      info.device ? h("span", { class: "pill", title: "Recorded on this machine" }, `on ${info.device}`) : null,
      info.workspace ? h("span", { title: info.workspace }, shortPath(info.workspace, 2)) : null,
      info.branch ? h("span", { title: "Branch" }, info.branch) : null,
      h("span", null, plural(info.turns, "turn")),
      h("span", null, plural(info.actions, "action")),
      info.failures ? h("span", { class: "is-bad" }, `${info.failures} failed`) : null,
      info.files_modified
        ? h("a", { href: screenHash("files", { session: info.id }) }, `${plural(info.files_modified, "file")} changed`)
        : null,
      info.retries
        ? h("a", { href: screenHash("retries", { session: info.id }) }, info.retries === 1 ? "1 retry" : `${info.retries} retries`)
        : null,
      h("span", { title: "From the first to the last event" }, spanText(info.opened_ms, lastWork(info))),
      info.cost?.usd ? h("span", { title: costText(info.cost) }, dollars(info.cost)) : null,
      parent
        ? h(
            "a",
            { href: sessionHash(parent.id, info.parent_seq ? info.parent_seq - 1 : null) },
            `forked from ${parent.title || "a session"}`,
          )
        : null,
      forks.length
        ? h(
            "span",
            null,
            plural(forks.length, "fork"),
            ": ",
            forks
              .slice(0, 3)
              .map((/** @type {any} */ fork, /** @type {number} */ index) => [
                index ? ", " : "",
                h("a", { href: sessionHash(fork.id) }, fork.title || "untitled"),
              ])
              .flat(),
          )
        : null,
    ];
  }

  /** @param {any} info */
  commands(info) {
    const session = info.id;
    const ended = ["closed", "archived"].includes(info.lifecycle);
    const button = (
      /** @type {string} */ glyph,
      /** @type {string} */ label,
      /** @type {() => void} */ onclick,
      ) =>
      h(
        "button",
        { class: MAIN.has(glyph) ? "btn is-main" : "btn", type: "button", "aria-label": label, title: label, onclick },
        icon(glyph),
        h("span", { class: "btn-label" }, label),
      );
    const position = () => (store.state.seq === null ? null : store.state.seq + 1);
    const more = h("button", { class: "btn icon", type: "button", "aria-label": "More", title: "More" }, icon("more"));
    return [
      info.lifecycle === "archived"
        ? button("resume", "Restore", () => runCommand("restore", { session }))
        : button("resume", "Resume", () => runCommand("resume", { session })),
      ended || info.lifecycle === "paused" ? null : button("pause", "Pause", () => runCommand("pause", { session })),
      button("rewind", "Rewind…", () => runCommand("rewind", { session, seq: store.state.seq })),
      button("fork", "Fork…", () => runCommand("fork", { session, seq: position() })),
      button("handoff", "Hand off…", () => runCommand("handoff", { session })),
      Menu.of(more, "More", () => [
          { label: "Compare with now", act: () => compare(info) },
          { label: "Replay plan…", act: () => runCommand("replay", { session }) },
          ...(info.latest_rewind !== null ? [{ label: "Undo the last rewind…", act: () => runCommand("undo", { session }) }] : []),
          { label: "Export…", act: () => runCommand("export", { session }) },
          null,
          ...(ended ? [] : [{ label: "Close session", act: () => runCommand("close", { session }) }]),
          ...(info.lifecycle === "archived" ? [] : [{ label: "Archive", act: () => runCommand("archive", { session }) }]),
          ...(info.workspace ? [{ label: "Exclude this folder…", act: () => runCommand("exclude", { folder: info.workspace }) }] : []),
          null,
          { label: "Quarantine session…", act: () => runCommand("quarantine", { session }), danger: true },
          {
            label: "Forget a time range…",
            act: () =>
              runCommand("forget-range", { session, since: store.state.range?.from, until: store.state.range?.to }),
            danger: true,
          },
      ]),
    ];
  }

  drawPlayhead() {
    const { ms, seq, then, info } = store.state;
    const bar = /** @type {HTMLElement} */ (this.playhead);
    bar.hidden = !then || seq === null || ms === null || !info;
    if (bar.hidden || seq === null || ms === null) return fill(bar);
    const today = dayOf(now());
    const day = dayOf(ms);
    const when = day === today ? clock(ms) : `${dayName(day, today)}, ${clock(ms)}`;
    fill(
      bar,
      icon("clock"),
      h(
        "span",
        null,
        "You are looking back to ",
        h("strong", null, when),
        h(
          "span",
          { class: "playhead-count" },
          ` · event ${(seq + 1).toLocaleString("en")} of ${info.events.toLocaleString("en")}`,
        ),
      ),
      h("button", { class: "btn quiet", type: "button", onclick: () => compare(info) }, "Compare with now"),
      h("button", { class: "btn primary", type: "button", onclick: () => returnToNow() }, "Return to now"),
    );
  }
}

/** @param {number} from @param {number} to */
function spanText(from, to) {
  const today = dayOf(now());
  const [first, last] = [dayOf(from), dayOf(to)];
  return `${dayName(first, today)} ${clock(from)} – ${first === last ? "" : `${dayName(last, today)} `}${clock(to)}`;
}

/** @param {any} cost */
const costText = ({ input_tokens: input, output_tokens: output, cached_tokens: cached }) =>
  `Tokens: ${input.toLocaleString("en")} in, ${output.toLocaleString("en")} out, ${cached.toLocaleString("en")} from the cache`;

/** @param {any} info */
function compare(info) {
  const at = store.state.seq === null ? 0 : store.state.seq + 1;
  navigate(`#/compare?a=${encodeURIComponent(`${info.id}@${at}`)}&b=${encodeURIComponent(`${info.id}@${info.events}`)}`);
}

export function returnToNow() {
  const { session } = store.state;
  store.set({ live: true });
  if (session) navigate(sessionHash(session));
}

customElements.define("fm-session-header", SessionHeader);
