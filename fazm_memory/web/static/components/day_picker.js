/**
 * <fm-day-picker>: previous day, next day, and a list of the days with events.
 */

import { api } from "../api.js";
import { now } from "../clock.js";
import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { dayName, dayOf, addDays } from "../lib/days.js";
import { dayHash } from "../lib/route.js";
import { plural } from "../lib/format.js";
import { navigate } from "../router.js";
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
      this.next = null; // the arrows still reach every day
    }
    this.draw();
  }

  draw() {
    const day = store.state.day || dayOf(now());
    const today = dayOf(now());
    const known = this.days.some((item) => item.day === day) ? this.days : [{ day, events: null }, ...this.days];
    const select = h(
      "select",
      {
        class: "day-select",
        "aria-label": "Day",
        onchange: () => (select.value === OLDER ? void this.load() : navigate(dayHash(select.value))),
      },
      known.map((item) => {
        const counts =
          item.events === null
            ? ""
            : ` — ${plural(item.events, "event")}${item.failures ? `, ${item.failures} failed` : ""}`;
        return h("option", { value: item.day, selected: item.day === day }, `${dayName(item.day, today)}${counts}`);
      }),
      this.next ? h("option", { value: OLDER }, "Earlier days…") : null,
    );
    const name = h("span", { class: "day-name-shown", "aria-hidden": "true" }, dayName(day, today), icon("down", 10));
    fill(
      this,
      h(
        "button",
        { class: "btn quiet icon", type: "button", "aria-label": "Previous day", onclick: () => this.step(-1) },
        icon("left"),
      ),
      h("span", { class: "day-pick" }, name, select),
      h(
        "button",
        {
          class: "btn quiet icon",
          type: "button",
          "aria-label": "Next day",
          disabled: day >= today,
          onclick: () => this.step(1),
        },
        icon("right"),
      ),
    );
  }

  /** Go to the nearest day with events, or else to the adjacent day. @param {number} by */
  step(by) {
    const day = store.state.day || dayOf(now());
    const others = this.days.map((item) => item.day).filter((other) => (by < 0 ? other < day : other > day));
    const near = by < 0 ? others[0] : others[others.length - 1];
    navigate(dayHash(near || addDays(day, by)));
  }
}

customElements.define("fm-day-picker", DayPicker);
