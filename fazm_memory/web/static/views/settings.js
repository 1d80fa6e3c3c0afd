/**
 * Settings: who is connected and heard, what is watched and what never is, how much is kept, and the switch that stops
 * recording.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { agentsCard } from "./settings_agents.js";
import { exclusionsCard } from "./settings_exclusions.js";
import { permissionsCard, rootsCard, storageCard } from "./settings_machine.js";
import { recordingCard } from "./settings_recording.js";
import { retentionCard } from "./settings_retention.js";
import { Screen } from "./screen.js";

const OFTEN = 5000;
const CONCERNING = new Set(["recording", "exclusions", "retention", "agents"]);

class SettingsScreen extends Screen {
  connectedCallback() {
    super.connectedCallback();
    // The live status of agents is not in the log: look again from time to time, unless somebody is typing or has typed.
    this.timer = window.setInterval(() => {
      const busy = this.querySelector("input:focus, select:focus, form.is-changed") || document.querySelector("dialog[open]");
      if (!document.hidden && !busy) this.read();
    }, OFTEN);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    window.clearInterval(this.timer);
  }

  heading() {
    return "Settings";
  }

  about() {
    return "All of it stays on this machine.";
  }

  /** @param {{kinds: string[]}} change */
  concerns(change) {
    return change.kinds.some((kind) => CONCERNING.has(kind));
  }

  async draw() {
    const turn = this.turn;
    const told = await api.get("settings");
    if (turn !== this.turn) return []; // overtaken: what was typed must stay for the reading that is shown
    const typed = this.querySelector("form.is-changed")?.closest("section");
    const after = (/** @type {Promise<unknown>} */ done, /** @type {string} */ words) => this.doing(done, words);
    return [
      h(
        "div",
        { class: "cards" },
        recordingCard(told.recording, after, told.companion, told.agents || []),
        agentsCard(told.agents || [], after),
        permissionsCard(told.permissions),
        rootsCard(told.roots),
        exclusionsCard(told.exclusions, after),
        storageCard(told.storage, told.companion),
        typed || retentionCard(told.retention, after),
      ),
    ];
  }
}

customElements.define("fm-settings", SettingsScreen);
