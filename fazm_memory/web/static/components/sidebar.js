/**
 * <fm-sidebar>: search, screens, and the sessions by day, newest first. Older sessions are loaded while scrolling.
 * Only the visible ones and a few more are in the document.
 */

import { api } from "../api.js";
import { now } from "../clock.js";
import { announce, errorBlock, fill, h, oncePerFrame, oneAtATime, withCommands } from "../dom.js";
import { icon } from "../icons.js";
import { groupByDay, dayName, dayOf } from "../lib/days.js";
import { parseRoute, sessionHash } from "../lib/route.js";
import { sessionWindow, topOf } from "../lib/virtual_list.js";
import { clock, endText, plural, shortPath } from "../lib/format.js";
import { screens } from "../router.js";
import { store } from "../store.js";
import "./filters.js";
import "./recording_status.js";
import "./search.js";

const PAGE_SIZE = 40;
const NEAR_END = 400; // pixels from the end at which older sessions are loaded
const REFRESH_MS = 400; // from one reading of the newest sessions to the next

class Sidebar extends HTMLElement {
  /** @type {any[]} */
  sessions = [];
  /** @type {string|null} */
  next = null;
  loading = false;
  pending = Promise.resolve(); // ends with the last load that began
  generation = 0;
  heights = { row: 66, head: 31 }; // until measured
  visible = { first: 0, last: 0, above: 0, below: 0 };

  connectedCallback() {
    this.nav = h("nav", { class: "screens", "aria-label": "Screens" });
    this.list = h("div", { class: "sessions", role: "region", "aria-label": "Sessions", tabindex: -1 });
    this.older = h(
      "button",
      { class: "btn quiet", type: "button", hidden: true, onclick: () => void this.showOlder() },
      "Older sessions",
    );
    this.errorLine = h("p", { class: "note", role: "alert", hidden: true });
    this.end = h("div", { class: "sessions-end" }, this.errorLine, this.older);
    this.scroller = h("div", { class: "sidebar-scroll" }, this.list, this.end);
    fill(
      this,
      document.createElement("fm-search"),
      this.nav,
      document.createElement("fm-session-filters"),
      this.scroller,
      document.createElement("fm-recording-status"),
    );
    this.drawSoon = oncePerFrame(() => this.draw());
    window.addEventListener("hashchange", () => this.markCurrent());
    store.watch(["session", "ms", "then"], () => this.markCurrent());
    store.watch(["sessionFilters"], () => this.load());
    const refresh = oneAtATime(() => this.refresh(), REFRESH_MS);
    document.addEventListener("fm:changes", () => void refresh());
    const scrolled = oncePerFrame(() => this.scrolled());
    this.scroller.addEventListener("scroll", scrolled, { passive: true });
    new ResizeObserver(scrolled).observe(this.scroller);
    this.drawNav();
    this.load();
  }

  drawNav() {
    fill(/** @type {HTMLElement} */ (this.nav), screenLinks());
  }

  query() {
    return { ...store.state.sessionFilters, limit: PAGE_SIZE };
  }

  load() {
    return (this.pending = this.loadNewest());
  }

  async loadNewest() {
    const generation = (this.generation += 1);
    this.loading = true;
    this.setAttribute("aria-busy", "true");
    try {
      const answer = await api.get("sessions", this.query());
      if (generation !== this.generation) return;
      this.sessions = answer.items;
      this.next = answer.next;
      document.dispatchEvent(
        new CustomEvent("fm:session-facets", {
          detail: { agents: answer.agents || [], workspaces: answer.workspaces || [], devices: answer.devices || [] },
        }),
      );
      this.draw();
    } catch (error) {
      fill(
        /** @type {HTMLElement} */ (this.list),
        errorBlock(error, () => this.load()),
      );
    } finally {
      if (generation === this.generation) {
        this.loading = false;
        this.removeAttribute("aria-busy");
      }
    }
    this.loadIfNearEnd();
  }

  /** Load the next page, or wait for the one that is loading. */
  loadMore() {
    if (!this.loading && this.next) this.pending = this.loadPage(this.next);
    return this.pending;
  }

