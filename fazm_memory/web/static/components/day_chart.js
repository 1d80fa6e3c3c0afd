/**
 * <fm-day-chart>: a bar chart of the day with failures and gaps, and a frame for the time range of the lanes.
 */

import { api } from "../api.js";
import { CANVAS_FONT, colour, hatch, prepare } from "../canvas.js";
import { fill, h, oncePerFrame } from "../dom.js";
import { dayBounds } from "../lib/days.js";
import { clamp, pan, zoom } from "../lib/time_range.js";
import { linearScale, ticks } from "../lib/time_axis.js";
import { clock, plural } from "../lib/format.js";
import { currentDay } from "../time_window.js";
import { store } from "../store.js";
import "./day_picker.js";

const HEIGHT = 52;
const AXIS_HEIGHT = 14;
const BAR_WIDTH = 3;
const DELAY_MS = 1000;

class DayChart extends HTMLElement {
  /** @type {any} */
  rollup = null;
  timer = 0;
  generation = 0;

  connectedCallback() {
    this.canvas = h("canvas", { class: "day-chart-canvas", role: "img" });
    this.frame = h("div", {
      class: "day-chart-frame", tabindex: 0, role: "slider", "aria-label": "Time range", "aria-valuemin": 0, "aria-valuemax": 100,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.keys(event),
    }, h("span", { class: "day-chart-edge is-left" }), h("span", { class: "day-chart-edge is-right" })); // prettier-ignore
    this.stage = h("div", { class: "day-chart-stage" }, this.canvas, this.frame);
    fill(this, document.createElement("fm-day-picker"), this.stage);
    this.drawSoon = oncePerFrame(() => this.draw());
    this.stage.addEventListener("pointerdown", (event) => this.startDrag(event));
    new ResizeObserver(() => this.drawSoon?.()).observe(this.stage);
    document.addEventListener("fm:colours", () => this.drawSoon?.());
    document.addEventListener("fm:changes", () => this.loadSoon());
    store.watch(["day"], () => this.load());
    store.watch(["range", "ms"], () => this.drawSoon?.());
    this.load();
  }

