/**
 * <fm-sidebar>: the screens, and the sessions by day, latest first. Older ones are read as they are scrolled to or
 * asked for, however many there are; only those in sight and a few beside them stand in the document.
 */

import { api } from "../api.js";
import { announce, fill, framed, h, prose, trouble } from "../dom.js";
import { icon } from "../icons.js";
import { byDay, dayName, dayOf } from "../layout/days.js";
import { readRoute, sessionHash } from "../layout/route.js";
import { sessionWindow, topOf } from "../layout/session_window.js";
import { clock, counted, shortPath } from "../layout/words.js";
import { allViews } from "../registry.js";
import { store } from "../store.js";
import "./recording.js";
import "./search.js";
import "./shelf.js";

const PAGE = 40;
const NEAR = 400; // pixels before the end at which older sessions are read

class Sidebar extends HTMLElement {
  /** @type {any[]} */
  sessions = [];
  /** @type {string|null} */
  next = null;
  loading = false;
  reading = Promise.resolve();
  generation = 0;
  heights = { row: 48, head: 31 }; // until they are measured
  shown = { first: 0, last: 0, above: 0, below: 0 };

  connectedCallback() {
    this.screens = h("nav", { class: "screens", "aria-label": "Screens" });
    this.list = h("div", { class: "sessions", role: "region", "aria-label": "Sessions", tabindex: -1 });
    this.older = h(
      "button",
      { class: "btn quiet", type: "button", hidden: true, onclick: () => void this.askOlder() },
      "Older sessions",
    );
    this.trouble = h("p", { class: "note", role: "alert", hidden: true });
    this.end = h("div", { class: "sessions-end" }, this.trouble, this.older);
    this.scroller = h("div", { class: "sidebar-scroll" }, this.list, this.end);
    fill(
      this,
      document.createElement("fm-search"),
      this.screens,
      document.createElement("fm-shelf"),
      this.scroller,
      document.createElement("fm-recording"),
    );
    this.drawSoon = framed(() => this.draw());
    document.addEventListener("fm:views", () => this.nav());
    window.addEventListener("hashchange", () => this.mark());
    store.watch(["session", "ms"], () => this.mark());
    store.watch(["shelf"], () => this.load());
    document.addEventListener("fm:changes", () => this.refresh());
    const look = framed(() => this.look());
    this.scroller.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(this.scroller);
    this.nav();
    this.load();
  }

  nav() {
    const route = readRoute(location.hash);
    const link = (
      /** @type {string} */ hash,
      /** @type {string} */ glyph,
      /** @type {string} */ title,
      /** @type {boolean} */ here,
    ) => h("a", { href: hash, "aria-current": here ? "page" : null }, icon(glyph), title);
    const back = store.state.session ? sessionHash(store.state.session, store.state.seq) : "#/";
    fill(
      /** @type {HTMLElement} */ (this.screens),
      link(back, "clock", "Timeline", route.at === "timeline"),
      allViews()
        .filter((view) => !view.hidden)
        .map((view) => link(`#/${view.name}`, view.name, view.title, route.view === view.name)),
    );
  }

  asked() {
    const { shelf } = store.state;
    return {
      agent: shelf.agent,
      workspace: shelf.workspace,
      outcome: shelf.outcome,
      lifecycle: shelf.lifecycle,
      limit: PAGE,
    };
  }

  async load() {
    const generation = (this.generation += 1);
    this.loading = true;
    try {
      const answer = await api.get("sessions", this.asked());
      if (generation !== this.generation) return;
      this.sessions = answer.items;
      this.next = answer.next;
      document.dispatchEvent(
        new CustomEvent("fm:shelf", { detail: { agents: answer.agents || [], workspaces: answer.workspaces || [] } }),
      );
      this.draw();
    } catch (error) {
      fill(
        /** @type {HTMLElement} */ (this.list),
        trouble(error, () => this.load()),
      );
    } finally {
      if (generation === this.generation) this.loading = false;
    }
    this.reach();
  }

  /** Read the next page; while one is on its way, that one. */
  more() {
    if (!this.loading && this.next) this.reading = this.readOn(this.next);
    return this.reading;
  }

  /** @param {string} cursor */
  async readOn(cursor) {
    this.loading = true;
    const generation = this.generation;
    const said = /** @type {HTMLElement} */ (this.trouble);
    try {
      const answer = await api.get("sessions", { ...this.asked(), cursor });
      if (generation !== this.generation) return;
      const had = new Set(this.sessions.map((one) => one.id));
      this.sessions.push(...answer.items.filter((/** @type {any} */ one) => !had.has(one.id)));
      this.next = answer.next;
      said.hidden = true;
      this.draw();
    } catch (error) {
      said.textContent = /** @type {any} */ (error).message;
      said.hidden = false;
      return;
    } finally {
      if (generation === this.generation) this.loading = false;
    }
    this.reach();
  }

  /** The button for those who do not scroll: older sessions, and the first of them in hand. */
  async askOlder() {
    const before = this.sessions.length;
    await this.more();
    const first = this.sessions[before];
    if (!first) return;
    announce(`${counted(this.sessions.length - before, "older session")} shown`);
    if (!this.linkOf(first.id)) {
      // Those that came by scrolling here have put it out of sight.
      /** @type {HTMLElement} */ (this.scroller).scrollTop = topOf(this.sizes(), this.heights, before);
      this.draw();
    }
    this.linkOf(first.id)?.focus();
  }

