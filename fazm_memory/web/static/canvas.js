/**
 * <canvas> in CSS pixels and the page's own colours, sharp on every screen.
 */

import { h } from "./dom.js";

/** @type {Map<string, string>} */
let colours = new Map();

const forget = () => {
  colours = new Map();
  document.dispatchEvent(new CustomEvent("fm:colours"));
};
for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "(forced-colors: active)"]) {
  window.matchMedia(query).addEventListener("change", forget);
}

/** A colour of tokens.css as a value that a canvas takes. @param {string} name without --fm- */
export function colour(name) {
  const known = colours.get(name);
  if (known) return known;
  const probe = h("span", { hidden: true });
  probe.style.setProperty("forced-color-adjust", "none"); // what the system forces is in the tokens already
  probe.style.setProperty("color", `var(--fm-${name})`);
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  colours.set(name, value);
  return value;
}

/**
 * Fit the canvas' pixels to the screen, and clear it.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D|null}
 */
export function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.setProperty("height", `${height}px`);
  }
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/**
 * Slanted lines over an area where nothing was recorded.
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

/** The face of text drawn on a canvas. */
export const FACE = "10.5px -apple-system, system-ui, 'Segoe UI', 'Noto Sans', sans-serif";