  loadSoon() {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      void this.load();
    }, DELAY_MS);
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
      // The list shows the error. The chart works without bars.
      if (generation === this.generation) this.rollup = null;
    }
    this.drawSoon?.();
  }

  width() {
    return this.stage?.clientWidth || 0;
  }

  draw() {
    const { day, range, ms } = store.state;
    const width = this.width();
    const context = day && width ? prepare(/** @type {HTMLCanvasElement} */ (this.canvas), width, HEIGHT) : null;
    if (!context) return;
    const { from, to } = currentDay();
    const scale = linearScale(from, to, width);
    const floor = HEIGHT - AXIS_HEIGHT;
    context.font = CANVAS_FONT;
    for (const gap of this.rollup?.gaps || []) {
      const x = scale.x(Math.max(from, gap.from_ms));
      const gapWidth = Math.max(2, scale.x(Math.min(to, gap.to_ms)) - x);
      hatch(context, x, 0, gapWidth, floor);
      if (gapWidth > 44) {
        context.fillStyle = colour("text-2");
        context.fillText(gap.why, x + 4, 11, gapWidth - 8);
      }
    }
    this.drawBars(context, scale, floor, width);
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
    this.placeFrame(range, scale, from, to);
    this.describe();
  }

  /**
   * Bars by pixel column, because a day has more minutes than the chart has columns.
   * @param {CanvasRenderingContext2D} context
   * @param {import("../lib/time_axis.js").Scale} scale
   * @param {number} floor
   * @param {number} width
   */
  drawBars(context, scale, floor, width) {
    const columns = Math.ceil(width / BAR_WIDTH);
    const all = new Float64Array(columns);
    const failed = new Float64Array(columns);
    for (const bucket of this.rollup?.buckets || []) {
      const column = Math.floor(scale.x(bucket.ms) / BAR_WIDTH);
      if (column < 0 || column >= columns) continue;
      all[column] += bucket.events;
      failed[column] += bucket.failures;
    }
    const most = all.reduce((max, count) => Math.max(max, count), 1);
    const barHeight = (/** @type {number} */ count) => (count ? Math.max(3, Math.sqrt(count / most) * (floor - 6)) : 0);
    for (let column = 0; column < columns; column += 1) {
      if (!all[column]) continue;
      context.fillStyle = colour("lane-actions");
      context.fillRect(column * BAR_WIDTH, floor - barHeight(all[column]), BAR_WIDTH - 0.75, barHeight(all[column]));
      if (!failed[column]) continue;
      context.fillStyle = colour("bad");
      const failedHeight = Math.min(barHeight(all[column]), Math.max(3, barHeight(failed[column])));
      context.fillRect(column * BAR_WIDTH, floor - failedHeight, BAR_WIDTH - 0.75, failedHeight);
    }
  }

  /**
   * @param {import("../lib/time_range.js").TimeRange|null} range
   * @param {import("../lib/time_axis.js").Scale} scale
   * @param {number} from
   * @param {number} to
   */
  placeFrame(range, scale, from, to) {
    const frame = /** @type {HTMLElement} */ (this.frame);
    frame.hidden = !range;
    if (!range) return;
    const left = Math.max(0, scale.x(range.from));
    const right = Math.min(scale.width, scale.x(range.to));
    frame.style.setProperty("left", `${left}px`);
    frame.style.setProperty("width", `${Math.max(8, right - left)}px`);
    frame.setAttribute("aria-valuenow", String(Math.round(((range.from - from) / (to - from)) * 100)));
    frame.setAttribute("aria-valuetext", `${clock(range.from)} to ${clock(range.to)}`);
  }

  describe() {
    const buckets = this.rollup?.buckets || [];
    const events = buckets.reduce((/** @type {number} */ sum, /** @type {any} */ bucket) => sum + bucket.events, 0);
    const failures = buckets.reduce((/** @type {number} */ sum, /** @type {any} */ bucket) => sum + bucket.failures, 0);
    const gaps = (this.rollup?.gaps || []).map(
      (/** @type {any} */ gap) => `${gap.why} ${clock(gap.from_ms)} to ${clock(gap.to_ms)}`,
    );
    const text = [plural(events, "event"), failures ? plural(failures, "failure") : "", ...gaps]
      .filter(Boolean)
      .join(", ");
    this.canvas?.setAttribute("aria-label", `Day: ${text}`);
  }

  /** Drag the frame or one of its edges, or draw a new frame. @param {PointerEvent} event */
  startDrag(event) {
    const stage = /** @type {HTMLElement} */ (this.stage);
    const { range } = store.state;
    if (event.button !== 0 || !range) return;
    const day = currentDay();
    const left = stage.getBoundingClientRect().left;
    const scale = linearScale(day.from, day.to, this.width());
    const timeAt = (/** @type {PointerEvent} */ pointer) => scale.ms(pointer.clientX - left);
    const start = timeAt(event);
    const target = /** @type {HTMLElement} */ (event.target);
    const edge = target.classList.contains("is-left") ? "from" : target.classList.contains("is-right") ? "to" : "";
    const inside = target === this.frame;
    let moved = false;
    const move = (/** @type {PointerEvent} */ pointer) => {
      moved ||= Math.abs(pointer.clientX - event.clientX) > 3;
      if (!moved) return;
      const now = timeAt(pointer);
      if (edge) {
        const next = { ...range, [edge]: now };
        store.set({ range: clamp({ from: Math.min(next.from, next.to), to: Math.max(next.from, next.to) }, day) });
      } else if (inside) store.set({ range: pan(range, now - start, day) });
      else store.set({ range: clamp({ from: Math.min(start, now), to: Math.max(start, now) }, day) });
    };
    const done = () => {
      stage.removeEventListener("pointermove", move);
      stage.removeEventListener("pointerup", done);
      stage.removeEventListener("pointercancel", done);
      const half = (range.to - range.from) / 2;
      if (!moved && !edge) store.set({ range: clamp({ from: start - half, to: start + half }, day) });
    };
    stage.setPointerCapture(event.pointerId);
    stage.addEventListener("pointermove", move);
    stage.addEventListener("pointerup", done);
    stage.addEventListener("pointercancel", done);
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const { range } = store.state;
    if (!range) return;
    const day = currentDay();
    const step = (range.to - range.from) / (event.shiftKey ? 2 : 10);
    const middle = (range.from + range.to) / 2;
    /** @type {Record<string, () => import("../lib/time_range.js").TimeRange>} */
    const keys = {
      ArrowLeft: () => pan(range, -step, day),
      ArrowRight: () => pan(range, step, day),
      ArrowUp: () => zoom(range, 0.7, middle, day),
      ArrowDown: () => zoom(range, 1.4, middle, day),
      Home: () => pan(range, day.from - range.from, day),
      End: () => pan(range, day.to - range.to, day),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    event.stopPropagation();
    store.set({ range: keys[event.key]() });
  }
}

customElements.define("fm-day-chart", DayChart);
