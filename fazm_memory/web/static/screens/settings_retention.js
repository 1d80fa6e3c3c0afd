/**
 * The retention card: how long each kind of content is kept, and the size limit of the log. It shows what a clean-up
 * would free before anything changes. Losing content needs an explicit tick.
 */

import { api } from "../api.js";
import { CommandDialog, checkbox } from "../commands/dialog.js";
import { notifyChange, toast } from "../commands/toast.js";
import { now } from "../clock.js";
import { h } from "../dom.js";
import { byteSize, plural } from "../lib/format.js";
import { ageText, announcedText, deletedText, deletesAnything, freedText, kindLine } from "../lib/retention_text.js";

/** @typedef {import("./settings.js").Apply} Apply */
/** @typedef {import("../lib/retention_text.js").Effect} Effect */
/** @typedef {{name: string, words: string, about: string, days: number|null}} Kind */
/** @typedef {{ages: Record<string, number|null>, mb: number|null}} Policy */

const CACHE_MS = 600_000; // the effect is calculated from all old events, so it is not requested at each reload

/** @type {{policy: string, at: number, request: Promise<any>}|null} */
let cached = null;

/** What the current policy would delete today. @param {any} retention */
function currentEffect(retention) {
  const policy = JSON.stringify(retention.policy);
  if (cached?.policy !== policy || Date.now() - cached.at > CACHE_MS) {
    cached = { policy, at: Date.now(), request: api.get("settings/retention") };
    cached.request.catch(() => (cached = null));
  }
  return cached.request;
}

/** @param {any} retention @param {Apply} apply */
export function retentionCard(retention, apply) {
  if (!retention) return null;
  /** @type {ReturnType<typeof kindRow>[]} */
  const rows = retention.kinds.map(kindRow);
  const mb = numberInput("keep-mb", retention.mb, "no limit");
  const summary = h("p", { class: "retention-summary", "aria-live": "polite" });
  const policy = () => ({
    ages: Object.fromEntries(rows.map(({ kind, input }) => [kind.name, numberOf(input)])),
    mb: numberOf(mb),
  });
  let turn = 0;
  /** @param {Promise<any>} request */
  const showEffect = async (request) => {
    const current = (turn += 1);
    summary.textContent = "Calculating what a clean-up would free…";
    let effect = null;
    let text;
    try {
      effect = (await request).would_forget;
      text = freedText(effect);
    } catch (error) {
      text = /** @type {any} */ (error).message;
    }
    if (current !== turn) return;
    summary.textContent = text;
    for (const row of rows) row.update(effect);
  };
  const form = h(
    "form",
    { class: "retention" },
    retention.announced ? h("p", { class: "note retention-announced" }, announcedText(retention.announced)) : null,
    rows.flatMap((row) => row.parts),
    h("label", { for: mb.id }, "Size limit of the log", h("span", { class: "visually-hidden" }, ", megabytes")),
    h("span", { class: "retention-age" }, mb, " MB"),
    h("span", { class: "note" }, "above it, the oldest details are deleted first, never your prompts"),
    h("div", { class: "retention-end" }, summary, h("button", { class: "btn", type: "submit" }, "Save…")),
  );
  form.addEventListener("input", () => form.classList.add("is-changed")); // a reload keeps the edited form
  form.addEventListener("change", () => {
    if (form.checkValidity()) void showEffect(api.post("settings/retention", { ...policy(), dry_run: true }));
    else summary.textContent = "Enter a whole number of days, or leave the field empty to keep forever.";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void save(retention, policy(), apply, () => form.classList.remove("is-changed"));
  });
  void showEffect(currentEffect(retention));
  return h(
    "section",
    { class: "card wide", "aria-label": "Retention" },
    h("h3", null, "Retention"),
    h("p", { class: "note" }, "How many days the content of events is kept. Leave a field empty to keep it forever."),
    form,
    h("p", { class: "note" }, h("strong", null, "Always kept: "), retention.stays),
  );
}

