/**
 * <fm-artifacts>: the feature lists, logs, checklists and documents of the session, with items to tick, add and remove.
 * Each edit is recorded as the user's, and is the next version of the artifact.
 */

import { api } from "../api.js";
import { notifyChange, toast } from "../commands/toast.js";
import { announce, errorText, fill, h, keepFocus, withCommands } from "../dom.js";
import { icon } from "../icons.js";
import { plural } from "../lib/format.js";
import { store } from "../store.js";

/** @typedef {{id: string, text: string, status: string, note?: string}} Item */
/** @typedef {{name: string, form: string, version: number, done: number, total: number, items: Item[], text: string|null}} Artifact */

const CUT = 200; // the length at which the server cuts a text

/** @type {Record<string, string>} */
const FORMS = { feature_list: "feature list", progress_log: "progress log", checklist: "checklist", document: "document" };
/** @type {Record<string, string>} other than done and not done */
const STATUS = { in_progress: "in progress", cancelled: "cancelled" };

class Artifacts extends HTMLElement {
  session = ""; // whose artifacts are drawn
  /** @type {Set<string>} names of those that are open */
  open = new Set();
  /** @type {Map<string, string>} what was typed for a new item, by artifact */
  typed = new Map();
  /** @type {Promise<unknown>} edits follow one another: each is for the version that the last one made */
  edits = Promise.resolve();
  error = ""; // of the last edit
  drawn = "";

  connectedCallback() {
    store.watch(["info", "then"], () => this.draw());
    this.draw();
  }

  /** Those of now, so they are not shown while the page looks back. @returns {Artifact[]} */
  get artifacts() {
    const { info, then } = store.state;
    return then ? [] : info?.artifacts || [];
  }

  draw() {
    const session = store.state.session || "";
    if (this.session !== session) {
      this.session = session;
      this.open.clear();
      this.typed.clear();
      this.error = "";
    }
    const { artifacts, error } = this;
    const next = JSON.stringify([session, artifacts, error]);
    if (next === this.drawn) return; // keeps a selection
    this.drawn = next;
    const restoreFocus = keepFocus(this, () => this.querySelector("details[open] summary"));
    fill(
      this,
      artifacts.length
        ? h(
            "section",
            { class: "artifacts", "aria-labelledby": "fm-artifacts" },
            h("h2", { id: "fm-artifacts" }, "Artifacts"),
            error ? h("p", { class: "note bad", role: "alert" }, withCommands(error)) : null,
            artifacts.map((artifact) => this.artifact(artifact)),
          )
        : null,
    );
    restoreFocus();
  }

  /** @param {Artifact} artifact */
  artifact(artifact) {
    const { name, form, done, total, items, text } = artifact;
    const toggled = (/** @type {Event} */ event) => {
      if (/** @type {HTMLDetailsElement} */ (event.target).open) this.open.add(name);
      else this.open.delete(name);
    };
    return h(
      "details",
      { class: "artifact", open: this.open.has(name), ontoggle: toggled },
      h(
        "summary",
        { "data-focus": `artifact ${name}` },
        h("span", { class: "artifact-name", dir: "auto" }, name),
        h("span", { class: "note" }, FORMS[form] || form),
        total ? h("span", { class: `pill ${done === total ? "good" : ""}` }, `${done} of ${total} done`) : null,
      ),
      h(
        "div",
        { class: "artifact-body" },
        text ? h("pre", { class: "code", tabindex: 0, dir: "auto", "aria-label": `Text of ${name}` }, text) : null,
        items.length ? h("ul", { "aria-label": `Items of ${name}` }, items.map((item) => this.item(artifact, item))) : null,
        total > items.length ? h("p", { class: "note" }, `and ${plural(total - items.length, "more item")}`) : null,
        form === "document" && !items.length ? null : this.adding(artifact),
      ),
    );
  }

  /** @param {Artifact} artifact @param {Item} item */
  item(artifact, item) {
    const { id, text, status, note } = item;
    const done = status === "completed";
    const tick = () => {
      const next = done ? "pending" : "completed";
      void this.edit(artifact.name, { set: [{ id, status: next }] }, `${done ? "Not done" : "Done"}: ${text}`);
    };
    return h(
      "li",
      { class: `artifact-item is-${status}` },
      h(
        "label",
        null,
        h("input", { type: "checkbox", checked: done, "data-focus": `item ${artifact.name} ${id}`, onchange: tick }),
        h("span", { dir: "auto" }, text),
      ),
      STATUS[status] ? h("span", { class: "pill" }, STATUS[status]) : null,
      h(
        "button",
        {
          class: "btn quiet icon",
          type: "button",
          title: "Remove",
          "aria-label": `Remove: ${text}`,
          onclick: () => this.removeItem(artifact.name, item),
        },
        icon("close"),
      ),
      note ? h("p", { class: "note", dir: "auto" }, note) : null,
    );
  }

  /** @param {Artifact} artifact */
  adding({ name }) {
    const input = h("input", {
      class: "field",
      type: "text",
      autocomplete: "off",
      placeholder: "New item",
      "aria-label": `New item of ${name}`,
      "data-focus": `new ${name}`,
      oninput: () => this.typed.set(name, input.value),
    });
    input.value = this.typed.get(name) || "";
    const add = async (/** @type {Event} */ event) => {
      event.preventDefault();
      const text = input.value.trim();
      if (!text) return input.focus();
      input.value = "";
      this.typed.delete(name);
      if (await this.edit(name, { set: [{ text }] }, `Added: ${text}`)) return;
      this.typed.set(name, text);
      const shown = /** @type {HTMLInputElement[]} */ ([...this.querySelectorAll("input[type=text]")]);
      for (const each of shown) if (each.getAttribute("data-focus") === `new ${name}`) each.value = text;
    };
    return h(
      "form",
      { class: "artifact-new", onsubmit: add },
      input,
      h("button", { class: "btn", type: "submit", "aria-label": `Add to ${name}` }, "Add"),
    );
  }

  /** @param {string} name @param {Item} item */
  async removeItem(name, item) {
    const session = store.state.session;
    if (!(await this.edit(name, { remove: [item.id] }, `Removed: ${item.text}`))) return;
    const putBack = async () => {
      await api.post(`sessions/${session}/artifacts`, { name, set: [item] });
      notifyChange(session, "artifact");
    };
    const whole = [item.text, item.note || ""].every((text) => text.length < CUT);
    toast(`Removed from ${name}.`, whole ? putBack : null);
  }

  /**
   * Record a change of an artifact as shown. Returns whether that worked.
   * @param {string} name @param {Record<string, unknown>} change @param {string} confirmation for screen readers
   * @returns {Promise<boolean>}
   */
  edit(name, change, confirmation) {
    const session = store.state.session;
    const work = async () => {
      const version = this.artifacts.find((artifact) => artifact.name === name)?.version;
      try {
        const { artifacts } = await api.post(`sessions/${session}/artifacts`, { name, version, ...change });
        this.error = "";
        const { info } = store.state;
        if (info?.id === session) store.set({ info: { ...info, artifacts } });
        announce(confirmation);
        return true;
      } catch (error) {
        this.drawn = ""; // a box that was ticked shows again what holds
        if (store.state.session === session) this.error = errorText(error);
        this.draw();
        notifyChange(session, "artifact");
        return false;
      }
    };
    const edited = this.edits.then(work);
    this.edits = edited;
    return edited;
  }
}

customElements.define("fm-artifacts", Artifacts);
