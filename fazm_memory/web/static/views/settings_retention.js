/**
 * How long contents are kept, by age and by size, with what a setting would let go said before it is made.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { counted, size } from "../layout/words.js";
import { check } from "../verbs/inputs.js";
import { Sheet } from "../verbs/sheet.js";
import { changed, toast } from "../verbs/toast.js";

/** @typedef {import("./settings_recording.js").After} After */

/** @param {any} would */
function effect(would) {
  if (!would || !would.events) return "Nothing would be let go now.";
  return `${counted(would.events, "event")} (${size(would.bytes)}) would be let go now.`;
}

/**
 * @param {any} retention
 * @param {After} after
 */
export function retentionCard(retention, after) {
  if (!retention) return null;
  const days = h("input", { class: "field", type: "number", min: 1, step: 1, id: "keep-days", placeholder: "for ever" });
  const mb = h("input", { class: "field", type: "number", min: 1, step: 1, id: "keep-mb", placeholder: "no limit" });
  days.value = retention.days ?? "";
  mb.value = retention.mb ?? "";
  const told = h("p", { class: "note", "aria-live": "polite" }, retention.words || effect(retention.would_forget));
  const wanted = () => ({ days: number(days), mb: number(mb) });
  const preview = async () => {
    try {
      const would = await api.post("settings/retention", { ...wanted(), dry_run: true });
      told.textContent = effect(would.would_forget);
    } catch (error) {
      told.textContent = /** @type {any} */ (error).message;
    }
  };
  for (const input of [days, mb]) input.addEventListener("change", preview);
  const form = h(
    "form",
    { class: "retention" },
    h("label", { for: "keep-days" }, "Keep contents for"),
    h("span", null, days, " days"),
    h("label", { for: "keep-mb" }, "And at most"),
    h("span", null, mb, " MB"),
    h("button", { class: "btn", type: "submit" }, "Save…"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save(wanted(), after);
  });
  return h(
    "section",
    { class: "card", "aria-label": "Retention" },
    h("h3", null, "Retention"),
    h("p", { class: "note" }, "Decisions, facts and the log's chain stay; only what events held is let go."),
    form,
    told,
  );
}

/** @param {HTMLInputElement} input */
const number = (input) => (input.value === "" ? null : Number(input.value));

/**
 * @param {{days: number|null, mb: number|null}} wanted
 * @param {After} after
 */
function save(wanted, after) {
  const sheet = new Sheet({ title: "Change what is kept", confirm: "Change", danger: true });
  const sure = check("I understand that what is let go cannot be brought back", false);
  let losing = false;
  sure.input.addEventListener("change", () => sheet.ready(!losing || sure.input.checked));
  sheet.open(async () => {
    const done = api.post("settings/retention", { ...wanted, dry_run: false });
    await done;
    sheet.close();
    changed(null, "retention");
    after(done, "Retention is changed");
    toast("What is kept is changed.");
  });
  return sheet
    .reading(api.post("settings/retention", { ...wanted, dry_run: true }), (would) => {
      losing = Boolean(would.would_forget?.events);
      return [h("p", null, effect(would.would_forget)), losing ? sure.row : null];
    })
    .then(() => sheet.ready(!losing));
}
