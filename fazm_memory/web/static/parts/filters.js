/**
 * <fm-filters>: which events of the session the list shows, as pills.
 */

import { fill, h } from "../dom.js";
import { store } from "../store.js";

/** @type {{label: string, filter: Record<string, string>}[]} */
const PILLS = [
  { label: "Prompts", filter: { kind: "prompt" } },
  { label: "Actions", filter: { kind: "action" } },
  { label: "Decisions", filter: { kind: "decision" } },
  { label: "Files", filter: { kind: "file" } },
  { label: "Questions", filter: { kind: "handoff,handoff.answer" } },
  { label: "Apps", filter: { kind: "app" } },
];

/** @type {{label: string, filter: Record<string, string>}[]} */
const ALSO = [
  { label: "Failed", filter: { outcome: "failed" } },
  { label: "Untrusted", filter: { trust: "web,unverified" } },
];

class Filters extends HTMLElement {
  connectedCallback() {
    store.watch(["filters", "info"], () => this.draw());
    this.draw();
  }

  draw() {
    const { filters, info } = store.state;
    const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.getAttribute("data-filter");
    const tools = Object.keys(info?.tools || {}).slice(0, 40);
    fill(
      this,
      h(
        "div",
        { class: "filters", role: "group", "aria-label": "Filter events" },
        h(
          "button",
          {
            class: "pill",
            type: "button",
            "data-filter": "all",
            "aria-pressed": String(!Object.values(filters).some(Boolean)),
            onclick: () => store.set({ filters: {} }),
          },
          "All",
        ),
        PILLS.map((pill) => this.pill(pill)),
        h("span", { class: "filters-line" }),
        ALSO.map((pill) => this.pill(pill)),
        tools.length > 1 ? this.tool(tools) : null,
        this.file(),
      ),
    );
    if (focused)
      /** @type {HTMLElement|null} */ (this.querySelector(`[data-filter="${CSS.escape(focused)}"]`))?.focus();
  }

  /** @param {{label: string, filter: Record<string, string>}} pill */
  pill({ label, filter }) {
    const { filters } = store.state;
    const [[name, value]] = Object.entries(filter);
    const on = filters[name] === value;
    const onclick = () => store.set({ filters: { ...store.state.filters, [name]: on ? "" : value } });
    return h(
      "button",
      { class: "pill", type: "button", "data-filter": label, "aria-pressed": String(on), onclick },
      label,
    );
  }

  /** @param {string[]} tools */
  tool(tools) {
    const chosen = store.state.filters.tool || "";
    const select = h(
      "select",
      {
        class: `pill-select${chosen ? " is-on" : ""}`,
        "aria-label": "Tool",
        "data-filter": "tool",
        onchange: () => store.set({ filters: { ...store.state.filters, tool: select.value } }),
      },
      h("option", { value: "" }, "Tool"),
      tools.map((tool) => h("option", { value: tool, selected: tool === chosen }, tool)),
    );
    return select;
  }

  file() {
    const input = h("input", {
      class: "field filters-file",
      type: "search",
      placeholder: "File",
      "aria-label": "Only events about this file",
      "data-filter": "file",
      value: store.state.filters.file || "",
      spellcheck: "false",
      onchange: () => store.set({ filters: { ...store.state.filters, file: input.value.trim() } }),
    });
    return input;
  }
}

customElements.define("fm-filters", Filters);
