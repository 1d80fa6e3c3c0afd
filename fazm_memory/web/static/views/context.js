/**
 * The context: exactly what the next session is given, fact by fact, with why each is in or out and a say in it.
 */

import { api } from "../api.js";
import { h, inHand, prose } from "../dom.js";
import { counted } from "../layout/words.js";
import { copyButton } from "../verbs/copy.js";
import { contextItem } from "./context_item.js";
import { knownWays } from "./known_ways.js";
import { Screen } from "./screen.js";

const EVERYWHERE = "";

class ContextScreen extends Screen {
  constructor() {
    super();
    this.asText = false;
  }

  heading() {
    return "Context";
  }

  about() {
    return "What the next session is given, and why.";
  }

  async draw() {
    const workspace = this.params.workspace ?? EVERYWHERE;
    const told = await api.get("context", { workspace });
    this.drawTools(told, workspace);
    if (this.asText) {
      return [h("div", { class: "copy-row" }, h("pre", { class: "code", tabindex: 0, "aria-label": "The text of the context" }, told.text), copyButton(told.text, "Copy"))];
    }
    if (!told.items.length) return [nothing(workspace)];
    const given = told.items.filter((/** @type {any} */ one) => one.given);
    const excluded = told.items.filter((/** @type {any} */ one) => !one.given && one.choice === "exclude");
    const left = told.items.filter((/** @type {any} */ one) => !one.given && one.choice !== "exclude");
    return [
      meter(told),
      this.group("Given", given, "Nothing is given yet."),
      left.length ? this.group("Left out for space", left) : null,
      excluded.length ? this.group("Excluded by you", excluded) : null,
      ...knownWays(told),
    ];
  }

  /**
   * @param {any} told
   * @param {string} workspace
   */
  drawTools(told, workspace) {
    const places = [...new Set([...(told.workspaces || []), ...(workspace ? [workspace] : [])])];
    const select = h(
      "select",
      { class: "field", "aria-label": "Folder of the next session", "data-focus": "workspace" },
      h("option", { value: EVERYWHERE }, "Anywhere on this machine"),
      places.map((one) => h("option", { value: one }, one)),
    );
    select.value = workspace;
    select.addEventListener("change", () => {
      this.params = { ...this.params, workspace: select.value };
      this.read();
    });
    const shape = (/** @type {boolean} */ text, /** @type {string} */ label) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(this.asText === text),
          "data-focus": label,
          onclick: () => {
            this.asText = text;
            this.read();
          },
        },
        label,
      );
    const again = inHand(this);
    this.tools?.replaceChildren(select, h("div", { class: "segmented", role: "group", "aria-label": "Shape" }, shape(false, "Items"), shape(true, "As text")));
    again();
  }

  /**
   * @param {string} title
   * @param {any[]} items
   * @param {string} [empty]
   */
  group(title, items, empty = "") {
    const choose = (/** @type {string} */ item, /** @type {string} */ choice, /** @type {string} */ words) =>
      this.doing(api.post("context/choice", { workspace: this.params.workspace || null, item, choice }), words);
    return h(
      "section",
      { class: "context-group", "aria-label": title },
      h("h2", null, title, " ", h("span", { class: "pill" }, String(items.length))),
      items.length ? h("ul", { class: "card list" }, items.map((one) => contextItem(one, choose))) : h("p", { class: "note" }, empty),
    );
  }
}

/** @param {any} told */
function meter(told) {
  const words = `${told.tokens.toLocaleString("en")} of ${told.budget.toLocaleString("en")} tokens used`;
  const bar = h("meter", { min: 0, max: told.budget, value: told.tokens, "aria-label": words });
  const left = told.left_out ? `; ${counted(told.left_out, "fact")} did not fit` : "";
  return h("div", { class: "budget" }, bar, h("span", { class: "note" }, `${words}${left}.`));
}

/** @param {string} workspace */
function nothing(workspace) {
  return h(
    "div",
    { class: "empty" },
    h("h2", null, "Nothing to give yet"),
    h("p", null, workspace ? `No session was recorded in ${workspace}.` : "No session was recorded on this machine."),
    h("p", null, prose("Let a connected agent work for a while, or run `fazm-memory import` to take in what it did before.")),
  );
}

customElements.define("fm-context", ContextScreen);
