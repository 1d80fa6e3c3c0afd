/**
 * <fm-recording-status>: whether recording is on, a menu to pause it, and the number of open questions.
 */

import { api } from "../api.js";
import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { clock, plural } from "../lib/format.js";
import { store } from "../store.js";
import { Menu } from "./menu.js";

const HOUR = 3600;

class RecordingStatus extends HTMLElement {
  timer = 0;

  connectedCallback() {
    document.addEventListener("fm:changes", (event) => {
      const { kinds = [], all } = /** @type {CustomEvent} */ (event).detail;
      if (all || kinds.some((/** @type {string} */ kind) => kind === "recording" || kind.startsWith("handoff")))
        void this.load();
    });
    void this.load();
  }

  async load() {
    this.setAttribute("aria-busy", "true");
    try {
      this.draw(await api.get("status"));
    } catch (error) {
      fill(
        this,
        h(
          "p",
          { class: "recording" },
          h("span", { class: "recording-dot" }),
          h("span", { class: "recording-text" }, /** @type {any} */ (error).title),
        ),
      );
    } finally {
      this.removeAttribute("aria-busy");
    }
  }

  /** @param {any} status */
  draw(status) {
    const waiting = status.open_questions?.length || 0;
    const until = status.paused_until ? ` until ${clock(Date.parse(status.paused_until))}` : "";
    const on = status.companion ? "Recording" : "Companion not running";
    const text = status.recording ? on : `Recording is paused${until}`;
    const more = h(
      "button",
      { class: "btn quiet icon", type: "button", "aria-label": "Recording" },
      icon(status.recording ? "pause" : "more"),
    );
    fill(
      this,
      waiting
        ? h(
            "button",
            { class: "btn quiet recording-questions", type: "button", onclick: () => this.showWaiting() },
            icon("handoff"),
            plural(waiting, "question"),
            " waiting",
          )
        : null,
      h(
        "p",
        { class: "recording" },
        h("span", { class: `recording-dot${status.recording && status.companion ? " is-on" : ""}` }),
        h("span", { class: "recording-text" }, text),
        status.recording
          ? Menu.of(more, "Recording", () => [
              { label: "Pause for 15 minutes", act: () => this.post({ pause: HOUR / 4 }) },
              { label: "Pause for 1 hour", act: () => this.post({ pause: HOUR }) },
              { label: "Pause until I resume", act: () => this.post({ pause: null }) },
            ])
          : h(
              "button",
              { class: "btn", type: "button", onclick: () => this.post({ resume: true }) },
              "Resume recording",
            ),
      ),
    );
  }

  showWaiting() {
    store.set({ sessionFilters: { ...store.state.sessionFilters, outcome: "waiting" } });
  }

  /** @param {Record<string, unknown>} body */
  async post(body) {
    try {
      await api.post("recording", body);
    } catch (error) {
      document.dispatchEvent(new CustomEvent("fm:flash", { detail: /** @type {any} */ (error).message }));
    }
    await this.load();
  }
}

customElements.define("fm-recording-status", RecordingStatus);
