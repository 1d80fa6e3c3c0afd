/**
 * Elements, made one way only: stored text enters the page as text nodes, never as markup.
 */

import { sentence } from "./layout/words.js";

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * h("button", {class: "btn", onclick: f, "aria-label": "Close"}, "Close"). Properties that start with "on" are
 * listeners; false, null and undefined leave an attribute out; true writes it empty.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>|null} [props]
 * @param {...(Child|Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  dress(element, props || {});
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
export function dress(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") throw new TypeError("style attributes are not allowed here; use a class");
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
 * Put children in the place of what an element held.
 * @param {Element} element
 * @param {...(Child|Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Run once per frame, however often asked.
 * @param {() => void} work
 * @returns {() => void}
 */
export function framed(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

/** @param {Element} control */
const called = (control) => control.getAttribute("data-focus") || control.getAttribute("aria-label") || control.textContent || "";

/** @param {Element} part @param {string} name @returns {HTMLElement[]} */
const controls = (part, name) =>
  /** @type {HTMLElement[]} */ ([...part.querySelectorAll("button, a, select, summary, [data-focus]")]).filter((one) => called(one) === name);

/**
 * Remember which control of a part has the focus; the answer gives it back to that of the same name once the part was
 * drawn anew, or to another where there is none any more.
 * @param {Element} part
 * @param {() => Element|null} [otherwise]
 * @returns {() => void}
 */
export function inHand(part, otherwise = () => null) {
  const active = /** @type {HTMLElement|null} */ (document.activeElement);
  if (!active || !part.contains(active)) return () => {};
  const name = called(active);
  const nth = controls(part, name).indexOf(active);
  return () => {
    if (active.isConnected) return;
    /** @type {HTMLElement|null} */ (controls(part, name)[nth] || otherwise())?.focus();
  };
}

/** Say something to people who listen rather than look. @param {string} text */
export function announce(text) {
  const region = document.getElementById("fm-live");
  if (region) region.textContent = text;
}

const SHORT = 40; // a command that is better not broken over two lines

/**
 * Words with the commands in them, which stand between backticks, set as commands.
 * @param {string} text
 * @returns {Child[]}
 */
export function prose(text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return [text]; // a backtick of somebody's own
  const command = (/** @type {string} */ part) => h("code", { class: part.length > SHORT ? "command" : "command short" }, part);
  return parts.map((part, index) => (index % 2 ? command(part) : part));
}

/** What went wrong and what to do, in sentences. @param {any} error */
export function explained(error) {
  return [error?.message || String(error), error?.hint].filter(Boolean).map(sentence).join(" ");
}

/**
 * Show an error where its content would have stood.
 * @param {any} error
 * @param {(() => void)|null} [again]
 */
export function trouble(error, again = null) {
  const title = error?.title || "Something went wrong";
  return h(
    "div",
    { class: "empty", role: "alert" },
    h("h2", null, title),
    h("p", null, prose(sentence(error?.message || String(error)))),
    error?.hint ? h("p", null, prose(sentence(error.hint))) : null,
    again ? h("button", { class: "btn", type: "button", onclick: again }, "Try again") : null,
  );
}
