/**
 * The lanes on a canvas: layout, drawing, hit testing.
 */

import { CANVAS_FONT, colour, hatch } from "../canvas.js";
import { markAt, packLane } from "../lib/lane_packing.js";
import { ticks } from "../lib/time_axis.js";

export const AXIS = 18;
const LANE_HEIGHT = 16;
const THIN_LANE_HEIGHT = 5;
const GAP = 8;
export const LANES = ["actions", "decisions", "files", "apps"];

/** @typedef {{name: string, y: number, height: number, marks: import("../lib/lane_packing.js").Mark[]}} Lane */
/** @typedef {{session: any, y: number, height: number, open: boolean, lanes: Lane[], flags: any[], more: number}} Group */
/** @typedef {import("../lib/time_axis.js").Scale} Scale */

/**
 * @param {any[]} items of the lanes endpoint
 * @param {Scale} scale
 * @param {string|null} selected the session whose lanes are expanded
 * @returns {{groups: Group[], height: number}}
 */
export function layoutLanes(items, scale, selected) {
  let y = AXIS + 4;
  const groups = arrange(items, selected).map((item) => {
    const open = item.session.id === selected;
    const top = y;
    y += open ? 12 : 3;
    const lanes = LANES.filter((name) => item.lanes[name].length).map((name) => {
      const rows = open ? 2 : 1;
      const lane = {
        name,
        y,
        height: open ? LANE_HEIGHT : THIN_LANE_HEIGHT,
        marks: packLane(item.lanes[name], scale.x, { rows, width: scale.width }),
      };
      y += lane.height + (open ? 3 : 2);
      return lane;
    });
    y = Math.max(y, top + (open ? 0 : 26)) + GAP;
    return {
      session: item.session,
      y: top,
      height: y - top - GAP,
      open,
      lanes,
      flags: item.lanes.marks || [],
      more: item.more,
    };
  });
  return { groups, height: Math.max(y, AXIS + 26) };
}

/**
 * The selected session first. Apps recorded by background sessions are drawn on its app lane. Background sessions with
 * nothing else to draw are left out.
 * @param {any[]} items
 * @param {string|null} selected
 * @returns {any[]}
 */
function arrange(items, selected) {
  const first = items.find((item) => item.session.id === selected);
  const background = items.filter((item) => item.session.background && item !== first);
  const others = items.filter((item) => item !== first && !item.session.background);
  if (!first) return [...others, ...background.filter(hasMarks)];
  const apps = background.flatMap(({ session, lanes }) =>
    lanes.apps.map((/** @type {any} */ app) => ({ ...app, session: session.id })),
  );
  const all = [...first.lanes.apps, ...apps].sort((a, b) => a.ms - b.ms);
  const rest = background.map((item) => ({ ...item, lanes: { ...item.lanes, apps: [] } })).filter(hasMarks);
  return [{ ...first, lanes: { ...first.lanes, apps: all } }, ...others, ...rest];
}

/** @param {any} item */
const hasMarks = (item) => LANES.some((name) => item.lanes[name].length > 0);

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scale} scale
 * @param {Group[]} groups
 * @param {{height: number, ms: number|null, seq: number|null, selected: string|null, gaps: any[]}} view
 */
export function drawLanes(context, scale, groups, view) {
  context.font = CANVAS_FONT;
  drawAxis(context, scale, view.height);
  for (const gap of view.gaps) {
    const x = Math.max(0, scale.x(gap.from_ms));
    const end = Math.min(scale.width, scale.x(gap.to_ms));
    if (end > 0 && x < scale.width) hatch(context, x, AXIS, Math.max(2, end - x), view.height - AXIS);
  }
  for (const group of groups) {
    context.fillStyle = colour("line");
    if (group !== groups[0]) context.fillRect(0, group.y - GAP / 2, scale.width, 0.5);
    if (group.open) drawFlags(context, scale, group);
    for (const lane of group.lanes)
      drawLane(context, lane, group.open, view.selected === group.session.id ? view.seq : null);
  }
  if (view.ms === null) return;
  const x = scale.x(view.ms);
  context.fillStyle = colour("accent");
  context.fillRect(x - 0.75, AXIS - 4, 1.5, view.height - AXIS + 4);
  context.beginPath();
  context.arc(x, AXIS - 5, 4, 0, Math.PI * 2);
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scale} scale
 * @param {number} height
 */
