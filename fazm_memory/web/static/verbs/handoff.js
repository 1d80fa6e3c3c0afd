/**
 * Hand off, answer, waive: a question goes to a person or to the agent and stays open until one of them settles it. A
 * question that says what its answer looks like becomes a form.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { answerOf, fieldsOf } from "../layout/answer_form.js";
import { area, check, choice, text } from "./inputs.js";
import { Sheet } from "./sheet.js";
import { changed, toast } from "./toast.js";

/** @typedef {import("../layout/answer_form.js").Field} Field */

/** @param {{session: string}} detail */
export function handoff({ session }) {
  const sheet = new Sheet({
    title: "Hand off",
    about: "Leave a question; the session shows it until it is answered or waived.",
    confirm: "Hand off",
  });
  const to = choice("To", [["agent", "The agent"], ["human", "A person"]], "agent");
  const note = area("Note", "", { required: true });
  sheet.fill(to.row, note.row);
  sheet.open(async () => {
    const told = await api.post(`sessions/${session}/handoff`, { to: to.input.value, note: note.input.value.trim() });
    sheet.close();
    changed(session, "handoff");
    toast("Handed off.", () => settle(session, { question: told.question, waived: true }));
  });
  sheet.ready(false);
  note.input.addEventListener("input", () => sheet.ready(Boolean(note.input.value.trim())));
  note.input.focus();
}

/**
 * @param {string} session
 * @param {Record<string, unknown>} body
 */
async function settle(session, body) {
  const told = await api.post(`sessions/${session}/answer`, body);
  changed(session, "handoff.answer");
  return told;
}

/** @param {{session: string, question?: string}} detail */
export function answer({ session, question }) {
  const sheet = new Sheet({ title: "Answer", confirm: "Answer", wide: true });
  let asked = /** @type {any} */ (null);
  /** @type {{field: Field, input: any}[]} */
  let inputs = [];
  sheet.open(async () => {
    const values = Object.fromEntries(
      inputs.map(({ field, input }) => [field.name, field.type === "boolean" ? input.checked : input.value]),
    );
    const given = answerOf(inputs.map((one) => one.field), values);
    await settle(session, { question: asked.id, answer: given });
    sheet.close();
    toast("Answered.");
  });
  return sheet.reading(api.get(`sessions/${session}`), (told) => {
    const open = told.questions || [];
    asked = open.find((/** @type {any} */ one) => one.id === question) || open[0];
    if (!asked) throw new Error("This session has no open question any more.");
    const rows = fieldsOf(asked.answer_schema).map((field) => ({ field, ...control(field) }));
    inputs = rows;
    const waiving = h("button", { class: "btn quiet start", type: "button" }, "Waive it instead");
    waiving.addEventListener("click", () => {
      sheet.close();
      waive({ session, question: asked.id });
    });
    return [h("blockquote", { class: "question" }, asked.note), ...rows.map((one) => one.row), waiving];
  });
}

/**
 * @param {Field} field
 * @returns {{input: HTMLInputElement|HTMLTextAreaElement|HTMLSelectElement, row: HTMLElement}}
 */
function control(field) {
  const label = field.required || field.type === "boolean" ? field.label : `${field.label} (optional)`;
  const made = drawn(field, label);
  if (field.help) made.row.append(h("p", { class: "note" }, field.help));
  return made;
}

/**
 * @param {Field} field
 * @param {string} label
 */
function drawn(field, label) {
  if (field.type === "boolean") return check(label, false);
  if (field.type === "choice") {
    const options = field.options.map((one) => /** @type {[string, string]} */ ([one, words(one)]));
    return choice(label, [["", "Choose…"], ...options], "");
  }
  if (field.type === "number" || field.type === "integer") return text(label, "", { inputmode: "decimal" });
  return area(label, "");
}

/** @param {string} option as JSON */
function words(option) {
  const value = JSON.parse(option);
  return typeof value === "string" ? value : option;
}

/** @param {{session: string, question: string}} detail */
export function waive({ session, question }) {
  const sheet = new Sheet({
    title: "Waive this question?",
    about: "It counts as settled without an answer, and the session may go on.",
    confirm: "Waive",
    danger: true,
  });
  sheet.open(async () => {
    await settle(session, { question, waived: true });
    sheet.close();
    toast("Waived.");
  });
}