  /** Read on when the end is near, also on a screen that one page does not fill. */
  reach() {
    const box = /** @type {HTMLElement} */ (this.scroller);
    if (box.clientHeight && box.scrollTop + box.clientHeight > box.scrollHeight - NEAR) void this.more();
  }

  /** Another part of the list came in sight. */
  look() {
    const { first, last } = this.window();
    if (first !== this.shown.first || last !== this.shown.last) this.draw();
    this.reach();
  }

  window() {
    const box = /** @type {HTMLElement} */ (this.scroller);
    return sessionWindow(this.sizes(), this.heights, box.scrollTop, box.clientHeight);
  }

  sizes() {
    return byDay(this.sessions).map((group) => group.items.length);
  }

  /** @param {string} id @returns {HTMLElement|null|undefined} */
  linkOf(id) {
    return this.list?.querySelector(`[data-session="${CSS.escape(id)}"]`);
  }

  /** Something was recorded: read the newest page again, and keep what was loaded below it. */
  async refresh() {
    if (this.loading) return;
    const generation = this.generation;
    try {
      const answer = await api.get("sessions", this.asked());
      if (generation !== this.generation) return;
      const fresh = new Set(answer.items.map((/** @type {any} */ one) => one.id));
      const first = this.sessions.length === 0;
      if (!first && answer.next && !this.sessions.some((one) => fresh.has(one.id))) return void this.load(); // a gap
      this.sessions = [...answer.items, ...this.sessions.filter((one) => !fresh.has(one.id))];
      if (first) this.next = answer.next;
      this.drawSoon?.();
    } catch {
      // The line to the back end is down; the shell already says so, and the next change reads again.
    }
  }

  draw(measured = false) {
    const list = /** @type {HTMLElement} */ (this.list);
    const focused = list.contains(document.activeElement)
      ? /** @type {HTMLElement} */ (document.activeElement).dataset.session
      : undefined;
    this.shown = this.window();
    list.style.setProperty("padding-top", `${this.shown.above}px`);
    list.style.setProperty("padding-bottom", `${this.shown.below}px`);
    fill(list, this.sessions.length ? this.days() : this.empty());
    /** @type {HTMLElement} */ (this.older).hidden = !this.next;
    this.mark();
    if (focused) (this.linkOf(focused) || list).focus({ preventScroll: true });
    if (!measured && this.measure()) this.draw(true);
  }

  /** The sessions in the window, under the names of their days. */
  days() {
    const today = dayOf(Date.now());
    const { first, last } = this.shown;
    let at = 0;
    return byDay(this.sessions).map((group, nth, groups) => {
      const begin = at;
      at += group.items.length;
      const inside = group.items.slice(Math.max(0, first - begin), Math.max(0, last - begin));
      if (!inside.length) return null;
      const open = nth === groups.length - 1 && this.next; // nobody knows yet how many that day had
      const place = Math.max(0, first - begin) + 1;
      const item = (/** @type {any} */ one, /** @type {number} */ index) =>
        h("li", { "aria-setsize": open ? -1 : group.items.length, "aria-posinset": place + index }, this.session(one));
      return h("section", null, h("h2", { class: "day-name" }, dayName(group.day, today)), h("ul", null, inside.map(item)));
    });
  }

  /** How high a row and a name are here, with this person's font; whether that is news. */
  measure() {
    const row = this.list?.querySelector("li")?.getBoundingClientRect().height;
    const head = this.list?.querySelector("h2.day-name")?.getBoundingClientRect().height;
    if (!row || !head || (row === this.heights.row && head === this.heights.head)) return false;
    this.heights = { row, head };
    return true;
  }

  /** @param {any} one */
  session(one) {
    const facts = [one.agent, shortPath(one.workspace, 1)].filter(Boolean).join(" · ");
    return h(
      "a",
      {
        class: `session is-${one.lifecycle}`,
        href: sessionHash(one.id),
        "data-session": one.id,
        "data-opened": one.opened_ms,
        title: one.workspace || "",
      },
      h("span", { class: "session-dot", "aria-hidden": "true" }),
      h("span", { class: "session-title" }, one.title || "Untitled session"),
      h("span", { class: "session-time" }, clock(one.last_ms)),
      h(
        "span",
        { class: "session-facts" },
        h("span", { class: "session-about" }, facts),
        h("span", { class: "visually-hidden" }, `, ${one.lifecycle}, `),
        one.open_questions ? h("span", { class: "pill accent" }, counted(one.open_questions, "question")) : null,
        one.failures ? h("span", { class: "pill bad" }, `${one.failures} failed`) : null,
        one.parent ? h("span", { class: "pill" }, "fork") : null,
      ),
    );
  }

  empty() {
    const narrowed = Object.values(store.state.shelf).some(Boolean);
    const [title, words] = narrowed
      ? ["No session fits", "The filters leave nothing over. Clear one of them."]
      : [
          "Nothing recorded yet",
          "No agent is connected, or none has worked since. Run `fazm-memory connect` in a terminal, or look at Settings.",
        ];
    return h("div", { class: "empty" }, h("h2", null, title), h("p", null, prose(words)));
  }

  mark() {
    const { session } = store.state;
    const ms = readRoute(location.hash).at === "timeline" ? store.state.ms : null; // elsewhere nothing is later
    for (const link of this.list?.querySelectorAll("a.session") || []) {
      const { dataset } = /** @type {HTMLElement} */ (link);
      if (dataset.session === session) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      link.classList.toggle("is-later", ms !== null && Number(dataset.opened) > ms);
    }
    this.nav();
  }
}

customElements.define("fm-sidebar", Sidebar);
