/**
 * <fm-recording>: whether anything is recorded right now, the way to stop it for a while, and what waits for an answer.
 */

import { api } from "../api.js";
import { fill, h } from "../dom.js";
import { icon } from "../icons.js";
import { clock, counted } from "../layout/words.js";
import { store } from "../store.js";
import { Menu } from "./menu.js";

const HOUR = 3600;

class Recording extends HTMLElement {
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
    try {
      this.draw(await api.get("status"));
    } catch (error) {
      fill(
        this,
        h(
          "p",
          { class: "recording" },
          h("span", { class: "recording-dot" }),
          h("span", { class: "recording-words" }, /** @type {any} */ (error).title),
        ),
      );
    }
  }

  /** @param {any} status */
  draw(status) {
    const waiting = status.open_questions?.length || 0;
    const until = status.paused_until ? ` until ${clock(Date.parse(status.paused_until))}` : "";
    const heard = status.companion ? "Recording" : "The companion is not running";
    const words = status.recording ? heard : `Recording is paused${until}`;
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
            { class: "btn quiet recording-waits", type: "button", onclick: () => this.waiting() },
            icon("handoff"),
            counted(waiting, "question"),
            " waiting",
          )
        : null,
      h(
        "p",
        { class: "recording" },
        h("span", { class: `recording-dot${status.recording && status.companion ? " is-on" : ""}` }),
        h("span", { class: "recording-words" }, words),
        status.recording
          ? Menu.of(more, "Recording", () => [
              { label: "Pause for 15 minutes", act: () => this.say({ pause: HOUR / 4 }) },
              { label: "Pause for an hour", act: () => this.say({ pause: HOUR }) },
              { label: "Pause until resumed", act: () => this.say({ pause: null }) },
            ])
          : h(
              "button",
              { class: "btn", type: "button", onclick: () => this.say({ resume: true }) },
              "Resume recording",
            ),
      ),
    );
  }

  waiting() {
    store.set({ shelf: { ...store.state.shelf, outcome: "waiting" } });
  }

  /** @param {Record<string, unknown>} body */
  async say(body) {
    try {
      await api.post("recording", body);
    } catch (error) {
      document.dispatchEvent(new CustomEvent("fm:said", { detail: /** @type {any} */ (error).message }));
    }
    await this.load();
  }
}

customElements.define("fm-recording", Recording);
