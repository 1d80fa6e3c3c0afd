/**
 * <fm-context>: what the next session gets, item by item, why each item is included or not, and a choice for each.
 */

import { api } from "../api.js";
import { copyButton } from "../clipboard.js";
import { h, keepFocus, withCommands } from "../dom.js";
import { plural } from "../lib/format.js";
import { sessionHash } from "../lib/route.js";
import { Screen } from "./screen.js";

/** @typedef {(item: string, choice: string, confirmation: string) => void} Choose */

const ANYWHERE = "";
const LOW_TRUST = new Set(["web", "unverified"]);

/** @type {Record<string, string>} */
const KINDS = {
  question: "question",
  pending: "to do",
  failed: "failed",
  interrupted: "interrupted",
  changed: "changed by others",
  said: "last message",
  held: "quarantined",
  place: "folders",
  evicted: "compacted",
  mended: "fixed",
  looked: "read",
  more: "more files",
};

class ContextScreen extends Screen {
  heading = "Context";
  about = "What the next session gets, and why.";
  asText = false;

  async draw() {
    const workspace = this.params.workspace ?? ANYWHERE;
    const context = await api.get("context", { workspace });
    this.drawTools(context, workspace);
    if (this.asText) {
      const text = h("pre", { class: "code", tabindex: 0, "aria-label": "Context as text" }, context.text);
      return [h("div", { class: "copy-row" }, text, copyButton(context.text, "Copy"))];
    }
    if (!context.items.length) return [emptyBlock(workspace)];
    /** @type {any[]} */
    const items = context.items;
    const included = items.filter((item) => item.given);
    const excluded = items.filter((item) => !item.given && item.choice === "exclude");
    const leftOut = items.filter((item) => !item.given && item.choice !== "exclude");
    return [
      tokenMeter(context),
      this.group("Included", included, "Nothing is included yet."),
      leftOut.length ? this.group("Left out for space", leftOut) : null,
      excluded.length ? this.group("Excluded by you", excluded) : null,
      section("Folders", context.folders, "No folders yet.", folderItem),
      section("Naming conventions", context.conventions, "No naming conventions yet.", conventionItem),
      section("Skipped files", context.skipped, "No files were skipped on purpose.", skippedItem),
    ];
  }

  /** @param {any} context @param {string} workspace */
  drawTools(context, workspace) {
    const folders = [...new Set([...(context.workspaces || []), ...(workspace ? [workspace] : [])])];
    const select = h(
      "select",
      { class: "field", "aria-label": "Folder of the next session", "data-focus": "workspace" },
      h("option", { value: ANYWHERE }, "Anywhere on this machine"),
      folders.map((folder) => h("option", { value: folder }, folder)),
    );
    select.value = workspace;
    select.addEventListener("change", () => {
      this.params = { ...this.params, workspace: select.value };
      this.load();
    });
    const format = (/** @type {boolean} */ asText, /** @type {string} */ label) => {
      const onclick = () => {
        this.asText = asText;
        this.load();
      };
      const pressed = String(this.asText === asText);
      return h("button", { type: "button", "aria-pressed": pressed, "data-focus": label, onclick }, label);
    };
    const restoreFocus = keepFocus(this);
    this.tools?.replaceChildren(
      select,
      h("div", { class: "segmented", role: "group", "aria-label": "Format" }, format(false, "Items"), format(true, "As text")),
    );
    restoreFocus();
  }

  /**
   * @param {string} title
   * @param {any[]} items
   * @param {string} [empty]
   */
  group(title, items, empty = "") {
    /** @type {Choose} */
    const choose = (item, choice, confirmation) => {
      const workspace = this.params.workspace || null;
      this.apply(api.post("context/choice", { workspace, item, choice }), confirmation);
    };
    return h(
      "section",
      { class: "context-group", "aria-label": title },
      h("h2", null, title, " ", h("span", { class: "pill" }, String(items.length))),
      items.length
        ? h("ul", { class: "card list" }, items.map((item) => contextItem(item, choose)))
        : h("p", { class: "note" }, empty),
    );
  }
}

/** @param {any} context */
function tokenMeter({ tokens, budget, left_out: leftOut }) {
  const text = `${tokens.toLocaleString("en")} of ${budget.toLocaleString("en")} tokens used`;
  const meter = h("meter", { min: 0, max: budget, value: tokens, "aria-label": text });
  const rest = leftOut ? `; ${plural(leftOut, "more item")} did not fit` : "";
  return h("div", { class: "budget" }, meter, h("span", { class: "note" }, `${text}${rest}.`));
}

