/**
 * <fm-lanes>: what happened side by side: actions, decisions, files and apps of every session that was at work, on
 * one axis that can be zoomed, moved and fitted. The playhead is a slider that steps from event to event.
 */

import { api } from "../api.js";
import { prepare } from "../canvas.js";
import { fill, framed, h } from "../dom.js";
import { icon } from "../icons.js";
import { AXIS, drawLanes, layLanes, underPoint } from "../lane_drawing.js";
import { foldIdle } from "../layout/idle.js";
import { sessionHash } from "../layout/route.js";
import { holds, pan, reach, within } from "../layout/span.js";
import { timeScale } from "../layout/time_scale.js";
import { clock, clockSeconds, counted, duration } from "../layout/words.js";
import { bounds, fit, look, shift, zoomBy } from "../looking.js";
import { go } from "../router.js";
import { store } from "../store.js";
import { laneNames, namesKey } from "./lane_names.js";

const WAIT = 120;
const MOST = 400;

class Lanes extends HTMLElement {
  /** @type {any} */
  data = null;
  /** @type {import("../lane_drawing.js").Group[]} */
  groups = [];
  /** @type {import("../layout/time_scale.js").Scale|null} */
  scale = null;
  /** @type {any[]} */
  gaps = [];
  timer = 0;
  generation = 0;
  dragged = false;
  key = "";
  trouble = "";

