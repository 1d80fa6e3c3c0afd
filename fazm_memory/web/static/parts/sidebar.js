/**
 * <fm-sidebar>: the screens, and the sessions by day, latest first, loaded as they are scrolled to.
 */

import { api } from "../api.js";
import { fill, framed, h, trouble } from "../dom.js";
import { icon } from "../icons.js";
import { byDay, dayName, dayOf } from "../layout/days.js";
import { readRoute, sessionHash } from "../layout/route.js";
import { clock, counted, shortPath } from "../layout/words.js";
import { allViews } from "../registry.js";
import { store } from "../store.js";
import "./recording.js";
import "./search.js";
import "./shelf.js";

const PAGE = 40;
const MOST = 600; // sessions in the document; older ones are found by their day, a filter or the search

class Sidebar extends HTMLElement {
  /** @type {any[]} */
  sessions = [];
  /** @type {string|null} */
  next = null;
  loading = false;
  generation = 0;

  connectedCallback() {
    this.screens = h("nav", { class: "screens", "aria-label": "Screens" });
    this.list = h("div", { class: "sessions", role: "region", "aria-label": "Sessions" });
    this.end = h("div", { class: "sessions-end" });
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
    window.addEventListener("hashchange", () => this.nav());
    store.watch(["session", "ms"], () => this.mark());
    store.watch(["shelf"], () => this.load());
    document.addEventListener("fm:changes", () => this.refresh());
    new IntersectionObserver((seen) => seen[0].isIntersecting && this.more(), { root: this.scroller }).observe(
      this.end,
    );
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
  }

  async more() {
    if (this.loading || !this.next || this.sessions.length >= MOST) return;
    this.loading = true;
    const generation = this.generation;
    try {
      const answer = await api.get("sessions", { ...this.asked(), cursor: this.next });
      if (generation !== this.generation) return;
      this.sessions.push(...answer.items);
      this.next = answer.next;
      this.draw();
    } catch (error) {
      fill(/** @type {HTMLElement} */ (this.end), h("p", { class: "note" }, /** @type {any} */ (error).message));
    } finally {
      this.loading = false;
    }
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
      this.sessions = [...answer.items, ...this.sessions.filter((one) => !fresh.has(one.id))].slice(0, MOST);
      if (first) this.next = answer.next;
      this.drawSoon?.();
    } catch {
      // The line to the back end is down; the shell already says so, and the next change reads again.
    }
  }

  draw() {
    const today = dayOf(Date.now());
    const list = /** @type {HTMLElement} */ (this.list);
    const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.dataset?.session;
    if (!this.sessions.length) {
      fill(list, this.empty());
    } else {
      fill(
        list,
        byDay(this.sessions).map((group) =>
          h(
            "section",
            null,
            h("h2", { class: "day-name" }, dayName(group.day, today)),
            h(
              "ul",
              null,
              group.items.map((one) => h("li", null, this.session(one))),
            ),
          ),
        ),
      );
    }
    fill(
      /** @type {HTMLElement} */ (this.end),
      this.sessions.length >= MOST && this.next
        ? h("p", { class: "note" }, "Older sessions: pick their day, or search.")
        : null,
    );
    this.mark();
    if (focused)
      list.querySelector(`[data-session="${CSS.escape(focused)}"]`)?.dispatchEvent(new CustomEvent("refocus"));
  }

  /** @param {any} one */
  session(one) {
    const facts = [one.agent, shortPath(one.workspace, 1)].filter(Boolean).join(" · ");
    const link = h(
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
    link.addEventListener("refocus", () => link.focus());
    return link;
  }

  empty() {
    const { shelf } = store.state;
    const narrowed = Object.values(shelf).some(Boolean);
    return narrowed
      ? h(
          "div",
          { class: "empty" },
          h("h2", null, "No session fits"),
          h("p", null, "The filters leave nothing over. Clear one of them."),
        )
      : h(
          "div",
          { class: "empty" },
          h("h2", null, "Nothing recorded yet"),
          h(
            "p",
            null,
            "No agent is connected, or none has worked since. Run `fazm-memory connect` in a terminal, or look at Settings.",
          ),
        );
  }

  mark() {
    const { session, ms } = store.state;
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