/** @param {string} workspace */
function emptyBlock(workspace) {
  const next = "Let a connected agent work for a while, or run `fazm-memory import` to import earlier sessions.";
  return h(
    "div",
    { class: "empty" },
    h("h2", null, "No context yet"),
    h("p", null, workspace ? `No session was recorded in ${workspace}.` : "No session was recorded on this machine."),
    h("p", null, withCommands(next)),
  );
}

/** @param {any} item @param {Choose} choose */
function contextItem(item, choose) {
  return h(
    "li",
    { class: "context-item", "data-choice": item.choice },
    h(
      "div",
      null,
      h(
        "p",
        { class: "context-marks" },
        h("span", { class: `pill ${item.section === "OPEN" ? "warn" : ""}` }, KINDS[item.kind] || item.kind),
        item.choice === "pin" ? h("span", { class: "pill accent" }, "pinned") : null,
        LOW_TRUST.has(item.trust) ? h("span", { class: "pill bad" }, `trust: ${item.trust}`) : null,
      ),
      h("p", { class: "context-text", dir: "auto" }, item.text),
      h(
        "p",
        { class: "note context-origin" },
        h("span", { class: "context-why" }, item.why),
        item.session ? h("a", { href: sessionHash(item.session, item.seq) }, "Show event") : null,
      ),
    ),
    choiceButtons(item, choose),
  );
}

/** @param {any} item @param {Choose} choose */
function choiceButtons(item, choose) {
  const name = item.text.length > 60 ? `${item.text.slice(0, 59)}…` : item.text;
  const button = (/** @type {string} */ choice, /** @type {string} */ label, /** @type {string} */ confirmation) =>
    h(
      "button",
      {
        type: "button",
        "aria-pressed": String(item.choice === choice),
        "aria-label": `${label}: ${name}`,
        "data-focus": `${item.id} ${choice}`,
        onclick: () => choose(item.id, choice === "auto" && !item.given ? "include" : choice, confirmation),
      },
      label,
    );
  const automatic = item.given || item.choice === "exclude";
  return h(
    "div",
    { class: "segmented", role: "group", "aria-label": `Choice for ${name}` },
    button("auto", automatic ? "Auto" : "Include", "Included if there is room"),
    button("pin", "Pin", "Pinned: always included"),
    button("exclude", "Exclude", "Excluded: never included"),
  );
}

/**
 * @param {string} title
 * @param {any[]|null|undefined} rows
 * @param {string} empty
 * @param {(row: any) => HTMLElement} draw
 */
function section(title, rows, empty, draw) {
  const body = rows?.length ? h("ul", { class: "card list" }, rows.map(draw)) : h("p", { class: "note" }, empty);
  return h("section", { class: "context-group", "aria-label": title }, h("h2", null, title), body);
}

/** The session distinguishes rows about the same folder. @param {any} row */
const sessionLink = (row) => [" · ", h("a", { href: sessionHash(row.session) }, row.title || "Show session")];

/** @param {any} row */
function folderItem(row) {
  // Without a listing the total is unknown, and a full bar would be wrong.
  const text = row.listed
    ? `${row.processed} of ${plural(row.total, "file")} processed`
    : `${plural(row.processed, "file")} processed, total unknown`;
  return h(
    "li",
    { class: "habit" },
    h("span", { class: "path" }, row.path),
    row.listed && h("meter", { min: 0, max: row.total || 1, value: row.processed, "aria-label": text }),
    h("span", { class: "note" }, text, sessionLink(row)),
  );
}

/** @param {any} row */
function conventionItem(row) {
  return h(
    "li",
    { class: "habit" },
    h("span", { class: "path" }, row.pattern),
    h("span", { class: "note" }, `in ${row.folder}, ${plural(row.support, "file")}`, sessionLink(row)),
    (row.examples || []).slice(0, 2).map((/** @type {string[]} */ [before, after]) =>
      h("span", { class: "example" }, h("span", null, before), h("span", { "aria-label": "became" }, " → "), h("span", null, after)),
    ),
  );
}

/** @param {any} row */
function skippedItem(row) {
  const names = (row.files || []).slice(0, 5).join(", ");
  const more = row.count > 5 ? ` and ${row.count - 5} more` : "";
  return h(
    "li",
    { class: "habit" },
    h("span", { class: "path" }, row.rule),
    h("span", { class: "note" }, `in ${row.folder}`, sessionLink(row)),
    h("span", { class: "note" }, `${names}${more}`),
  );
}

customElements.define("fm-context", ContextScreen);
