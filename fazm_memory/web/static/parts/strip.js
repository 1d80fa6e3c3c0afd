/**
 * <fm-strip>: the whole day at a glance: how much happened when, what failed, where nothing was recorded and why,
 * and the window of time that the lanes show.
 */

import { api } from "../api.js";
import { FACE, colour, hatch, prepare } from "../canvas.js";
import { fill, framed, h } from "../dom.js";
import { dayBounds } from "../layout/days.js";
import { pan, within, zoom } from "../layout/span.js";
import { ticks } from "../layout/ticks.js";
import { plainScale } from "../layout/time_scale.js";
import { clock, counted } from "../layout/words.js";
import { bounds } from "../looking.js";
import { store } from "../store.js";
import "./daypicker.js";

const HEIGHT = 52;
const AXIS = 14;
const BAR = 3;
const FRESH = 1000;

class Strip extends HTMLElement {
  /** @type {any} */
  rollup = null;
  timer = 0;
  generation = 0;

  connectedCallback() {
    this.canvas = h("canvas", { class: "strip-canvas", role: "img" });
    this.frame = h("div", {
      class: "strip-window", tabindex: 0, role: "slider", "aria-label": "Window of time shown", "aria-valuemin": 0, "aria-valuemax": 100,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.keys(event),
    }, h("span", { class: "strip-edge is-left" }), h("span", { class: "strip-edge is-right" })); // prettier-ignore
    this.stage = h("div", { class: "strip-stage" }, this.canvas, this.frame);
    fill(this, document.createElement("fm-daypicker"), this.stage);
    this.drawSoon = framed(() => this.draw());
    this.stage.addEventListener("pointerdown", (event) => this.grab(event));
    new ResizeObserver(() => this.drawSoon?.()).observe(this.stage);
    document.addEventListener("fm:colours", () => this.drawSoon?.());
    document.addEventListener("fm:changes", () => this.later());
    store.watch(["day"], () => this.load());
    store.watch(["span", "ms"], () => this.drawSoon?.());
    this.load();
  }

