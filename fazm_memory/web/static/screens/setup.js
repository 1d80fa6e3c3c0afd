/**
 * <fm-setup>: the steps of the first launch. Each can be skipped; all are here again later. Texts come from the server,
 * in the user's language.
 */

import { api } from "../api.js";
import { textDiff } from "../components/file_diff.js";
import { fill, h, withCommands } from "../dom.js";
import { navigate } from "../router.js";
import { Screen } from "./screen.js";

const RELOAD_MS = 2000;

class SetupScreen extends Screen {
  heading = "Setup";
  /** @type {Set<string>} steps that were skipped in this visit */
  skipped = new Set();
  importing = false;
  shown = "";

  connectedCallback() {
    super.connectedCallback();
    // A permission is granted in the system's settings, so look again regularly, and redraw only what changed.
    this.timer = window.setInterval(() => void this.look(), RELOAD_MS);
  }

  async look() {
    if (document.hidden || this.importing) return;
    try {
      if (JSON.stringify(await api.get("setup")) !== this.shown) await this.load();
    } catch {
      // the page says by itself that the server is away
    }
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    window.clearInterval(this.timer);
  }

  concerns() {
    return !this.importing;
  }

  async draw() {
    const setup = await api.get("setup");
    const { steps, labels, language } = setup;
    this.shown = JSON.stringify(setup);
    this.lang = language;
    fill(/** @type {HTMLElement} */ (this.querySelector("h1")), labels.heading);
    fill(/** @type {HTMLElement} */ (this.querySelector("header .note")), labels.about);
    const finish = async () => {
      await api.post("setup/finish");
      navigate("#/");
    };
    const shown = steps.filter((/** @type {any} */ step) => !this.skipped.has(step.name));
    return [
      h("ol", { class: "setup-steps" }, shown.map((/** @type {any} */ step) => this.step(step, labels))),
      shown.length ? null : h("p", { class: "note" }, labels.nothing),
      h(
        "div",
        { class: "buttons" },
        h("button", { class: "btn primary", type: "button", onclick: () => void this.apply(finish()) }, labels.finish),
      ),
    ];
  }

  /** @param {any} step @param {Record<string, string>} labels */
  step(step, labels) {
    const skip = () => {
      this.skipped.add(step.name);
      void this.load();
    };
    const done = step.state === "done";
    return h(
      "li",
      { class: "card setup-step", "data-step": step.name, "data-state": step.state },
      h("h2", null, step.title, done ? [" ", h("span", { class: "pill good" }, labels.done)] : null),
      h("p", { class: "note" }, step.why),
      step.note ? h("p", { class: "note warn" }, withCommands(step.note)) : null,
      h("ul", { class: "list" }, step.choices.map((/** @type {any} */ choice) => this.choice(step, choice, labels))),
      done
        ? null
        : h(
            "button",
            { class: "btn quiet", type: "button", "aria-label": `${labels.skip}: ${step.title}`, onclick: skip },
            labels.skip,
          ),
    );
  }

  /** @param {any} step @param {any} choice @param {Record<string, string>} labels */
  choice(step, choice, labels) {
    const reversible = ["connect", "folders", "login"].includes(step.name);
    const label = choice.done ? labels.undo : step.action;
    const run = () => {
      const body = { step: step.name, choice: choice.id, on: !choice.done };
      void this.apply(step.name === "import" ? this.importAll(labels) : api.post("setup", body), step.title);
    };
    const button = h(
      "button",
      {
        class: choice.done ? "btn quiet" : "btn",
        type: "button",
        "aria-label": `${label}: ${choice.title}`,
        "data-focus": `${step.name} ${choice.id}`,
        onclick: run,
      },
      label,
    );
    const pill = choice.done ? [" ", h("span", { class: "pill good" }, labels.done)] : null;
    return h(
      "li",
      { class: "setting", "data-choice": choice.id },
      h(
        "div",
        null,
        h("p", null, h("span", { class: "path" }, choice.title), pill),
        choice.note ? h("p", { class: "note" }, choice.note) : null,
        choice.edits.length
          ? h(
              "details",
              null,
              h("summary", null, labels.edits),
              choice.edits.map((/** @type {any} */ edit) =>
                h("section", null, h("h3", { class: "path" }, edit.path), textDiff(edit.diff, { tabindex: 0 })),
              ),
            )
          : null,
      ),
      choice.done && !reversible ? null : button,
    );
  }

  /** Import part by part, with a progress bar. @param {Record<string, string>} labels */
  async importAll(labels) {
    const bar = h("progress", { "aria-label": labels.reading, max: 1 });
    const place = this.querySelector('[data-step="import"] .list');
    place?.replaceChildren(h("li", null, bar));
    this.importing = true;
    try {
      let read = 0;
      for (;;) {
        const part = await api.post("setup/import");
        read += part.bytes;
        bar.max = Math.max(1, read + part.left);
        bar.value = read;
        if (!part.left || !this.isConnected) return;
      }
    } finally {
      this.importing = false;
    }
  }
}

customElements.define("fm-setup", SetupScreen);