function drawAxis(context, scale, height) {
  for (const piece of scale.pieces) {
    if (piece.folded) {
      context.fillStyle = colour("sunken");
      context.fillRect(piece.x, AXIS, piece.width, height - AXIS);
      context.fillStyle = colour("text-3");
      for (const away of [-4, 0, 4]) context.fillRect(piece.x + piece.width / 2 + away - 0.75, AXIS - 8, 1.5, 1.5);
      continue;
    }
    for (const tick of ticks(piece.from, piece.to, piece.width)) {
      const x = scale.x(tick.ms);
      context.fillStyle = colour("line");
      context.fillRect(x, AXIS, 0.5, height - AXIS);
      context.fillStyle = colour("text-3");
      if (x + 32 < scale.width && x + 30 < piece.x + piece.width) context.fillText(tick.label, x + 3, AXIS - 6);
    }
  }
}

/** Prompts and other marks as small flags above the expanded lanes. @param {CanvasRenderingContext2D} context @param {Scale} scale @param {Group} group */
function drawFlags(context, scale, group) {
  let last = -Infinity;
  for (const flag of group.flags) {
    const x = scale.x(flag.ms);
    if (x < -4 || x > scale.width + 4 || x - last < 5) continue;
    last = x;
    context.fillStyle = colour(flag.kind === "prompt" ? "accent" : /^session/.test(flag.kind) ? "text-3" : "warn");
    context.beginPath();
    context.moveTo(x - 3, group.y + 1);
    context.lineTo(x + 3, group.y + 1);
    context.lineTo(x, group.y + 7);
    context.fill();
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Lane} lane
 * @param {boolean} open
 * @param {number|null} seq
 */
function drawLane(context, lane, open, seq) {
  context.fillStyle = colour("hover");
  if (open) context.fillRect(0, lane.y, context.canvas.clientWidth, lane.height);
  const markHeight = open ? lane.height / 2 - 1 : lane.height;
  for (const mark of lane.marks) {
    context.fillStyle = colour(mark.failed ? "bad" : `lane-${lane.name}`);
    const y = lane.y + (open ? 0.5 + mark.row * (markHeight + 1) : 0);
    fillRounded(context, mark.x, y, mark.width, markHeight);
    if (seq !== null && mark.item.seq === seq) {
      context.strokeStyle = colour("text");
      context.lineWidth = 1.5;
      context.strokeRect(mark.x - 1.5, y - 1.5, mark.width + 3, markHeight + 3);
    }
  }
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} width @param {number} height */
function fillRounded(context, x, y, width, height) {
  if (width < 5) return context.fillRect(x, y, width, height);
  context.beginPath();
  context.roundRect(x, y, width, height, 2);
  context.fill();
}

/**
 * @param {Group[]} groups
 * @param {number} x
 * @param {number} y
 * @returns {{group: Group, mark: import("../lib/lane_packing.js").Mark|null}|null}
 */
export function hitTest(groups, x, y) {
  const group = groups.find((each) => y >= each.y - GAP / 2 && y <= each.y + each.height + GAP / 2);
  if (!group) return null;
  const lane = group.lanes.find((each) => y >= each.y - 1 && y <= each.y + each.height + 1);
  if (!lane) return { group, mark: null };
  const row = group.open && y > lane.y + lane.height / 2 ? 1 : 0;
  return { group, mark: markAt(lane.marks, x, row) || (group.open ? markAt(lane.marks, x, 1 - row) : null) };
}
