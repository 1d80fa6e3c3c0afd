/**
 * Filters as pills: <fm-event-filters> of the event list, <fm-session-filters> of the sidebar.
 */

import { fill, h } from "../dom.js";
import { shortPath } from "../lib/format.js";
import { store } from "../store.js";

/** @type {{label: string, filter: Record<string, string>}[]} */
const KIND_PILLS = [
  { label: "Prompts", filter: { kind: "prompt" } },
  { label: "Actions", filter: { kind: "action" } },
  { label: "Decisions", filter: { kind: "decision" } },
  { label: "Files", filter: { kind: "file" } },
  { label: "Questions", filter: { kind: "handoff,handoff.answer" } },
  { label: "Apps", filter: { kind: "app" } },
];

/** @type {{label: string, filter: Record<string, string>}[]} */
const OTHER_PILLS = [
  { label: "Failed", filter: { outcome: "failed" } },
  { label: "Untrusted", filter: { trust: "web,unverified" } },
];

class EventFilters extends HTMLElement {
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
        KIND_PILLS.map((pill) => this.pill(pill)),
        h("span", { class: "filters-separator" }),
        h(
          "button",
          {
            class: "pill",
            type: "button",
            "data-filter": "turns",
            title: "Show each turn as its request and its result (c)",
            onclick: () => /** @type {any} */ (document.querySelector("fm-event-list")).toggleTurns(),
          },
          "Collapse turns",
        ),
        OTHER_PILLS.map((pill) => this.pill(pill)),
        tools.length > 1 ? this.toolSelect(tools) : null,
        this.fileInput(),
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
  toolSelect(tools) {
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

  fileInput() {
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

const RESULTS = [
  ["", "Result"],
  ["failed", "With failures"],
  ["ok", "Without failures"],
  ["waiting", "Waiting for an answer"],
];

class SessionFilters extends HTMLElement {
  /** @type {string[]} */
  agents = [];
  /** @type {string[]} */
  workspaces = [];
  /** @type {string[]} */
  devices = [];

  connectedCallback() {
    document.addEventListener("fm:session-facets", (event) => {
      const { detail } = /** @type {CustomEvent} */ (event);
      if (!store.state.sessionFilters.agent) this.agents = detail.agents;
      if (!store.state.sessionFilters.workspace) this.workspaces = detail.workspaces;
      this.devices = detail.devices;
      this.draw();
    });
    store.watch(["sessionFilters"], () => this.draw());
    this.draw();
  }

  draw() {
    const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.getAttribute("data-filter");
    const none = !this.agents.length && !Object.values(store.state.sessionFilters).some(Boolean);
    fill(
      this,
      none
        ? null
        : h(
            "div",
            { class: "session-filters", role: "group", "aria-label": "Filter sessions" },
            this.select("agent", "Agent", [["", "Agent"], ...this.agents.map((agent) => [agent, agent])]),
            this.select("workspace", "Folder", [
              ["", "Folder"],
              ...this.workspaces.map((path) => [path, shortPath(path, 2)]),
            ]),
            this.devices.length
              ? this.select("device", "Machine", [
                  ["", "Machine"],
                  ...this.devices.map((name) => [name, name === "here" ? "This machine" : name]),
                ])
              : null,
            this.select("outcome", "Result", RESULTS),
          ),
    );
    if (focused) /** @type {HTMLElement|null} */ (this.querySelector(`[data-filter="${CSS.escape(focused)}"]`))?.focus();
  }

  /**
   * @param {"agent"|"workspace"|"device"|"outcome"} name
   * @param {string} label
   * @param {string[][]} options
   */
  select(name, label, options) {
    const chosen = store.state.sessionFilters[name];
    const select = h(
      "select",
      {
        class: `pill-select${chosen ? " is-on" : ""}`,
        "aria-label": label,
        "data-filter": name,
        onchange: () => store.set({ sessionFilters: { ...store.state.sessionFilters, [name]: select.value } }),
      },
      options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
    );
    return select;
  }
}

customElements.define("fm-event-filters", EventFilters);
customElements.define("fm-session-filters", SessionFilters);
