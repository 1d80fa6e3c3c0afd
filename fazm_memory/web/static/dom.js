/**
 * Build elements. Recorded text enters the page as text nodes only, never as markup.
 */

import { toSentence } from "./lib/format.js";

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * h("button", {class: "btn", onclick: f, "aria-label": "Close"}, "Close"). Properties that start with "on" are
 * listeners. An attribute is omitted for false, null and undefined, and empty for true.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>|null} [props]
 * @param {...(Child|Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  setProps(element, props || {});
  element.append(...nodes(children));
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, string|number>} attributes
 * @param {...Element} children
 */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * @param {Element} element
 * @param {Record<string, any>} props
 */
function setProps(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") throw new TypeError("the policy forbids style attributes; use a class");
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * @param {(Child|Child[])[]} children
 * @returns {(Node|string)[]}
 */
function nodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * Replace the children of an element.
 * @param {Element} element
 * @param {...(Child|Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Run at most once per frame.
 * @param {() => void} work
 * @returns {() => void}
 */
export function oncePerFrame(work) {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      work();
    });
  };
}

/**
 * Repeat work until nobody asked for it since it began. One run at a time: a slow answer must not replace a newer one.
 * @param {() => unknown} work
 * @param {number} pauseMs from the end of one run to the next
 * @returns {() => Promise<void>}
 */
export function oneAtATime(work, pauseMs) {
  let wanted = false;
  let running = false;
  return async () => {
    wanted = true;
    if (running) return;
    running = true;
    while (wanted) {
      wanted = false;
      await work();
      await new Promise((done) => setTimeout(done, pauseMs));
    }
    running = false;
  };
}

/** @param {Element} control */
const nameOf = (control) =>
  control.getAttribute("data-focus") || control.getAttribute("aria-label") || control.textContent || "";

/** @param {Element} part @param {string} name @returns {HTMLElement[]} */
const controls = (part, name) =>
  /** @type {HTMLElement[]} */ ([...part.querySelectorAll("button, a, select, summary, [data-focus]")]).filter(
    (control) => nameOf(control) === name,
  );

/**
 * Remember which control has the focus before a part is redrawn.
 * @param {Element} part
 * @param {() => Element|null} [fallback] the control to focus if the old one is gone
 * @returns {() => void} focuses the control of the same name again
 */
export function keepFocus(part, fallback = () => null) {
  const active = /** @type {HTMLElement|null} */ (document.activeElement);
  if (!active || !part.contains(active)) return () => {};
  const name = nameOf(active);
  const nth = controls(part, name).indexOf(active);
  return () => {
    if (active.isConnected) return;
    /** @type {HTMLElement|null} */ (controls(part, name)[nth] || fallback())?.focus();
  };
}

/** Tell screen readers. @param {string} text */
export function announce(text) {
  const region = document.getElementById("fm-live");
  if (region) region.textContent = text;
}

const SHORT = 40; // a command up to this length is not wrapped

/**
 * A text in which commands between backticks become <code>.
 * @param {string} text
 * @returns {Child[]}
 */
export function withCommands(text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return [text]; // a single backtick belongs to the text
  const command = (/** @type {string} */ part) => h("code", { class: part.length > SHORT ? "command" : "command short" }, part);
  return parts.map((part, index) => (index % 2 ? command(part) : part));
}

/** The message and the hint of an error. @param {any} error */
export function errorText(error) {
  return [error?.message || String(error), error?.hint].filter(Boolean).map(toSentence).join(" ");
}

/**
 * An error in place of the content that could not be loaded.
 * @param {any} error
 * @param {(() => void)|null} [retry]
 */
export function errorBlock(error, retry = null) {
  const title = error?.title || "Something went wrong";
  return h(
    "div",
    { class: "empty", role: "alert" },
    h("h2", null, title),
    h("p", null, withCommands(toSentence(error?.message || String(error)))),
    error?.hint ? h("p", null, withCommands(toSentence(error.hint))) : null,
    retry ? h("button", { class: "btn", type: "button", onclick: retry }, "Try again") : null,
  );
}