/** @param {string} id @param {number|null} value @param {string} placeholder */
function numberInput(id, value, placeholder) {
  const input = h("input", { class: "field", type: "number", min: 1, step: 1, id, placeholder, "data-focus": id });
  input.value = String(value ?? "");
  return input;
}

/** @param {HTMLInputElement} input */
const numberOf = (input) => (input.value === "" ? null : Number(input.value));

/** @param {Kind} kind */
function kindRow(kind) {
  const input = numberInput(`keep-${kind.name}`, kind.days, "forever");
  const unit = h("span", null);
  const line = h("span", { class: "note", id: `keeps-${kind.name}` });
  /** @param {Effect|null} effect */
  const update = (effect) => {
    const days = numberOf(input);
    unit.textContent = days === null ? "" : days === 1 ? " day" : " days";
    line.textContent = `${kind.about}; ${kindLine(kind.name, days, effect, now())}`;
  };
  input.setAttribute("aria-describedby", line.id);
  update(null);
  const label = h("label", { for: input.id }, kind.words, h("span", { class: "visually-hidden" }, ", days to keep"));
  return { kind, input, update, parts: [label, h("span", { class: "retention-age" }, input, unit), line] };
}

/** @param {any} retention @param {Policy} policy @returns {string[]} */
function differences(retention, policy) {
  /** @type {Kind[]} */
  const kinds = retention.kinds;
  const ages = kinds
    .filter(({ name, days }) => days !== policy.ages[name])
    .map(({ name, words, days }) => `${words}: ${ageText(days)} → ${ageText(policy.ages[name])}`);
  const limit = (/** @type {number|null} */ mb) => (mb ? `${mb.toLocaleString("en")} MB` : "no limit");
  if (retention.mb === policy.mb) return ages;
  return [...ages, `Size limit of the log: ${limit(retention.mb)} → ${limit(policy.mb)}`];
}

/**
 * @param {any} retention
 * @param {Policy} policy
 * @param {Apply} apply
 * @param {() => void} saved
 */
async function save(retention, policy, apply, saved) {
  const dialog = new CommandDialog({ title: "Change retention", confirm: "Change" });
  const understood = checkbox("I understand that deleted content cannot be restored", false);
  const lines = differences(retention, policy);
  let deletes = false;
  understood.input.addEventListener("change", () => dialog.setReady(!deletes || understood.input.checked));
  dialog.open(async () => {
    const change = api.post("settings/retention", { ...policy, dry_run: false });
    const { would_forget: deleted } = await change;
    cached = null;
    saved();
    dialog.close();
    notifyChange(null, "retention");
    apply(change, "Retention changed");
    toast(deletesAnything(deleted) ? `Retention changed. Deleted: ${deletedText(deleted)}.` : "Retention changed.");
  });
  await dialog.load(api.post("settings/retention", { ...policy, dry_run: true }), ({ would_forget: effect }) => {
    deletes = deletesAnything(effect);
    dialog.confirmButton?.classList.toggle("primary", !deletes);
    for (const look of ["danger", "solid"]) dialog.confirmButton?.classList.toggle(look, deletes);
    return [
      h("ul", null, (lines.length ? lines : ["No changes."]).map((line) => h("li", null, line))),
      h("p", null, lossText(effect)),
      deletes ? understood.row : null,
    ];
  });
  if (!lines.length || deletes) dialog.setReady(false);
}

/** @param {Effect} effect */
function lossText(effect) {
  if (!deletesAnything(effect)) return "Nothing is old enough to be deleted now.";
  const freed = effect.events ? ` This frees ${byteSize(effect.bytes)}.` : "";
  const prompts = effect.by_kind.prompts?.events;
  const own = prompts ? ` It includes ${plural(prompts, "prompt")} of your own.` : "";
  return `This deletes ${deletedText(effect)}, now and permanently.${freed}${own}`;
}