  connectedCallback() {
    this.canvas = h("canvas", {
      class: "lanes-canvas",
      role: "slider",
      tabindex: 0,
      "aria-label": "Playhead",
      "aria-valuemin": 0,
      "aria-valuenow": 0,
    });
    this.names = h("div", { class: "lanes-names" });
    this.tip = h("div", { class: "lanes-tip", role: "tooltip", hidden: true });
    this.stage = h("div", { class: "lanes-stage" }, this.canvas, this.tip);
    const tool = (/** @type {string} */ glyph, /** @type {string} */ label, /** @type {() => void} */ onclick) =>
      h(
        "button",
        { class: "btn quiet icon", type: "button", "aria-label": label, title: label, onclick },
        icon(glyph),
      );
    this.note = h("span", { class: "lanes-note" });
    this.tools = h(
      "div",
      { class: "lanes-tools", role: "toolbar", "aria-label": "Lanes" },
      this.note,
      tool("left", "Earlier", () => shift(-0.3)),
      tool("right", "Later", () => shift(0.3)),
      tool("minus", "Zoom out", () => zoomBy(1.6)),
      tool("plus", "Zoom in", () => zoomBy(0.6)),
      tool("fit", "Fit session", fit),
    );
    fill(this, this.tools, h("div", { class: "lanes-scroll" }, this.names, this.stage));
    this.drawSoon = framed(() => this.draw());
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.grab(event));
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.hideTip());
    canvas.addEventListener("click", (event) => void this.press(event));
    canvas.addEventListener("keydown", (event) => this.keys(event));
    new ResizeObserver(() => this.drawSoon?.()).observe(this.stage);
    document.addEventListener("fm:colours", () => this.drawSoon?.());
    document.addEventListener("fm:changes", () => this.later());
    store.watch(["span"], () => this.later());
    store.watch(["span", "ms", "seq", "info"], () => this.drawSoon?.());
    store.watch(["session"], () => this.later());
    store.watch(["ms"], ({ ms, span }) => ms !== null && span && !holds(span, ms) && look(reach(span, ms)));
    this.later();
  }

  later() {
    window.clearTimeout(this.timer);
    this.setAttribute("aria-busy", "true");
    this.timer = window.setTimeout(() => void this.load(), WAIT);
  }

  async load() {
    const { span, day } = store.state;
    this.timer = 0;
    if (!span || !day) {
      this.setAttribute("aria-busy", "false"); // there is nothing to read: another screen is shown
      return;
    }
    const generation = (this.generation += 1);
    const air = (span.to - span.from) / 2; // what is just outside is there when the hand moves on
    const asked = within({ from: span.from - air, to: span.to + air }, bounds());
    try {
      const [lanes, rollup] = await Promise.all([
        api.get("lanes", { ...asked, max: MOST }),
        api.get("rollup", { ...asked, bucket: "day" }),
      ]);
      if (generation !== this.generation) return;
      this.data = lanes;
      this.gaps = rollup.gaps || [];
      this.trouble = "";
    } catch (error) {
      if (generation !== this.generation) return;
      this.trouble = /** @type {any} */ (error).message;
    }
    if (!this.timer) this.setAttribute("aria-busy", "false"); // else the window has moved on since
    this.drawSoon?.();
  }

  draw() {
    const { span, session, info, ms, seq } = store.state;
    const width = this.stage?.clientWidth || 0;
    if (!span || !width) return;
    const items = this.data?.items || [];
    const atWork = items.filter((/** @type {any} */ one) => !one.session.background);
    const spans = atWork.map((/** @type {any} */ one) => ({ from: one.from_ms, to: one.to_ms }));
    if (info) spans.push({ from: info.opened_ms, to: info.last_ms }); // its silence is its own, however long
    this.scale = timeScale(foldIdle(spans, span.from, span.to), width);
    const { groups, height } = layLanes(items, this.scale, session);
    this.groups = groups;
    const context = prepare(/** @type {HTMLCanvasElement} */ (this.canvas), width, height);
    if (context) drawLanes(context, this.scale, groups, { height, ms, seq, chosen: session, gaps: this.gaps });
    this.drawNames();
    this.describe();
  }

  drawNames() {
    const key = namesKey(this.groups);
    if (key === this.key) return;
    this.key = key;
    fill(/** @type {HTMLElement} */ (this.names), laneNames(this.groups));
  }

  describe() {
    const { span, ms, seq, info } = store.state;
    const canvas = /** @type {HTMLElement} */ (this.canvas);
    const failures = this.groups
      .flatMap((group) => group.lanes.flatMap((lane) => lane.marks))
      .filter((mark) => mark.bad).length;
    const more = this.groups.reduce((sum, group) => sum + group.more, 0);
    canvas.setAttribute("aria-valuemax", String(Math.max(0, (info?.events || 1) - 1)));
    canvas.setAttribute("aria-valuenow", String(seq ?? Math.max(0, (info?.events || 1) - 1)));
    canvas.setAttribute("aria-valuetext", ms === null ? "Now" : `${clockSeconds(ms)}, position ${seq}`);
    const words = [
      this.trouble || `${clock(span?.from || 0)} – ${clock(span?.to || 0)}`,
      this.groups.length > 1 ? counted(this.groups.length, "session") : "",
      failures ? `${failures} failed` : "",
      more ? `${more.toLocaleString("en")} more when you zoom in` : "",
      this.data?.more_sessions ? `${counted(this.data.more_sessions, "more session")}` : "",
    ];
    /** @type {HTMLElement} */ (this.note).textContent = words.filter(Boolean).join(" · ");
  }

  /** @param {MouseEvent} event */
  point(event) {
    const box = /** @type {HTMLElement} */ (this.canvas).getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    const { span } = store.state;
    if (!span || !this.scale) return;
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!sideways && !event.ctrlKey && !event.metaKey && !event.altKey) return; // the page's own scrolling
    event.preventDefault();
    if (sideways) look(pan(span, (event.deltaX / this.scale.width) * (span.to - span.from), bounds()));
    else zoomBy(Math.exp(event.deltaY * 0.004), this.scale.ms(this.point(event).x));
  }

  /** @param {PointerEvent} event */
  grab(event) {
    const { span } = store.state;
    const canvas = /** @type {HTMLElement} */ (this.canvas);
    if (event.button !== 0 || !span || !this.scale) return;
    const perPixel = (span.to - span.from) / this.scale.width;
    this.dragged = false;
    const move = (/** @type {PointerEvent} */ one) => {
      const by = one.clientX - event.clientX;
      if (!this.dragged && Math.abs(by) < 4) return;
      if (!this.dragged) canvas.setPointerCapture(event.pointerId);
      this.dragged = true;
      this.hideTip();
      look(pan(span, -by * perPixel, bounds()));
    };
    const done = () => {
      canvas.removeEventListener("pointermove", move);
      canvas.removeEventListener("pointerup", done);
      canvas.removeEventListener("pointercancel", done);
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", done);
    canvas.addEventListener("pointercancel", done);
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const { x, y } = this.point(event);
    const under = event.buttons ? null : underPoint(this.groups, x, y);
    const tip = /** @type {HTMLElement} */ (this.tip);
    const item = under?.mark?.item;
    const fold = event.buttons
      ? null
      : this.scale?.pieces.find((piece) => piece.folded && x >= piece.x && x < piece.x + piece.width);
    tip.hidden = !item && !fold;
    if (tip.hidden) return;
    const extra = under?.mark && under.mark.count > 1 ? ` and ${under.mark.count - 1} more here` : "";
    if (item) fill(tip, h("strong", null, clockSeconds(item.ms)), ` ${item.title}${extra}`);
    else if (fold)
      fill(
        tip,
        `No session at work from ${clock(fold.from)} to ${clock(fold.to)} (${duration(fold.to - fold.from)})`,
      );
    tip.style.setProperty("top", `${y + 14}px`);
    tip.style.setProperty("left", `${Math.min(x + 10, (this.stage?.clientWidth || 0) - tip.offsetWidth - 4)}px`);
  }

  hideTip() {
    /** @type {HTMLElement} */ (this.tip).hidden = true;
  }

  /** A mark is an event to go to; anywhere else is a moment to stand at. @param {MouseEvent} event */
  async press(event) {
    if (this.dragged || !this.scale) return;
    const { x, y } = this.point(event);
    const under = underPoint(this.groups, x, y);
    if (under?.mark) {
      store.set({ ms: under.mark.item.ms });
      return go(sessionHash(under.mark.item.session || under.group.session.id, under.mark.item.seq));
    }
    const id = y > AXIS && under ? under.group.session.id : store.state.session;
    if (id) await standAt(id, this.scale.ms(x));
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const { info, seq, session } = store.state;
    if (!info || !session || event.metaKey || event.ctrlKey) return;
    const head = info.events - 1;
    const at = seq ?? head;
    /** @type {Record<string, number>} */
    const to = {
      ArrowLeft: at - 1,
      ArrowDown: at - 1,
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      PageUp: at + 20,
      PageDown: at - 20,
      Home: 0,
      End: head,
    };
    if (event.key === "+" || event.key === "=") zoomBy(0.6);
    else if (event.key === "-") zoomBy(1.6);
    else if (event.key === "0") fit();
    else if (event.key in to) go(sessionHash(session, Math.min(head, Math.max(0, to[event.key]))), { replace: true });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** @param {string} session @param {number} ms */
async function standAt(session, ms) {
  const { at } = await api.get(`sessions/${encodeURIComponent(session)}/position`, { ms: Math.round(ms) });
  go(sessionHash(session, Math.max(0, at - 1)));
}

customElements.define("fm-lanes", Lanes);
