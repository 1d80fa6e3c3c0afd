/**
 * How long each kind of content is kept, and in how much room; what a clean-up today would give back is said before
 * anything is changed, and what would be lost is confirmed by its weight.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { ageWords, givesBack, kindLine, loses, whatGoes } from "../layout/keeping_words.js";
import { counted, size } from "../layout/words.js";
import { check } from "../verbs/inputs.js";
import { Sheet } from "../verbs/sheet.js";
import { changed, toast } from "../verbs/toast.js";

/** @typedef {import("./settings_recording.js").After} After */
/** @typedef {{name: string, words: string, about: string, days: number|null}} Kind */
/** @typedef {{ages: Record<string, number|null>, mb: number|null}} Wanted */

const FRESH = 600_000; // milliseconds: what a clean-up comes to is worked out from all that is old, so not each time

/** @type {{policy: string, at: number, asked: Promise<any>}|null} */
let known = null;

/** What the policy in force comes to today. @param {any} retention */
function effectToday(retention) {
  const policy = JSON.stringify(retention.policy);
  if (known?.policy !== policy || Date.now() - known.at > FRESH) {
    known = { policy, at: Date.now(), asked: api.get("settings/retention") };
    known.asked.catch(() => (known = null));
  }
  return known.asked;
}

/**
 * @param {any} retention
 * @param {After} after
 */
export function retentionCard(retention, after) {
  if (!retention) return null;
  const rows = retention.kinds.map((/** @type {Kind} */ kind) => kindRow(kind));
  const mb = field("keep-mb", retention.mb, "no limit");
  const told = h("p", { class: "retention-sum", "aria-live": "polite" });
  const wanted = () => ({
    ages: Object.fromEntries(rows.map((/** @type {any} */ one) => [one.kind.name, number(one.input)])),
    mb: number(mb),
  });
  /** @param {Promise<any>} asked */
  const tell = async (asked) => {
    const turn = (told.dataset.turn = String(Number(told.dataset.turn || 0) + 1));
    told.textContent = "Working out what a clean-up today would give back…";
    let effect = null;
    let words;
    try {
      effect = (await asked).would_forget;
      words = givesBack(effect);
    } catch (error) {
      words = /** @type {any} */ (error).message;
    }
    if (told.dataset.turn !== turn) return;
    told.textContent = words;
    for (const row of rows) row.tell(effect);
  };
  const form = h(
    "form",
    { class: "retention" },
    rows.flatMap((/** @type {any} */ one) => one.parts),
    h("label", { for: mb.id }, "Room for the log", h("span", { class: "visually-hidden" }, ", megabytes at most")),
    h("span", { class: "retention-age" }, mb, " MB"),
    h("span", { class: "note" }, "over it, the oldest details go first, never your own words"),
    h("div", { class: "retention-end" }, told, h("button", { class: "btn", type: "submit" }, "Save…")),
  );
  form.addEventListener("input", () => form.classList.add("is-changed")); // the screen does not draw over what was typed
  form.addEventListener("change", () => {
    if (form.checkValidity()) void tell(api.post("settings/retention", { ...wanted(), dry_run: true }));
    else told.textContent = "An age is a whole number of days; an empty field keeps for good.";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void save(retention, wanted(), after, () => form.classList.remove("is-changed"));
  });
  void tell(effectToday(retention));
  return h(
    "section",
    { class: "card wide", "aria-label": "Retention" },
    h("h3", null, "Retention"),
    h("p", { class: "note" }, "How many days the contents of events are kept. An empty field keeps them for good."),
    form,
    h("p", { class: "note" }, h("strong", null, "Stays for good: "), retention.stays),
  );
}

/** @param {string} id @param {number|null} value @param {string} empty */
function field(id, value, empty) {
  const input = h("input", { class: "field", type: "number", min: 1, step: 1, id, placeholder: empty, "data-focus": id });
  input.value = String(value ?? "");
  return input;
}

/** @param {HTMLInputElement} input */
const number = (input) => (input.value === "" ? null : Number(input.value));

/** @param {Kind} kind */
function kindRow(kind) {
  const input = field(`keep-${kind.name}`, kind.days, "for good");
  const unit = h("span", null);
  const line = h("span", { class: "note", id: `keeps-${kind.name}` });
  /** @param {any} effect */
  const tell = (effect) => {
    const days = number(input);
    unit.textContent = days === null ? "" : days === 1 ? " day" : " days";
    line.textContent = `${kind.about}; ${kindLine(kind.name, days, effect, Date.now())}`;
  };
  input.setAttribute("aria-describedby", line.id);
  tell(null);
  const label = h("label", { for: input.id }, kind.words, h("span", { class: "visually-hidden" }, ", days to keep"));
  return { kind, input, tell, parts: [label, h("span", { class: "retention-age" }, input, unit), line] };
}

/**
 * @param {any} retention
 * @param {Wanted} wanted
 */
function differences(retention, wanted) {
  const ages = retention.kinds
    .filter((/** @type {Kind} */ one) => one.days !== wanted.ages[one.name])
    .map((/** @type {Kind} */ one) => `${one.words}: ${ageWords(one.days)} → ${ageWords(wanted.ages[one.name])}`);
  const room = (/** @type {number|null} */ mb) => (mb ? `${mb.toLocaleString("en")} MB` : "no limit");
  return retention.mb === wanted.mb ? ages : [...ages, `Room for the log: ${room(retention.mb)} → ${room(wanted.mb)}`];
}

/**
 * @param {any} retention
 * @param {Wanted} wanted
 * @param {After} after
 * @param {() => void} saved
 */
async function save(retention, wanted, after, saved) {
  const sheet = new Sheet({ title: "Change what is kept", confirm: "Change" });
  const sure = check("I understand that what is let go cannot be brought back", false);
  const lines = differences(retention, wanted);
  let losing = false;
  sure.input.addEventListener("change", () => sheet.ready(!losing || sure.input.checked));
  sheet.open(async () => {
    const done = api.post("settings/retention", { ...wanted, dry_run: false });
    const { would_forget: gone } = await done;
    known = null;
    saved();
    sheet.close();
    changed(null, "retention");
    after(done, "Retention is changed");
    toast(loses(gone) ? `What is kept is changed; gone are ${whatGoes(gone)}.` : "What is kept is changed.");
  });
  await sheet.reading(api.post("settings/retention", { ...wanted, dry_run: true }), (would) => {
    losing = loses(would.would_forget);
    sheet.go?.classList.toggle("primary", !losing);
    for (const look of ["danger", "solid"]) sheet.go?.classList.toggle(look, losing);
    return [
      h("ul", { class: "plain" }, lines.length ? lines.map((/** @type {string} */ one) => h("li", null, one)) : h("li", null, "Nothing is changed.")),
      h("p", null, lossWords(would.would_forget)),
      losing ? sure.row : null,
    ];
  });
  if (!lines.length || losing) sheet.ready(false);
}

/** @param {import("../layout/keeping_words.js").Effect} effect */
function lossWords(effect) {
  if (!loses(effect)) return "Nothing is old enough to go now.";
  const room = effect.events ? ` That gives back ${size(effect.bytes)}.` : "";
  const own = effect.by_kind.prompts ? ` Among them are ${counted(effect.by_kind.prompts.events, "prompt")} of your own.` : "";
  return `This lets go, at once and for good, of ${whatGoes(effect)}.${room}${own}`;
}
