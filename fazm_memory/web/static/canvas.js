/**
 * Canvas helpers: CSS pixels on every screen, and the colours of tokens.css.
 */

import { h } from "./dom.js";

/** @type {Map<string, string>} */
let colours = new Map();

const resetColours = () => {
  colours = new Map();
  document.dispatchEvent(new CustomEvent("fm:colours"));
};
for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "(forced-colors: active)"]) {
  window.matchMedia(query).addEventListener("change", resetColours);
}

/** A colour of tokens.css as a value for a canvas. @param {string} name without --fm- */
export function colour(name) {
  const known = colours.get(name);
  if (known) return known;
  const probe = h("span", { hidden: true });
  probe.style.setProperty("forced-color-adjust", "none"); // the tokens already contain the forced colours
  probe.style.setProperty("color", `var(--fm-${name})`);
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  colours.set(name, value);
  return value;
}

/**
 * Match the canvas to the pixels of the screen and clear it.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D|null}
 */
export function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
    canvas.width = pixelWidth;
    canvas.height = pixelHeight;
    canvas.style.setProperty("height", `${height}px`);
  }
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/**
 * Hatch an area in which nothing was recorded.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function hatch(context, x, y, width, height) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.fillStyle = colour("hover");
  context.fillRect(x, y, width, height);
  context.strokeStyle = colour("line-strong");
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - height; at < x + width; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

export const CANVAS_FONT = "10.5px -apple-system, system-ui, 'Segoe UI', 'Noto Sans', sans-serif";
