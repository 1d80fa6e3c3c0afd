/**
 * <fm-lanes>: actions, decisions, files and apps of all active sessions on one time axis that can be zoomed and
 * panned. The playhead is a slider that steps from event to event.
 */

import { api } from "../api.js";
import { prepare } from "../canvas.js";
import { fill, h, oncePerFrame } from "../dom.js";
import { icon } from "../icons.js";
import { AXIS, LANES, drawLanes, layoutLanes, hitTest } from "./lane_drawing.js";
import { sessionHash } from "../lib/route.js";
import { clamp, contains, pan, reveal } from "../lib/time_range.js";
import { foldIdle, timeScale } from "../lib/time_axis.js";
import { clock, clockSeconds, duration, plural } from "../lib/format.js";
import { currentDay, fitSession, lastUntil, lastWork, panBy, showRange, zoomBy } from "../time_window.js";
import { navigate } from "../router.js";
import { store } from "../store.js";

const DELAY_MS = 120;
const MAX_MARKS = 400;
const NARROW = window.matchMedia("(max-width: 900px)"); // as in layout.css

class Lanes extends HTMLElement {
  /** @type {any} */
  data = null;
  /** @type {import("./lane_drawing.js").Group[]} */
  groups = [];
  /** @type {import("../lib/time_axis.js").Scale|null} */
  scale = null;
  /** @type {any[]} */
  gaps = [];
  timer = 0;
  generation = 0;
  dragged = false;
  key = "";
  errorMessage = "";

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
    this.foldButton = h(
      "button",
      { class: "btn quiet lanes-fold", type: "button", "aria-expanded": "true", onclick: () => this.fold(!this.area?.hidden) },
      "Lanes",
    );
    this.tools = h(
      "div",
      { class: "lanes-tools", role: "toolbar", "aria-label": "Lanes" },
      this.foldButton,
      this.note,
      tool("left", "Earlier", () => panBy(-0.3)),
      tool("right", "Later", () => panBy(0.3)),
      tool("minus", "Zoom out", () => zoomBy(1.6)),
      tool("plus", "Zoom in", () => zoomBy(0.6)),
      tool("fit", "Fit session", fitSession),
    );
    this.area = h("div", { class: "lanes-scroll" }, this.names, this.stage);
    fill(this, this.tools, this.area);
    this.fold(NARROW.matches);
    NARROW.addEventListener("change", () => this.fold(NARROW.matches));
    this.drawSoon = oncePerFrame(() => this.draw());
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.startDrag(event));
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.hideTip());
    canvas.addEventListener("click", (event) => void this.clicked(event));
    canvas.addEventListener("keydown", (event) => this.keys(event));
    new ResizeObserver(() => this.drawSoon?.()).observe(this.stage);
    document.addEventListener("fm:colours", () => this.drawSoon?.());
    document.addEventListener("fm:changes", () => this.loadSoon());
    store.watch(["range"], () => this.loadSoon());
    store.watch(["range", "ms", "seq", "info"], () => this.drawSoon?.());
    store.watch(["session"], () => this.loadSoon());
    store.watch(["ms"], ({ ms, range }) => ms !== null && range && !contains(range, ms) && showRange(reveal(range, ms)));
    this.loadSoon();
  }

  /** Show only the toolbar. On a narrow screen the list needs the room. @param {boolean} folded */
  fold(folded) {
    if (this.area) this.area.hidden = folded;
    this.foldButton?.setAttribute("aria-expanded", String(!folded));
    if (!folded) this.drawSoon?.();
  }

  loadSoon() {
    window.clearTimeout(this.timer);
    this.setAttribute("aria-busy", "true");
    this.timer = window.setTimeout(() => void this.load(), DELAY_MS);
  }

  async load() {
    const { range, day } = store.state;
    this.timer = 0;
    if (!range || !day) {
      this.setAttribute("aria-busy", "false"); // nothing to load: another screen is shown
      return;
    }
    const generation = (this.generation += 1);
    const margin = (range.to - range.from) / 2; // so that panning shows marks at once
    const wanted = clamp({ from: range.from - margin, to: range.to + margin }, currentDay());
    try {
      const [lanes, rollup] = await Promise.all([
        api.get("lanes", { ...wanted, max: MAX_MARKS }),
        api.get("rollup", { ...wanted, bucket: "day" }),
      ]);
      if (generation !== this.generation) return;
      this.data = lanes;
      this.gaps = rollup.gaps || [];
      this.errorMessage = "";
    } catch (error) {
      if (generation !== this.generation) return;
      this.errorMessage = /** @type {any} */ (error).message;
    }
    if (!this.timer) this.setAttribute("aria-busy", "false"); // else a newer request is planned
    this.drawSoon?.();
  }

  draw() {
    const { range, session, info, ms, seq } = store.state;
    const width = this.stage?.clientWidth || 0;
    if (!range || !width) return;
    const items = (this.data?.items || []).filter(
      (/** @type {any} */ item) => item.session.id === session || isActive(item, range),
    );
    const active = items.filter((/** @type {any} */ item) => !item.session.background);
    const ranges = active.map((/** @type {any} */ item) => ({ from: item.from_ms, to: item.to_ms }));
    // Idle time inside the session is not folded, but the hours before it was active on this day are.
    if (info && !items.some((/** @type {any} */ item) => item.session.id === info.id))
      ranges.push({ from: info.opened_ms, to: lastWork(info) });
    this.scale = timeScale(foldIdle(ranges, range.from, range.to), width);
    const { groups, height } = layoutLanes(items, this.scale, session);
    this.groups = groups;
    const context = prepare(/** @type {HTMLCanvasElement} */ (this.canvas), width, height);
    if (context) drawLanes(context, this.scale, groups, { height, ms, seq, selected: session, gaps: this.gaps });
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
    const { range, ms, seq, info } = store.state;
    const canvas = /** @type {HTMLElement} */ (this.canvas);
    const failures = this.groups
      .flatMap((group) => group.lanes.flatMap((lane) => lane.marks))
      .filter((mark) => mark.failed).length;
    const more = this.groups.reduce((sum, group) => sum + group.more, 0);
    canvas.setAttribute("aria-valuemax", String(Math.max(0, (info?.events || 1) - 1)));
    canvas.setAttribute("aria-valuenow", String(seq ?? Math.max(0, (info?.events || 1) - 1)));
    canvas.setAttribute("aria-valuetext", ms === null ? "Now" : `${clockSeconds(ms)}, position ${seq}`);
    const words = [
      this.errorMessage || `${clock(range?.from || 0)} – ${clock(range?.to || 0)}`,
      this.groups.length > 1 ? plural(this.groups.length, "session") : "",
      failures ? `${failures} failed` : "",
      more ? `${more.toLocaleString("en")} more if you zoom in` : "",
      this.data?.more_sessions ? `${plural(this.data.more_sessions, "more session")}` : "",
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
    const { range } = store.state;
    if (!range || !this.scale) return;
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!sideways && !event.ctrlKey && !event.metaKey && !event.altKey) return; // scrolls the page
    event.preventDefault();
    if (sideways) showRange(pan(range, (event.deltaX / this.scale.width) * (range.to - range.from), currentDay()));
    else zoomBy(Math.exp(event.deltaY * 0.004), this.scale.ms(this.point(event).x));
  }

  /** @param {PointerEvent} event */
  startDrag(event) {
    const { range } = store.state;
    const canvas = /** @type {HTMLElement} */ (this.canvas);
    if (event.button !== 0 || !range || !this.scale) return;
    const perPixel = (range.to - range.from) / this.scale.width;
    this.dragged = false;
    const move = (/** @type {PointerEvent} */ moved) => {
      const by = moved.clientX - event.clientX;
      if (!this.dragged && Math.abs(by) < 4) return;
      if (!this.dragged) canvas.setPointerCapture(event.pointerId);
      this.dragged = true;
      this.hideTip();
      showRange(pan(range, -by * perPixel, currentDay()));
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
    const under = event.buttons ? null : hitTest(this.groups, x, y);
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
        `No session active from ${clock(fold.from)} to ${clock(fold.to)} (${duration(fold.to - fold.from)})`,
      );
    tip.style.setProperty("top", `${y + 14}px`);
    tip.style.setProperty("left", `${Math.min(x + 10, (this.stage?.clientWidth || 0) - tip.offsetWidth - 4)}px`);
  }

  hideTip() {
    /** @type {HTMLElement} */ (this.tip).hidden = true;
  }

  /** Select the event of a mark, or the last event before the clicked time. @param {MouseEvent} event */
  async clicked(event) {
    if (this.dragged || !this.scale) return;
    const { x, y } = this.point(event);
    const under = hitTest(this.groups, x, y);
    if (under?.mark) {
      store.set({ ms: under.mark.item.ms });
      return navigate(sessionHash(under.mark.item.session || under.group.session.id, under.mark.item.seq));
    }
    const id = y > AXIS && under ? under.group.session.id : store.state.session;
    if (id) await selectTime(id, this.scale.ms(x));
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
    else if (event.key === "0") fitSession();
    else if (event.key in to) {
      const next = Math.min(head, Math.max(0, to[event.key]));
      navigate(sessionHash(session, next, store.state.then), { replace: true });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Whether a session has something to draw in a time range. More than the range is loaded. @param {any} item @param {{from: number, to: number}} range */
const isActive = (item, range) =>
  LANES.some((name) => item.lanes[name].some((/** @type {any} */ mark) => contains(range, mark.ms)));

/** @param {string} session @param {number} ms */
async function selectTime(session, ms) {
  navigate(sessionHash(session, await lastUntil(session, Math.round(ms))));
}

/** @type {Record<string, string>} */
const LANE_NAMES = { actions: "Actions", decisions: "Decisions", files: "Files", apps: "Apps" };

/**
 * The names beside the lanes: lanes of the selected session by kind, other sessions by title.
 * @param {import("./lane_drawing.js").Group[]} groups
 * @returns {HTMLElement[]}
 */
function laneNames(groups) {
  return groups.flatMap((group) => (group.open ? laneLabels(group) : [sessionLink(group)]));
}

/** Everything the names depend on; they are redrawn only if it changed. @param {import("./lane_drawing.js").Group[]} groups */
function namesKey(groups) {
  return JSON.stringify(
    groups.map(({ session, y, lanes }) => [session.id, session.title, y, lanes.map((lane) => lane.y)]),
  );
}

/** @param {import("./lane_drawing.js").Group} group */
function laneLabels(group) {
  return group.lanes.map((lane) => at(lane.y, h("span", { class: `lanes-name is-${lane.name}` }, LANE_NAMES[lane.name])));
}

/** @param {any} session */
const sessionSource = (session) => (session.device ? `${session.agent} on ${session.device}` : session.agent);

/** @param {import("./lane_drawing.js").Group} group */
function sessionLink({ session, y }) {
  const title = session.title || "Untitled session";
  return at(
    y,
    h("a", { class: "lanes-session", href: sessionHash(session.id), title: `${title} (${sessionSource(session)})` }, title),
  );
}

/**
 * @param {number} y
 * @param {HTMLElement} element
 */
function at(y, element) {
  element.style.setProperty("top", `${y}px`);
  return element;
}

customElements.define("fm-lanes", Lanes);