  /** @param {string} cursor */
  async loadPage(cursor) {
    this.loading = true;
    const generation = this.generation;
    const errorLine = /** @type {HTMLElement} */ (this.errorLine);
    try {
      const answer = await api.get("sessions", { ...this.query(), cursor });
      if (generation !== this.generation) return;
      const known = new Set(this.sessions.map((session) => session.id));
      this.sessions.push(...answer.items.filter((/** @type {any} */ session) => !known.has(session.id)));
      this.next = answer.next;
      errorLine.hidden = true;
      this.draw();
    } catch (error) {
      errorLine.textContent = /** @type {any} */ (error).message;
      errorLine.hidden = false;
      return;
    } finally {
      if (generation === this.generation) this.loading = false;
    }
    this.loadIfNearEnd();
  }

  /** For people who do not scroll: load older sessions and focus the first of them. */
  async showOlder() {
    const before = this.sessions.length;
    await this.loadMore();
    const first = this.sessions[before];
    if (!first) return;
    announce(`${plural(this.sessions.length - before, "older session")} shown`);
    if (!this.linkOf(first.id)) {
      // Sessions loaded by scrolling have moved it out of view.
      /** @type {HTMLElement} */ (this.scroller).scrollTop = topOf(this.sizes(), this.heights, before);
      this.draw();
    }
    this.linkOf(first.id)?.focus();
  }

  /** Also fills a screen that is taller than one page. */
  loadIfNearEnd() {
    const box = /** @type {HTMLElement} */ (this.scroller);
    if (box.clientHeight && box.scrollTop + box.clientHeight > box.scrollHeight - NEAR_END) void this.loadMore();
  }

  scrolled() {
    const { first, last } = this.window();
    if (first !== this.visible.first || last !== this.visible.last) this.draw();
    this.loadIfNearEnd();
  }

  window() {
    const box = /** @type {HTMLElement} */ (this.scroller);
    return sessionWindow(this.sizes(), this.heights, box.scrollTop, box.clientHeight);
  }

  sizes() {
    return groupByDay(this.sessions).map((group) => group.items.length);
  }

  /** @param {string} id @returns {HTMLElement|null|undefined} */
  linkOf(id) {
    return this.list?.querySelector(`[data-session="${CSS.escape(id)}"]`);
  }

  /** Load the newest page again and keep the older ones. */
  async refresh() {
    while (this.loading) await this.pending; // its answer may be older than the change
    const generation = this.generation;
    try {
      const answer = await api.get("sessions", this.query());
      if (generation !== this.generation) return;
      const fresh = new Set(answer.items.map((/** @type {any} */ session) => session.id));
      const first = this.sessions.length === 0;
      if (!first && answer.next && !this.sessions.some((session) => fresh.has(session.id))) {
        return void this.load(); // there is a gap between the pages
      }
      this.sessions = [...answer.items, ...this.sessions.filter((session) => !fresh.has(session.id))];
      if (first) this.next = answer.next;
      this.drawSoon?.();
    } catch {
      // The page shows that the connection is lost. The next change tries again.
    }
  }

  draw(measured = false) {
    const list = /** @type {HTMLElement} */ (this.list);
    const focused = list.contains(document.activeElement)
      ? /** @type {HTMLElement} */ (document.activeElement).dataset.session
      : undefined;
    this.visible = this.window();
    list.style.setProperty("padding-top", `${this.visible.above}px`);
    list.style.setProperty("padding-bottom", `${this.visible.below}px`);
    fill(list, this.sessions.length ? this.days() : this.empty());
    /** @type {HTMLElement} */ (this.older).hidden = !this.next;
    this.markCurrent();
    if (focused) (this.linkOf(focused) || list).focus({ preventScroll: true });
    if (!measured && this.measure()) this.draw(true);
  }

