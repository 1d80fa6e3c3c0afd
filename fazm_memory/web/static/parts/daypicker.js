/**
 * <fm-daypicker>: the day that is shown, with the day before, the day after, and a list of those on which anything
 * happened.
 */

import { api } from "../api.js";
import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { dayName, dayOf, dayShift } from "../layout/days.js";
import { dayHash } from "../layout/route.js";
import { counted } from "../layout/words.js";
import { go } from "../router.js";
import { store } from "../store.js";

const OLDER = "older";

class DayPicker extends HTMLElement {
  /** @type {any[]} */
  days = [];
  /** @type {string|null} */
  next = null;

  connectedCallback() {
    store.watch(["day"], () => this.draw());
    this.draw();
    void this.load();
  }

  async load() {
    try {
      const answer = await api.get("days", { limit: 60, cursor: this.next });
      this.days.push(...answer.items);
      this.next = answer.next;
    } catch {
      this.next = null; // the two arrows still lead to every day
    }
    this.draw();
  }

  draw() {
    const day = store.state.day || dayOf(Date.now());
    const today = dayOf(Date.now());
    const known = this.days.some((one) => one.day === day) ? this.days : [{ day, events: null }, ...this.days];
    const select = h(
      "select",
      {
        class: "day-select",
        "aria-label": "Day",
        onchange: () => (select.value === OLDER ? void this.load() : go(dayHash(select.value))),
      },
      known.map((one) => {
        const counts =
          one.events === null
            ? ""
            : ` — ${counted(one.events, "event")}${one.failures ? `, ${one.failures} failed` : ""}`;
        return h("option", { value: one.day, selected: one.day === day }, `${dayName(one.day, today)}${counts}`);
      }),
      this.next ? h("option", { value: OLDER }, "Earlier days…") : null,
    );
    const name = h("span", { class: "day-shown", "aria-hidden": "true" }, dayName(day, today), icon("down", 10));
    fill(
      this,
      h(
        "button",
        { class: "btn quiet icon", type: "button", "aria-label": "Day before", onclick: () => this.step(-1) },
        icon("left"),
      ),
      h("span", { class: "day-pick" }, name, select),
      h(
        "button",
        {
          class: "btn quiet icon",
          type: "button",
          "aria-label": "Day after",
          disabled: day >= today,
          onclick: () => this.step(1),
        },
        icon("right"),
      ),
    );
  }

  /** To the nearest day on which anything happened, or simply the next. @param {number} by */
  step(by) {
    const day = store.state.day || dayOf(Date.now());
    const others = this.days.map((one) => one.day).filter((one) => (by < 0 ? one < day : one > day));
    const near = by < 0 ? others[0] : others[others.length - 1];
    go(dayHash(near || dayShift(day, by)));
  }
}

customElements.define("fm-daypicker", DayPicker);
