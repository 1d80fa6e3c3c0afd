/**
 * <fm-header>: the session that is shown, what can be done with it, what it waits for, and where in time the reader
 * stands.
 */

import { fill, h, inHand } from "../dom.js";
import { icon } from "../icons.js";
import { dayName, dayOf } from "../layout/days.js";
import { sessionHash } from "../layout/route.js";
import { clock, counted, duration, shortPath } from "../layout/words.js";
import { askVerb } from "../registry.js";
import { go } from "../router.js";
import { store } from "../store.js";
import { Menu } from "./menu.js";

/** @type {Record<string, string>} */
const LOOK = { active: "good", resumed: "good", open: "good", paused: "warn", closed: "", archived: "" };

class Header extends HTMLElement {
  connectedCallback() {
    this.head = h("header", { class: "session-head" });
    this.asks = h("div", { class: "asks" });
    this.moment = h("div", { class: "moment", role: "status", hidden: true });
    fill(this, this.head, this.asks, this.moment);
    store.watch(["info", "day"], () => this.draw());
    store.watch(["ms", "seq", "info"], () => this.stand());
    this.draw();
    this.stand();
  }

  draw() {
    const { info, day } = store.state;
    const head = /** @type {HTMLElement} */ (this.head);
    if (!info) {
      fill(/** @type {HTMLElement} */ (this.asks)); // those of a session that was shown before
      return fill(head, day ? h("h1", null, dayName(day, dayOf(Date.now()))) : null);
    }
    const menu = /** @type {Menu|null} */ (head.querySelector("fm-menu"));
    if (menu?.open && this.drawn === info.id) {
      // Whoever chooses from it does so in peace: news of a session that goes on waits until it is closed.
      menu.onclose = () => this.draw();
      return;
    }
    this.drawn = info.id;
    const again = inHand(this, () => head.querySelector(".session-verbs button")); // what was pressed may be gone
    fill(
      head,
      h(
        "div",
        { class: "session-name" },
        h(
          "div",
          { class: "session-called" },
          h("h1", null, info.title || "Untitled session"),
          h("span", { class: `pill ${LOOK[info.lifecycle] || ""}` }, info.lifecycle),
        ),
        h("p", { class: "session-line" }, this.facts(info)),
      ),
      h("div", { class: "session-verbs", role: "toolbar", "aria-label": "Session" }, this.verbs(info)),
    );
    fill(
      /** @type {HTMLElement} */ (this.asks),
      (info.questions || []).map((/** @type {any} */ one) =>
        h(
          "div",
          { class: "ask" },
          icon("handoff"),
          h("a", { href: sessionHash(info.id, one.seq), class: "ask-note" }, one.note),
          h("span", { class: "pill accent" }, one.to === "human" ? "waits for you" : "waits for an agent"),
          h(
            "button",
            {
              class: "btn",
              type: "button",
              onclick: () => askVerb("answer", { session: info.id, question: one.id }),
            },
            "Answer…",
          ),
          h(
            "button",
            {
              class: "btn quiet",
              type: "button",
              onclick: () => askVerb("waive", { session: info.id, question: one.id }),
            },
            "Waive",
          ),
        ),
      ),
    );
    again();
  }

  /** @param {any} info */
  facts(info) {
    const from = info.parent_session;
    const forks = (info.branches || []).filter((/** @type {any} */ one) => one.parent === info.id);
    return [
      h("span", null, info.agent),
      info.workspace ? h("span", { title: info.workspace }, shortPath(info.workspace, 2)) : null,
      h("span", null, counted(info.turns, "turn")),
      h("span", null, counted(info.actions, "action")),
      info.failures ? h("span", { class: "is-bad" }, `${info.failures} failed`) : null,
      h("span", null, duration(info.last_ms - info.opened_ms)),
      from
        ? h(
            "a",
            { href: sessionHash(from.id, info.parent_seq ? info.parent_seq - 1 : null) },
            `forked from ${from.title || "a session"}`,
          )
        : null,
      forks.length
        ? h(
            "span",
            null,
            counted(forks.length, "fork"),
            ": ",
            forks
              .slice(0, 3)
              .map((/** @type {any} */ one, /** @type {number} */ index) => [
                index ? ", " : "",
                h("a", { href: sessionHash(one.id) }, one.title || "untitled"),
              ])
              .flat(),
          )
        : null,
    ];
  }

