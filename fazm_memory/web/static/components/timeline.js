/**
 * <fm-timeline>: the main screen: session header, artifacts, day chart, lanes, event list and event panel.
 */

import { api } from "../api.js";
import { errorBlock, fill, h, oneAtATime, withCommands } from "../dom.js";
import { dayBounds, dayOf } from "../lib/days.js";
import { sessionHash } from "../lib/route.js";
import { contains } from "../lib/time_range.js";
import { lastUntil, lastWork, sessionRange } from "../time_window.js";
import { navigate } from "../router.js";
import { store } from "../store.js";
import "./artifacts.js";
import "./day_chart.js";
import "./event_list.js";
import "./event_panel.js";
import "./filters.js";
import "./lanes.js";
import "./session_header.js";

const ID_LENGTH = 32; // of a whole session id; an address may have its beginning
const REFRESH_MS = 400; // from one reading of a changed session to the next

class Timeline extends HTMLElement {
  generation = 0;
  hash = "";
  changedMeanwhile = false; // while a session was loading
  refresh = oneAtATime(() => this.readSession(), REFRESH_MS);
  /** @type {(() => void)|null} run at the next change of the log, while a placeholder is shown */
  retry = null;

  connectedCallback() {
    if (this.panels) return;
    const create = (/** @type {string} */ name) => document.createElement(name);
    this.panels = h(
      "div",
      { class: "timeline" },
      h(
        "div",
        { class: "timeline-main" },
        create("fm-session-header"),
        create("fm-artifacts"),
        create("fm-day-chart"),
        create("fm-lanes"),
        create("fm-event-filters"),
        create("fm-event-list"),
      ),
      create("fm-event-panel"),
    );
    this.placeholder = h("div", { class: "timeline-placeholder", hidden: true });
    fill(this, this.panels, this.placeholder);
    store.watch(["ms"], ({ ms }) => ms !== null && this.showDayOf(ms));
    document.addEventListener("fm:changes", (event) => this.changed(/** @type {CustomEvent} */ (event).detail));
  }

  /** @param {import("../lib/route.js").Route} route */
  async showRoute(route) {
    const generation = (this.generation += 1);
    this.hash = location.hash;
    this.setAttribute("aria-busy", "true");
    const retry = () => void this.showRoute(route);
    try {
      if (route.session && route.moment) await this.findMoment(route, generation);
      else if (route.session) await this.showSession(route, generation);
      else if (route.day) await this.showDay(route.day, generation);
      else await this.showLatest(generation, retry);
    } catch (error) {
      if (this.stale(generation)) return;
      store.set({ session: null, info: null, seq: null, then: false, ms: null });
      // A change means that the server is reachable again. It does not help with other errors.
      this.show(errorBlock(error, retry), /** @type {any} */ (error).status === 0 ? retry : null);
    } finally {
      if (generation === this.generation) this.loaded();
    }
  }

  loaded() {
    this.removeAttribute("aria-busy");
    if (this.changedMeanwhile) void this.refresh();
    this.changedMeanwhile = false;
  }

  /** Whether the route changed meanwhile. The address changes before its event. @param {number} generation */
  stale(generation) {
    return generation !== this.generation || location.hash !== this.hash;
  }

  /** Show the panels, or a placeholder. @param {HTMLElement|null} placeholder @param {(() => void)|null} [retry] */
  show(placeholder, retry = null) {
    this.retry = retry;
    /** @type {HTMLElement} */ (this.panels).hidden = placeholder !== null;
    /** @type {HTMLElement} */ (this.placeholder).hidden = placeholder === null;
    fill(/** @type {HTMLElement} */ (this.placeholder), placeholder);
  }

  /** Go to the event that a turn, a time or an event id names. @param {import("../lib/route.js").Route} route @param {number} generation */
  async findMoment({ session, moment, then }, generation) {
    const found = await api.get(`sessions/${encodeURIComponent(session || "")}/position`, { at: moment });
    if (!this.stale(generation)) navigate(sessionHash(found.session, found.seq, then), { replace: true });
  }