  later() {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      void this.load();
    }, FRESH);
  }

  async load() {
    const { day } = store.state;
    if (!day) return;
    const generation = (this.generation += 1);
    const { from, to } = dayBounds(day);
    try {
      const answer = await api.get("rollup", { from, to, bucket: "minute" });
      if (generation !== this.generation) return;
      this.rollup = answer;
    } catch {
      // The list below says what is wrong; a strip without bars is still a day to move on.
      if (generation === this.generation) this.rollup = null;
    }
    this.drawSoon?.();
  }

  width() {
    return this.stage?.clientWidth || 0;
  }

  draw() {
    const { day, span, ms } = store.state;
    const width = this.width();
    const context = day && width ? prepare(/** @type {HTMLCanvasElement} */ (this.canvas), width, HEIGHT) : null;
    if (!context) return;
    const { from, to } = bounds();
    const scale = plainScale(from, to, width);
    const floor = HEIGHT - AXIS;
    context.font = FACE;
    for (const gap of this.rollup?.gaps || []) {
      const x = scale.x(Math.max(from, gap.from_ms));
      const wide = Math.max(2, scale.x(Math.min(to, gap.to_ms)) - x);
      hatch(context, x, 0, wide, floor);
      if (wide > 44) {
        context.fillStyle = colour("text-2");
        context.fillText(gap.why, x + 4, 11, wide - 8);
      }
    }
    this.bars(context, scale, floor, width);
    context.fillStyle = colour("line");
    context.fillRect(0, floor, width, 1);
    context.fillStyle = colour("text-3");
    for (const tick of ticks(from, to, width, { apart: 64 })) {
      const x = scale.x(tick.ms);
      context.fillRect(x, floor, 1, 3);
      if (x + 34 < width) context.fillText(tick.label, x + 3, HEIGHT - 3);
    }
    if (ms !== null && ms >= from && ms < to) {
      context.fillStyle = colour("accent");
      context.fillRect(scale.x(ms) - 0.75, 0, 1.5, floor);
    }
    this.place(span, scale, from, to);
    this.describe();
  }

  /**
   * Bars by pixel column, not by minute: a day has more minutes than most windows have room.
   * @param {CanvasRenderingContext2D} context
   * @param {import("../layout/time_scale.js").Scale} scale
   * @param {number} floor
   * @param {number} width
   */
  bars(context, scale, floor, width) {
    const columns = Math.ceil(width / BAR);
    const all = new Float64Array(columns);
    const bad = new Float64Array(columns);
    for (const bucket of this.rollup?.buckets || []) {
      const column = Math.floor(scale.x(bucket.ms) / BAR);
      if (column < 0 || column >= columns) continue;
      all[column] += bucket.events;
      bad[column] += bucket.failures;
    }
    const most = all.reduce((top, one) => Math.max(top, one), 1);
    const tall = (/** @type {number} */ count) => (count ? Math.max(3, Math.sqrt(count / most) * (floor - 6)) : 0);
    for (let column = 0; column < columns; column += 1) {
      if (!all[column]) continue;
      context.fillStyle = colour("lane-actions");
      context.fillRect(column * BAR, floor - tall(all[column]), BAR - 0.75, tall(all[column]));
      if (!bad[column]) continue;
      context.fillStyle = colour("bad");
      const high = Math.min(tall(all[column]), Math.max(3, tall(bad[column])));
      context.fillRect(column * BAR, floor - high, BAR - 0.75, high);
    }
  }

  /**
   * @param {import("../layout/span.js").Span|null} span
   * @param {import("../layout/time_scale.js").Scale} scale
   * @param {number} from
   * @param {number} to
   */
  place(span, scale, from, to) {
    const frame = /** @type {HTMLElement} */ (this.frame);
    frame.hidden = !span;
    if (!span) return;
    const left = Math.max(0, scale.x(span.from));
    const right = Math.min(scale.width, scale.x(span.to));
    frame.style.setProperty("left", `${left}px`);
    frame.style.setProperty("width", `${Math.max(8, right - left)}px`);
    frame.setAttribute("aria-valuenow", String(Math.round(((span.from - from) / (to - from)) * 100)));
    frame.setAttribute("aria-valuetext", `${clock(span.from)} to ${clock(span.to)}`);
  }

  describe() {
    const buckets = this.rollup?.buckets || [];
    const events = buckets.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.events, 0);
    const failures = buckets.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.failures, 0);
    const gaps = (this.rollup?.gaps || []).map(
      (/** @type {any} */ gap) => `${gap.why} ${clock(gap.from_ms)} to ${clock(gap.to_ms)}`,
    );
    const words = [counted(events, "event"), failures ? counted(failures, "failure") : "", ...gaps]
      .filter(Boolean)
      .join(", ");
    this.canvas?.setAttribute("aria-label", `The day: ${words}`);
  }

  /** Drag the window, one of its edges, or draw a new one. @param {PointerEvent} event */
  grab(event) {
    const stage = /** @type {HTMLElement} */ (this.stage);
    const { span } = store.state;
    if (event.button !== 0 || !span) return;
    const whole = bounds();
    const left = stage.getBoundingClientRect().left;
    const scale = plainScale(whole.from, whole.to, this.width());
    const at = (/** @type {PointerEvent} */ one) => scale.ms(one.clientX - left);
    const start = at(event);
    const target = /** @type {HTMLElement} */ (event.target);
    const edge = target.classList.contains("is-left") ? "from" : target.classList.contains("is-right") ? "to" : "";
    const inside = target === this.frame;
    let moved = false;
    const move = (/** @type {PointerEvent} */ one) => {
      moved ||= Math.abs(one.clientX - event.clientX) > 3;
      if (!moved) return;
      const now = at(one);
      if (edge) {
        const next = { ...span, [edge]: now };
        store.set({ span: within({ from: Math.min(next.from, next.to), to: Math.max(next.from, next.to) }, whole) });
      } else if (inside) store.set({ span: pan(span, now - start, whole) });
      else store.set({ span: within({ from: Math.min(start, now), to: Math.max(start, now) }, whole) });
    };
    const done = () => {
      stage.removeEventListener("pointermove", move);
      stage.removeEventListener("pointerup", done);
      stage.removeEventListener("pointercancel", done);
      const half = (span.to - span.from) / 2;
      if (!moved && !edge) store.set({ span: within({ from: start - half, to: start + half }, whole) });
    };
    stage.setPointerCapture(event.pointerId);
    stage.addEventListener("pointermove", move);
    stage.addEventListener("pointerup", done);
    stage.addEventListener("pointercancel", done);
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const { span } = store.state;
    if (!span) return;
    const whole = bounds();
    const step = (span.to - span.from) / (event.shiftKey ? 2 : 10);
    const middle = (span.from + span.to) / 2;
    /** @type {Record<string, () => import("../layout/span.js").Span>} */
    const keys = {
      ArrowLeft: () => pan(span, -step, whole),
      ArrowRight: () => pan(span, step, whole),
      ArrowUp: () => zoom(span, 0.7, middle, whole),
      ArrowDown: () => zoom(span, 1.4, middle, whole),
      Home: () => pan(span, whole.from - span.from, whole),
      End: () => pan(span, whole.to - span.to, whole),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    event.stopPropagation();
    store.set({ span: keys[event.key]() });
  }
}

customElements.define("fm-strip", Strip);