  /** @param {any} info */
  verbs(info) {
    const session = info.id;
    const done = ["closed", "archived"].includes(info.lifecycle);
    const button = (
      /** @type {string} */ glyph,
      /** @type {string} */ label,
      /** @type {() => void} */ onclick,
      look = "",
    ) =>
      h(
        "button",
        { class: `btn ${look}`, type: "button", "aria-label": label, title: label, onclick },
        icon(glyph),
        h("span", { class: "btn-word" }, label),
      );
    const position = () => (store.state.seq === null ? null : store.state.seq + 1);
    const more = h("button", { class: "btn icon", type: "button", "aria-label": "More", title: "More" }, icon("more"));
    return [
      info.lifecycle === "archived"
        ? button("resume", "Restore", () => askVerb("restore", { session }))
        : button("resume", "Resume", () => askVerb("resume", { session })),
      done || info.lifecycle === "paused" ? null : button("pause", "Pause", () => askVerb("pause", { session })),
      button("rewind", "Rewind…", () =>
        askVerb("rewind", { session, seq: position() ?? Math.max(1, info.events - 1) }),
      ),
      button("fork", "Fork…", () => askVerb("fork", { session, seq: position() })),
      button("handoff", "Hand off…", () => askVerb("handoff", { session })),
      Menu.of(more, "More", () =>
        [
          { label: "Compare with now", act: () => compare(info) },
          { label: "Replay plan…", act: () => askVerb("replay", { session }) },
          info.can_undo ? { label: "Undo the last rewind…", act: () => askVerb("undo", { session }) } : null,
          { label: "Export…", act: () => askVerb("export", { session }) },
          null,
          done ? null : { label: "Close session", act: () => askVerb("close", { session }) },
          info.lifecycle === "archived" ? null : { label: "Archive", act: () => askVerb("archive", { session }) },
          info.workspace
            ? { label: "Exclude this folder…", act: () => askVerb("exclude", { folder: info.workspace }) }
            : null,
          { label: "Quarantine session…", act: () => askVerb("quarantine", { session }), danger: true },
          {
            label: "Forget a stretch of time…",
            act: () =>
              askVerb("forget-range", { session, since: store.state.span?.from, until: store.state.span?.to }),
            danger: true,
          },
        ].filter((one, index, all) => one !== null || (index > 0 && all[index - 1] !== null)),
      ),
    ];
  }

  /** "You are looking at 14:32." */
  stand() {
    const { ms, seq, info } = store.state;
    const moment = /** @type {HTMLElement} */ (this.moment);
    moment.hidden = seq === null || ms === null || !info;
    if (moment.hidden || seq === null || ms === null) return fill(moment);
    const today = dayOf(Date.now());
    const day = dayOf(ms);
    const when = day === today ? clock(ms) : `${dayName(day, today)}, ${clock(ms)}`;
    fill(
      moment,
      icon("clock"),
      h(
        "span",
        null,
        "You are looking at ",
        h("strong", null, when),
        h(
          "span",
          { class: "moment-more" },
          ` · ${(seq + 1).toLocaleString("en")} of ${counted(info.events, "event")}`,
        ),
      ),
      h("button", { class: "btn quiet", type: "button", onclick: () => compare(info) }, "Compare with now"),
      h("button", { class: "btn primary", type: "button", onclick: () => returnToNow() }, "Return to now"),
    );
  }
}

/** @param {any} info */
function compare(info) {
  const at = store.state.seq === null ? 0 : store.state.seq + 1;
  go(`#/compare?a=${encodeURIComponent(`${info.id}@${at}`)}&b=${encodeURIComponent(`${info.id}@${info.events}`)}`);
}

export function returnToNow() {
  const { session } = store.state;
  store.set({ live: true });
  if (session) go(sessionHash(session));
}

customElements.define("fm-header", Header);
