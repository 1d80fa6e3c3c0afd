/**
 * <fm-timeline>: the screen that shows what happened: header, day, lanes, list and drawer, all standing at the same
 * moment.
 */

import { api } from "../api.js";
import { fill, h, prose, trouble } from "../dom.js";
import { dayBounds, dayOf } from "../layout/days.js";
import { sessionHash } from "../layout/route.js";
import { holds } from "../layout/span.js";
import { spanOf } from "../looking.js";
import { go } from "../router.js";
import { store } from "../store.js";
import "./drawer.js";
import "./filters.js";
import "./header.js";
import "./lanes.js";
import "./list.js";
import "./strip.js";

class Timeline extends HTMLElement {
  generation = 0;
  asked = "";
  timer = 0;
  /** @type {(() => void)|null} what is done once there is news, where something else stands in the timeline's place */
  again = null;

  connectedCallback() {
    if (this.panels) return;
    const part = (/** @type {string} */ name) => document.createElement(name);
    this.panels = h(
      "div",
      { class: "timeline" },
      h(
        "div",
        { class: "timeline-main" },
        part("fm-header"),
        part("fm-strip"),
        part("fm-lanes"),
        part("fm-filters"),
        part("fm-list"),
      ),
      part("fm-drawer"),
    );
    this.instead = h("div", { class: "timeline-instead", hidden: true });
    fill(this, this.panels, this.instead);
    store.watch(["ms"], ({ ms }) => ms !== null && this.toDayOf(ms));
    document.addEventListener("fm:changes", (event) => this.changed(/** @type {CustomEvent} */ (event).detail));
  }

  /** @param {import("../layout/route.js").Route} route */
  async follow(route) {
    const generation = (this.generation += 1);
    this.asked = location.hash;
    this.setAttribute("aria-busy", "true");
    const again = () => void this.follow(route);
    try {
      if (route.session) await this.session(route.session, route.seq, generation);
      else if (route.day) await this.day(route.day, generation);
      else await this.latest(generation, again);
    } catch (error) {
      if (this.stale(generation)) return;
      store.set({ session: null, info: null, seq: null, ms: null });
      // News means that somebody answers again; to anything else that went wrong it makes no difference.
      this.show(trouble(error, again), /** @type {any} */ (error).status === 0 ? again : null);
    } finally {
      if (generation === this.generation) this.removeAttribute("aria-busy");
    }
  }

  /** Whether the reader has gone elsewhere since; the address changes before its event comes. @param {number} generation */
  stale(generation) {
    return generation !== this.generation || location.hash !== this.asked;
  }

  /** @param {HTMLElement|null} instead @param {(() => void)|null} [again] */
  show(instead, again = null) {
    this.again = again;
    /** @type {HTMLElement} */ (this.panels).hidden = instead !== null;
    /** @type {HTMLElement} */ (this.instead).hidden = instead === null;
    fill(/** @type {HTMLElement} */ (this.instead), instead);
  }

  /** @param {string} id @param {number|null} seq @param {number} generation */
  async session(id, seq, generation) {
    const known = store.state.info?.id === id;
    if (known) {
      this.show(null);
      return store.set(seq === null ? { seq, ms: null, live: true } : { seq, live: false });
    }
    const info = await api.get(`sessions/${encodeURIComponent(id)}`);
    if (this.stale(generation)) return;
    this.show(null);
    const other = store.state.session !== info.id;
    const ms = seq === null ? null : await this.moment(info.id, seq);
    if (this.stale(generation)) return;
    const day = dayOf(ms ?? info.last_ms);
    store.set({
      session: info.id,
      seq,
      ms,
      day,
      span: spanOf(info, day, ms),
      live: seq === null,
      ...(other ? { filters: {} } : {}),
    });
    store.set({ info });
  }

  /** When an event happened; a position beyond the end is left to the drawer to explain. @param {string} id @param {number} seq */
  async moment(id, seq) {
    const answer = await api.get(`sessions/${encodeURIComponent(id)}/events`, { from: seq, to: seq + 1, limit: 1 });
    return answer.items[0]?.ms ?? null;
  }

  /** @param {string} day @param {number} generation */
  async day(day, generation) {
    const { items } = await api.get("sessions", { day, limit: 1 });
    if (this.stale(generation)) return;
    if (!items.length) {
      const bounds = dayBounds(day);
      store.set({ session: null, info: null, seq: null, ms: null, day, span: { ...bounds } });
      return this.show(null);
    }
    const info = await api.get(`sessions/${encodeURIComponent(items[0].id)}`);
    if (this.stale(generation)) return;
    this.show(null);
    const seq = info.last_ms >= dayBounds(day).to ? await this.endOf(info, day) : null;
    const ms = seq === null ? null : await this.moment(info.id, seq);
    if (this.stale(generation)) return;
    store.set({ session: info.id, seq, ms, day, span: spanOf(info, day, null), live: seq === null, filters: {} });
    store.set({ info });
    history.replaceState(null, "", sessionHash(info.id, seq));
  }

  /** Where a session that went on for days stood at the end of one. @param {any} info @param {string} day */
  async endOf(info, day) {
    const { at } = await api.get(`sessions/${encodeURIComponent(info.id)}/position`, { ms: dayBounds(day).to - 1 });
    return Math.max(0, at - 1);
  }

  /** @param {number} generation @param {() => void} again */
  async latest(generation, again) {
    const { items } = await api.get("sessions", { limit: 1 });
    if (this.stale(generation)) return;
    if (items.length) return go(sessionHash(items[0].id), { replace: true });
    this.show(
      h(
        "div",
        { class: "empty" },
        h("h2", null, "Nothing recorded yet"),
        h(
          "p",
          null,
          prose(
            "Fazm Memory has not seen an agent at work. Connect one with `fazm-memory connect`, or take in what agents kept themselves with `fazm-memory import`.",
          ),
        ),
        h("a", { class: "btn", href: "#/settings" }, "See which agents are connected"),
      ),
      again,
    );
  }

  /** The strip and the lanes follow the playhead to its day. @param {number} ms */
  toDayOf(ms) {
    const { day, info, span } = store.state;
    const there = dayOf(ms);
    if (there !== day && info) store.set({ day: there, span: spanOf(info, there, ms) });
    else if (!span && info) store.set({ span: spanOf(info, there, ms) });
  }

  /** @param {any} change */
  changed(change) {
    const { session } = store.state;
    if (!session) return this.hidden ? undefined : this.again?.(); // whoever is at another screen stays there
    if (!(change.all || change.sessions?.includes(session)) || this.timer) return;
    this.timer = window.setTimeout(() => void this.refresh(session), 400);
  }

  /** @param {string} session */
  async refresh(session) {
    this.timer = 0;
    try {
      const info = await api.get(`sessions/${encodeURIComponent(session)}`);
      if (store.state.session !== session) return;
      const { span, day, live } = store.state;
      const follows =
        live && span && day && holds(span, store.state.info?.last_ms ?? 0) && !holds(span, info.last_ms);
      store.set({
        info,
        ...(follows ? { span: spanOf(info, dayOf(info.last_ms), null), day: dayOf(info.last_ms) } : {}),
      });
    } catch {
      // The shell says that the line is down; the next change reads again.
    }
  }
}

customElements.define("fm-timeline", Timeline);
