/**
 * <fm-statehere>: how the session stood right after an event: goal, decisions, facts, open work, files. Read when it
 * is opened, and kept open from one event to the next.
 */

import { api } from "../api.js";
import { fill, h } from "../dom.js";
import { overview } from "./overview.js";

const KNOWN = new Set(["session", "at", "title", "agent", "workspace", "last_at", "evicted"]); // the page says these already
const FIRST = [
  "lifecycle",
  "turn",
  "pending_actions",
  "open_questions",
  "decisions",
  "durable_facts",
  "files_modified",
  "evicted_keys",
];

let kept = false; // whoever opened it once wants to see it follow

class StateHere extends HTMLElement {
  session = "";
  at = 0;

  connectedCallback() {
    if (this.fold) return;
    this.body = h("div");
    this.fold = h(
      "details",
      { class: "drawer-part", open: kept, ontoggle: () => this.toggled() },
      h("summary", null, "State at this moment"),
      this.body,
    );
    fill(this, this.fold);
  }

  toggled() {
    kept = Boolean(this.fold?.open);
    if (kept) void this.load();
  }

  async load() {
    const body = /** @type {HTMLElement} */ (this.body);
    if (body.childElementCount) return;
    try {
      const state = await api.get(`sessions/${encodeURIComponent(this.session)}/state`, { at: this.at });
      const rest = Object.keys(state).filter((name) => !FIRST.includes(name) && !KNOWN.has(name));
      fill(
        body,
        overview(
          Object.fromEntries([...FIRST, ...rest].filter((name) => name in state).map((name) => [name, state[name]])),
        ),
      );
    } catch (error) {
      fill(body, h("p", { class: "note bad" }, /** @type {any} */ (error).message));
    }
  }
}

customElements.define("fm-statehere", StateHere);
