/**
 * Hand off, answer, waive. A question stays open until it is answered or waived. If it has a schema, the answer is a
 * form.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { answerOf, fieldsOf } from "../lib/answer_form.js";
import { CommandDialog, checkbox, select, textArea, textInput } from "./dialog.js";
import { notifyChange, toast } from "./toast.js";

/** @typedef {import("../lib/answer_form.js").Field} Field */

/** @param {{session: string}} target */
export function handoff({ session }) {
  const dialog = new CommandDialog({
    title: "Hand off",
    about: "Leave a question. The session shows it until it is answered or waived.",
    confirm: "Hand off",
  });
  const to = select("To", [["agent", "The agent"], ["human", "A person"]], "agent"); // prettier-ignore
  const note = textArea("Note", { required: true });
  dialog.fill(to.row, note.row);
  dialog.open(async () => {
    const body = { to: to.input.value, note: note.input.value.trim() };
    const { question } = await api.post(`sessions/${session}/handoff`, body);
    dialog.close();
    notifyChange(session, "handoff");
    toast("Handed off.", () => postAnswer(session, { question, waived: true }));
  });
  dialog.setReady(false);
  note.input.addEventListener("input", () => dialog.setReady(Boolean(note.input.value.trim())));
  note.input.focus();
}

/** @param {string} session @param {Record<string, unknown>} body */
async function postAnswer(session, body) {
  await api.post(`sessions/${session}/answer`, body);
  notifyChange(session, "handoff.answer");
}

/** @param {{session: string, question?: string}} target */
export function answer({ session, question: id }) {
  const dialog = new CommandDialog({ title: "Answer", confirm: "Answer", wide: true });
  let question = /** @type {any} */ (null);
  /** @type {{field: Field, input: any, row: HTMLElement}[]} */
  let inputs = [];
  dialog.open(async () => {
    const values = Object.fromEntries(
      inputs.map(({ field, input }) => [field.name, field.type === "boolean" ? input.checked : input.value]),
    );
    const fields = inputs.map(({ field }) => field);
    await postAnswer(session, { question: question.id, answer: answerOf(fields, values) });
    dialog.close();
    toast("Answered.");
  });
  return dialog.load(api.get(`sessions/${session}`), (info) => {
    const open = info.questions || [];
    question = open.find((/** @type {any} */ each) => each.id === id) || open[0];
    if (!question) throw new Error("This session has no open question.");
    inputs = fieldsOf(question.answer_schema).map((field) => ({ field, ...inputFor(field) }));
    const waiveButton = h("button", { class: "btn quiet start", type: "button" }, "Waive instead");
    waiveButton.addEventListener("click", () => {
      dialog.close();
      waive({ session, question: question.id });
    });
    return [h("blockquote", { class: "question" }, question.note), ...inputs.map(({ row }) => row), waiveButton];
  });
}

/**
 * @param {Field} field
 * @returns {{input: HTMLInputElement|HTMLTextAreaElement|HTMLSelectElement, row: HTMLElement}}
 */
function inputFor(field) {
  const label = field.required || field.type === "boolean" ? field.label : `${field.label} (optional)`;
  const input = typedInput(field, label);
  if (field.help) input.row.append(h("p", { class: "note" }, field.help));
  return input;
}

/** @param {Field} field @param {string} label */
function typedInput(field, label) {
  if (field.type === "boolean") return checkbox(label, false);
  if (field.type === "choice") {
    const options = field.options.map((option) => /** @type {[string, string]} */ ([option, optionText(option)]));
    return select(label, [["", "Choose…"], ...options], "");
  }
  if (field.type === "number" || field.type === "integer") return textInput(label, "", { inputmode: "decimal" });
  return textArea(label);
}

/** @param {string} option as JSON */
function optionText(option) {
  const value = JSON.parse(option);
  return typeof value === "string" ? value : option;
}

/** @param {{session: string, question: string}} target */
export function waive({ session, question }) {
  const dialog = new CommandDialog({
    title: "Waive this question?",
    about: "The question is closed without an answer, and the session can continue.",
    confirm: "Waive",
    danger: true,
  });
  dialog.open(async () => {
    await postAnswer(session, { question, waived: true });
    dialog.close();
    toast("Waived.");
  });
}
