/**
 * Rewind a session, optionally with its files.
 *
 * The dialog shows the plan first: which files will change, and which were changed by someone else since and need an
 * explicit tick. The server executes exactly the plan that was shown, and keeps what it overwrites for undo.
 */

import { api, ApiError } from "../api.js";
import { h } from "../dom.js";
import { byteSize, plural } from "../lib/format.js";
import { folderGroups, modeText, planGroups, planSummary } from "../lib/rewind_plan.js";
import { CommandDialog, checkbox, textInput } from "./dialog.js";
import { notifyChange, toast } from "./toast.js";

const MAX_SHOWN = 200;

/** @param {{session: string, seq: number}} target */
export function rewind({ session, seq }) {
  const dialog = new CommandDialog({
    title: `Rewind to position ${seq}`,
    about: "Later events stay in the log. The session continues from this position.",
    confirm: "Rewind",
    wide: true,
  });
  const files = checkbox("Also restore the files", false);
  const force = checkbox("Continue anyway. A copy of what is overwritten is kept.", false);
  const reason = textInput("Reason", "", { placeholder: "Optional" });
  force.row.hidden = true;
  let plan = /** @type {any} */ (null);
  dialog.open(async () => {
    const done = await api
      .post(`sessions/${session}/rewind`, {
        to: seq,
        files: files.input.checked,
        force: force.input.checked,
        reason: reason.input.value.trim() || null,
        ...(files.input.checked && plan ? { plan: plan.digest } : {}),
      })
      .catch((/** @type {any} */ error) => {
        force.row.hidden = false; // after reading the error, a person may still continue
        throw error;
      });
    dialog.close();
    notifyChange(session, "rewind");
    const text = done.files?.length ? `Rewound. ${plural(done.files.length, "file")} restored.` : "Rewound.";
    toast(text, done.undo ? () => postUndo(session) : null);
  });
  return dialog.load(loadPlan(session, seq), (loaded) => {
    if (loaded instanceof Error) {
      const text = `The files will not change: ${loaded.message}.`;
      return [h("p", { class: "note warn" }, text), force.row, reason.row];
    }
    plan = loaded;
    const groups = [...planGroups(plan.files), ...folderGroups(plan.folders || [])];
    const list = h("div", { class: "plan", hidden: true }, groups.map(groupSection));
    const update = () => {
      list.hidden = !files.input.checked;
      force.row.hidden = !plan.unseen && !(files.input.checked && plan.needs_force);
      dialog.setReady(force.row.hidden || force.input.checked);
    };
    for (const { input } of [files, force]) input.addEventListener("change", update);
    queueMicrotask(update);
    const unseen = `This skips what nobody has seen yet: ${(plan.unseen_what || []).join("; ")}`;
    return [
      h("p", null, planSummary(plan)),
      plan.unseen ? h("p", { class: "note warn" }, unseen) : null,
      plan.files.length ? files.row : null,
      list,
      force.row,
      reason.row,
    ];
  });
}

/**
 * The plan, or the error that explains why the files cannot be restored. Rewinding without files is still possible.
 * @param {string} session
 * @param {number} to
 */
async function loadPlan(session, to) {
  try {
    return await api.get(`sessions/${session}/rewind-plan`, { to });
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) return error;
    throw error;
  }
}

/** @param {import("../lib/rewind_plan.js").PlanGroup} group */
function groupSection({ title, tone, files }) {
  return h(
    "section",
    { class: "plan-group" },
    h("h3", null, title, " ", h("span", { class: `pill ${tone}` }, String(files.length))),
    h("ul", null, files.slice(0, MAX_SHOWN).map(fileItem)),
    files.length > MAX_SHOWN ? h("p", { class: "note" }, `and ${files.length - MAX_SHOWN} more`) : null,
  );
}

/** @param {import("../lib/rewind_plan.js").PlanFile} file */
function fileItem(file) {
  const details = [file.from ? `from ${file.from}` : "", file.why || "", modeText(file), byteSize(file.bytes)]
    .filter(Boolean)
    .join(" · ");
  const note = details ? h("span", { class: "note" }, details) : null;
  return h("li", null, h("span", { class: "plan-path" }, file.path), note);
}

/** @param {string} session */
async function postUndo(session) {
  await api.post(`sessions/${session}/undo`, {});
  notifyChange(session, "rewind");
}

/** @param {{session: string}} target */
export function undo({ session }) {
  const dialog = new CommandDialog({
    title: "Undo the last rewind",
    about: "Restores the files and the position from before the rewind.",
    confirm: "Undo rewind",
  });
  dialog.open(async () => {
    await postUndo(session);
    dialog.close();
    toast("Rewind undone.");
  });
}
