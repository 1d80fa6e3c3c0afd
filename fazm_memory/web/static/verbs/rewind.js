/**
 * Rewind: the plan first. Which files would change and how, which a person changed since and are therefore left alone
 * unless that is overridden on purpose. What is there now is kept, so that a rewind can be undone.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { planGroups, planSentence } from "../layout/plan_words.js";
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
  const force = check("Also overwrite what somebody else changed since", false);
  const reason = text("Reason", "", { placeholder: "why, for whoever reads this later" });
  sheet.open(async () => {
    const told = await api.post(`sessions/${session}/rewind`, {
      to: seq,
      files: files.input.checked,
      force: files.input.checked && force.input.checked,
      reason: reason.input.value.trim() || null,
    });
    sheet.close();
    changed(session, "rewind");
    const done = Array.isArray(told.files) ? told.files.length : 0;
    const words = files.input.checked ? `Rewound; ${counted(done, "file")} looked after.` : "Rewound.";
    toast(words, told.undo ? () => putBack(session) : null);
  });
  return sheet.reading(api.get(`sessions/${session}/rewind-plan`, { to: seq }), (plan) => {
    const list = h("div", { class: "plan" }, planGroups(plan.files).map(group));
    const refused = plan.files.some((/** @type {any} */ file) => file.action === "refuse");
    force.row.hidden = true;
    list.hidden = true;
    files.input.addEventListener("change", () => {
      list.hidden = !files.input.checked;
      force.row.hidden = !files.input.checked || !refused;
    });
    return [
      h("p", null, planSentence(plan)),
      plan.unseen ? h("p", { class: "note warn" }, `${counted(plan.unseen, "change")} since then was not seen file by file.`) : null,
      plan.files.length ? files.row : null,
      list,
      force.row,
      reason.row,
    ];
  });
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
  const more = [file.from ? `from ${file.from}` : "", file.why || "", size(file.bytes)].filter(Boolean).join(" · ");
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
