/**
 * Rewind: the plan first. Which files would change and how, and which somebody else changed since, over which nothing
 * goes unless that is ticked on purpose. Exactly the plan that was shown is done; what is there now is kept for Undo.
 */

import { api, ApiError } from "../api.js";
import { h } from "../dom.js";
import { folderGroups, modeWords, planGroups, planSentence } from "../layout/plan_words.js";
import { counted, size } from "../layout/words.js";
import { check, text } from "./inputs.js";
import { Sheet } from "./sheet.js";
import { changed, toast } from "./toast.js";

const SHOWN = 200;

/** @param {{session: string, seq: number}} detail */
export function rewind({ session, seq }) {
  const sheet = new Sheet({
    title: `Rewind to position ${seq}`,
    about: "What came after stays in the log; the session goes on from here.",
    confirm: "Rewind",
    wide: true,
  });
  const files = check("Put the files back too", false);
  const force = check("Go ahead all the same; a copy of what is overwritten is kept", false);
  const reason = text("Reason", "", { placeholder: "why, for whoever reads this later" });
  force.row.hidden = true;
  let plan = /** @type {any} */ (null);
  sheet.open(async () => {
    const told = await api
      .post(`sessions/${session}/rewind`, {
        to: seq,
        files: files.input.checked,
        force: force.input.checked,
        reason: reason.input.value.trim() || null,
        ...(files.input.checked && plan ? { plan: plan.digest } : {}),
      })
      .catch((/** @type {any} */ error) => {
        force.row.hidden = false; // whoever was told why may decide otherwise
        throw error;
      });
    sheet.close();
    changed(session, "rewind");
    const words = told.files?.length ? `Rewound, and ${counted(told.files.length, "file")} put back.` : "Rewound.";
    toast(words, told.undo ? () => putBack(session) : null);
  });
  return sheet.reading(planOf(session, seq), (told) => {
    if (told instanceof Error) {
      return [h("p", { class: "note warn" }, `The files stay as they are: ${told.message}.`), force.row, reason.row];
    }
    plan = told;
    const groups = [...planGroups(plan.files), ...folderGroups(plan.folders || [])];
    const list = h("div", { class: "plan", hidden: true }, groups.map(group));
    const judge = () => {
      list.hidden = !files.input.checked;
      force.row.hidden = !plan.unseen && !(files.input.checked && plan.needs_force);
      sheet.ready(force.row.hidden || force.input.checked);
    };
    for (const one of [files, force]) one.input.addEventListener("change", judge);
    queueMicrotask(judge);
    return [
      h("p", null, planSentence(plan)),
      plan.unseen ? h("p", { class: "note warn" }, `It would pass over what nobody has seen: ${(plan.unseen_what || []).join("; ")}`) : null,
      plan.files.length ? files.row : null,
      list,
      force.row,
      reason.row,
    ];
  });
}

/**
 * The plan, or why there is none: a position can be gone back to without files.
 * @param {string} session
 * @param {number} to
 */
async function planOf(session, to) {
  try {
    return await api.get(`sessions/${session}/rewind-plan`, { to });
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) return error;
    throw error;
  }
}

/** @param {import("../layout/plan_words.js").PlanGroup} one */
function group(one) {
  return h(
    "section",
    { class: "plan-group" },
    h("h3", null, one.title, " ", h("span", { class: `pill ${one.tone}` }, String(one.files.length))),
    h("ul", null, one.files.slice(0, SHOWN).map(line)),
    one.files.length > SHOWN ? h("p", { class: "note" }, `and ${one.files.length - SHOWN} more`) : null,
  );
}

/** @param {import("../layout/plan_words.js").PlanFile} file */
function line(file) {
  const more = [file.from ? `from ${file.from}` : "", file.why || "", modeWords(file), size(file.bytes)]
    .filter(Boolean)
    .join(" · ");
  return h("li", null, h("span", { class: "plan-path" }, file.path), more ? h("span", { class: "note" }, more) : null);
}

/** @param {string} session */
async function putBack(session) {
  const told = await api.post(`sessions/${session}/undo`, {});
  changed(session, "rewind");
  return told;
}

/** @param {{session: string}} detail */
export function undo({ session }) {
  const sheet = new Sheet({
    title: "Undo the last rewind",
    about: "The files and the position become what they were before it.",
    confirm: "Undo rewind",
  });
  sheet.open(async () => {
    await putBack(session);
    sheet.close();
    toast("The rewind is undone.");
  });
}
