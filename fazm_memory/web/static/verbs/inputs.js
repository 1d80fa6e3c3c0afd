/**
 * The rows of a sheet's form: a label and its control, tied together.
 */

import { h } from "../dom.js";

let count = 0;
const fresh = () => `fm-input-${(count += 1)}`;

/**
 * @param {string} label
 * @param {boolean} checked
 */
export function check(label, checked) {
  const input = h("input", { type: "checkbox", id: fresh(), checked });
  return { input, row: h("div", { class: "ask-row check" }, input, h("label", { for: input.id }, label)) };
}

/**
 * @param {string} label
 * @param {string} value
 * @param {Record<string, any>} [more]
 */
export function text(label, value, more = {}) {
  const input = h("input", { class: "field wide", type: "text", id: fresh(), autocomplete: "off", ...more });
  input.value = value;
  return { input, row: h("div", { class: "ask-row" }, h("label", { for: input.id }, label), input) };
}

/**
 * @param {string} label
 * @param {string} value
 * @param {Record<string, any>} [more]
 */
export function area(label, value, more = {}) {
  const input = h("textarea", { class: "field wide", rows: 3, id: fresh(), ...more });
  input.value = value;
  return { input, row: h("div", { class: "ask-row" }, h("label", { for: input.id }, label), input) };
}

/**
 * @param {string} label
 * @param {[string, string][]} options value and what people read
 * @param {string} value
 */
export function choice(label, options, value) {
  const input = h("select", { class: "field", id: fresh() }, options.map(([one, words]) => h("option", { value: one }, words)));
  input.value = value;
  return { input, row: h("div", { class: "ask-row" }, h("label", { for: input.id }, label), input) };
}

/**
 * A moment, in the machine's own time.
 * @param {string} label
 * @param {number|null} ms
 */
export function when(label, ms) {
  const input = h("input", { class: "field", type: "datetime-local", id: fresh() });
  if (ms !== null) input.value = local(ms);
  return { input, row: h("div", { class: "ask-row" }, h("label", { for: input.id }, label), input) };
}

/** @param {number} ms */
function local(ms) {
  const moment = new Date(ms);
  return new Date(ms - moment.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}
