/**
 * The elements of the rows in sight: taken from a small stock and put back, never more than a screenful.
 */

import { h } from "../dom.js";
import { drawRow, drawWaiting } from "./row.js";

const STOCK = 80;

export class RowPool {
  /** @type {Map<number, HTMLElement>} index in the list to element */
  shown = new Map();
  /** @type {HTMLElement[]} */
  stock = [];

  /** @param {HTMLElement} sheet */
  constructor(sheet) {
    this.sheet = sheet;
  }

  clear() {
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
  }

  /** Put back what is out of sight. @param {number} first @param {number} last half-open */
  keep(first, last) {
    for (const [index, element] of this.shown) {
      if (index >= first && index < last) continue;
      element.remove();
      this.shown.delete(index);
      if (this.stock.length < STOCK) this.stock.push(element);
    }
  }

  /**
   * @param {number} index
   * @param {number} top
   * @param {any} row null while it is read
   * @param {number|null} total how many there are, where that is known
   * @param {number|null} at the position that is looked at
   */
  place(index, top, row, total, at) {
    const element = this.shown.get(index) || this.take(index);
    element.style.setProperty("transform", `translateY(${top}px)`);
    if (/** @type {any} */ (element).row !== row) {
      if (row) drawRow(element, row);
      else drawWaiting(element);
      /** @type {any} */ (element).row = row;
      element.id = row ? `fm-row-${row.seq}` : `fm-wait-${index}`;
    }
    if (total === null) {
      element.removeAttribute("aria-setsize");
      element.removeAttribute("aria-posinset");
    } else {
      element.setAttribute("aria-setsize", String(total));
      element.setAttribute("aria-posinset", String(index + 1));
    }
    element.setAttribute("aria-selected", String(row !== null && row.seq === at));
    element.classList.toggle("is-after", row !== null && at !== null && row.seq > at);
  }

  /** @param {number} index */
  take(index) {
    const element = this.stock.pop() || h("div", { role: "option" });
    /** @type {any} */ (element).row = undefined;
    this.shown.set(index, element);
    this.sheet.append(element);
    return element;
  }
}

/** The event that an element of the list shows. @param {EventTarget|null} target */
export function rowOf(target) {
  return target instanceof Element ? /** @type {any} */ (target.closest(".row"))?.row || null : null;
}