  /** The visible sessions under the headings of their days. */
  days() {
    const today = dayOf(now());
    const { first, last } = this.visible;
    let at = 0;
    return groupByDay(this.sessions).map((group, nth, groups) => {
      const begin = at;
      at += group.items.length;
      const shown = group.items.slice(Math.max(0, first - begin), Math.max(0, last - begin));
      if (!shown.length) return null;
      const incomplete = nth === groups.length - 1 && this.next; // the day may have more sessions
      const position = Math.max(0, first - begin) + 1;
      const item = (/** @type {any} */ session, /** @type {number} */ index) =>
        h("li", { "aria-setsize": incomplete ? -1 : group.items.length, "aria-posinset": position + index }, this.sessionLink(session));
      return h(
        "section",
        null,
        h("h2", { class: "day-heading" }, dayName(group.day, today)),
        h("ul", null, shown.map(item)),
      );
    });
  }

  /** Measure the heights of a row and a heading. Returns whether they changed. */
  measure() {
    const row = this.list?.querySelector("li")?.getBoundingClientRect().height;
    const head = this.list?.querySelector("h2.day-heading")?.getBoundingClientRect().height;
    if (!row || !head || (row === this.heights.row && head === this.heights.head)) return false;
    this.heights = { row, head };
    return true;
  }

  /** @param {any} session */
  sessionLink(session) {
    const on = session.device ? `on ${session.device}` : "";
    const facts = [session.agent, on, shortPath(session.workspace, 1)].filter(Boolean).join(" · ");
    return h(
      "a",
      {
        class: `session is-${session.ended ? "ended" : session.lifecycle}`,
        href: sessionHash(session.id),
        "data-session": session.id,
        "data-opened": session.opened_ms,
        title: [session.title, session.workspace].filter(Boolean).join("\n"),
      },
      h("span", { class: "session-dot", "aria-hidden": "true" }),
      h("span", { class: "session-title" }, session.title || "Untitled session"),
      h(
        "span",
        { class: "session-facts" },
        h("span", { class: "session-time" }, clock(session.last_ms)),
        h("span", { class: "session-about" }, facts),
        h("span", { class: "visually-hidden" }, `, ${endText(session)}, `),
        session.open_questions ? h("span", { class: "pill accent" }, plural(session.open_questions, "question")) : null,
        session.failures ? h("span", { class: "pill bad" }, `${session.failures} failed`) : null,
        session.parent ? h("span", { class: "pill" }, "fork") : null,
      ),
    );
  }

  empty() {
    const filtered = Object.values(store.state.sessionFilters).some(Boolean);
    const [title, text] = filtered
      ? ["No sessions match", "No session matches all filters. Clear one of them."]
      : [
          "Nothing recorded yet",
          "No agent is connected, or none has been active yet. Run `fazm-memory connect` in a terminal, or open Settings.",
        ];
    return h("div", { class: "empty" }, h("h2", null, title), h("p", null, withCommands(text)));
  }

  markCurrent() {
    const { session } = store.state;
    const ms = parseRoute(location.hash).screen || !store.state.then ? null : store.state.ms;
    for (const link of this.list?.querySelectorAll("a.session") || []) {
      const { dataset } = /** @type {HTMLElement} */ (link);
      if (dataset.session === session) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      link.classList.toggle("is-later", ms !== null && Number(dataset.opened) > ms);
    }
    this.drawNav();
  }
}

/** The links to the screens, for the sidebar and for what is left of it when it is folded. */
export function screenLinks() {
  const route = parseRoute(location.hash);
  const { session, seq, then } = store.state;
  const link = (/** @type {string} */ hash, /** @type {string} */ glyph, /** @type {string} */ title, /** @type {boolean} */ current) =>
    h("a", { href: hash, title, "aria-current": current ? "page" : null }, icon(glyph), h("span", null, title));
  return [
    link(session ? sessionHash(session, seq, then) : "#/", "clock", "Timeline", !route.screen),
    ...screens.filter(({ unlisted }) => !unlisted).map(({ name, title }) => link(`#/${name}`, name, title, route.screen === name)),
  ];
}

customElements.define("fm-sidebar", Sidebar);