  /** @param {import("../lib/route.js").Route} route @param {number} generation */
  async showSession({ session, seq, then }, generation) {
    const id = /** @type {string} */ (session);
    const known = store.state.info?.id === id;
    if (known) {
      this.show(null);
      return store.set(seq === null ? { seq, then, ms: null } : { seq, then, live: false }); // the list keeps its place
    }
    if (id.length === ID_LENGTH) api.prefetch(`sessions/${id}/outline`); // the list of events needs it next
    const info = await api.get(`sessions/${encodeURIComponent(id)}`);
    if (this.stale(generation)) return;
    this.show(null);
    const changed = store.state.session !== info.id;
    const ms = seq === null ? null : await this.timeOf(info.id, seq);
    if (this.stale(generation)) return;
    const day = dayOf(ms ?? lastWork(info));
    store.set({
      session: info.id,
      seq,
      then,
      ms,
      day,
      range: sessionRange(info, day, ms),
      live: seq === null,
      ...(changed ? { filters: {} } : {}),
    });
    store.set({ info });
  }

  /** The time of an event; null if there is none, which the event panel reports. @param {string} id @param {number} seq */
  async timeOf(id, seq) {
    const answer = await api.get(`sessions/${encodeURIComponent(id)}/events`, { from: seq, to: seq + 1, limit: 1 });
    return answer.items[0]?.ms ?? null;
  }

  /** @param {string} day @param {number} generation */
  async showDay(day, generation) {
    const { items } = await api.get("sessions", { day, limit: 1 });
    if (this.stale(generation)) return;
    if (!items.length) {
      const bounds = dayBounds(day);
      store.set({ session: null, info: null, seq: null, then: false, ms: null, day, range: { ...bounds } });
      return this.show(null);
    }
    const info = await api.get(`sessions/${encodeURIComponent(items[0].id)}`);
    if (this.stale(generation)) return;
    this.show(null);
    const { to } = dayBounds(day);
    const seq = info.last_ms >= to ? await lastUntil(info.id, to - 1) : null;
    const ms = seq === null ? null : await this.timeOf(info.id, seq);
    if (this.stale(generation)) return;
    store.set({ session: info.id, seq, then: false, ms, day, range: sessionRange(info, day, null), live: seq === null, filters: {} });
    store.set({ info });
    history.replaceState(null, "", sessionHash(info.id, seq));
  }

  /** @param {number} generation @param {() => void} retry */
  async showLatest(generation, retry) {
    const { items } = await api.get("sessions", { limit: 1 });
    if (this.stale(generation)) return;
    if (items.length) return navigate(sessionHash(items[0].id), { replace: true });
    this.show(
      h(
        "div",
        { class: "empty" },
        h("h2", null, "Nothing recorded yet"),
        h(
          "p",
          null,
          withCommands(
            "No agent has been active yet. Connect one with `fazm-memory connect`, or import older sessions with `fazm-memory import`.",
          ),
        ),
        h("a", { class: "btn", href: "#/settings" }, "Show agents"),
      ),
      retry,
    );
  }

  /** Show the day of the selected event. @param {number} ms */
  showDayOf(ms) {
    const { day, info, range } = store.state;
    const eventDay = dayOf(ms);
    if (eventDay !== day && info) store.set({ day: eventDay, range: sessionRange(info, eventDay, ms) });
    else if (!range && info) store.set({ range: sessionRange(info, eventDay, ms) });
  }

  /** @param {any} change */
  changed(change) {
    const { session } = store.state;
    if (this.hasAttribute("aria-busy")) this.changedMeanwhile = true; // the answer may be older than the change
    if (!session) return this.hidden ? undefined : this.retry?.();
    if (change.all || change.sessions?.includes(session)) void this.refresh();
  }

  async readSession() {
    const { session } = store.state;
    if (!session) return;
    try {
      const info = await api.get(`sessions/${encodeURIComponent(session)}`);
      if (store.state.session !== session) return;
      const { range, day, live } = store.state;
      const before = store.state.info ? lastWork(store.state.info) : 0;
      const last = lastWork(info);
      const follows = live && range && day && contains(range, before) && !contains(range, last);
      store.set({
        info,
        ...(follows ? { range: sessionRange(info, dayOf(last), null), day: dayOf(last) } : {}),
      });
    } catch {
      // The page shows that the connection is lost. The next change tries again.
    }
  }
}

customElements.define("fm-timeline", Timeline);
