/**
 * <fm-shelf>: which sessions the sidebar shows, as a row of pills: by agent, workspace and how they went.
 */

import { fill, h } from "../dom.js";
import { shortPath } from "../layout/words.js";
import { store } from "../store.js";

const OUTCOMES = [
  ["", "Result"],
  ["failed", "With failures"],
  ["ok", "Without failures"],
  ["waiting", "Waiting for an answer"],
];

class Shelf extends HTMLElement {
  /** @type {string[]} */
  agents = [];
  /** @type {string[]} */
  workspaces = [];

  connectedCallback() {
    document.addEventListener("fm:shelf", (event) => {
      const { detail } = /** @type {CustomEvent} */ (event);
      if (!store.state.shelf.agent) this.agents = detail.agents;
      if (!store.state.shelf.workspace) this.workspaces = detail.workspaces;
      this.draw();
    });
    store.watch(["shelf"], () => this.draw());
    this.draw();
  }

  draw() {
    const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.getAttribute("data-shelf");
    const none = !this.agents.length && !Object.values(store.state.shelf).some(Boolean);
    fill(
      this,
      none
        ? null
        : h(
            "div",
            { class: "shelf", role: "group", "aria-label": "Filter sessions" },
            this.pick("agent", "Agent", [["", "Agent"], ...this.agents.map((one) => [one, one])]),
            this.pick("workspace", "Workspace", [
              ["", "Folder"],
              ...this.workspaces.map((one) => [one, shortPath(one, 2)]),
            ]),
            this.pick("outcome", "Outcome", OUTCOMES),
          ),
    );
    if (focused) /** @type {HTMLElement|null} */ (this.querySelector(`[data-shelf="${focused}"]`))?.focus();
  }

  /**
   * @param {"agent"|"workspace"|"outcome"} name
   * @param {string} label
   * @param {string[][]} options
   */
  pick(name, label, options) {
    const chosen = store.state.shelf[name];
    const select = h(
      "select",
      {
        class: `pill-select${chosen ? " is-on" : ""}`,
        "aria-label": label,
        "data-shelf": name,
        onchange: () => store.set({ shelf: { ...store.state.shelf, [name]: select.value } }),
      },
      options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
    );
    return select;
  }
}

customElements.define("fm-shelf", Shelf);
