/**
 * Rewind a session, optionally with its files.
 *
 * The dialog shows the plan first: which files will change, and which were changed by someone else since and need an
 * explicit tick. The server executes exactly the plan that was shown, and keeps what it overwrites for undo.
 */

import { api, ApiError } from "../api.js";
import { now } from "../clock.js";
import { fill, h } from "../dom.js";
import { dayName, dayOf } from "../lib/days.js";
import { byteSize, clockSeconds, plural, shorten, toSentence } from "../lib/format.js";
import { changedFiles, folderGroups, modeText, planGroups, planSummary, rewindChoices } from "../lib/rewind_plan.js";
import { CommandDialog, checkbox, radios, textInput } from "./dialog.js";
import { notifyChange, toast } from "./toast.js";

const MAX_SHOWN = 200;

/**
 * @param {{session: string, seq?: number|null, keep?: boolean}} target `seq`: the event, by default the last action;
 *   `keep`: take back only what came after it
 */
export function rewind({ session, seq = null, keep = false }) {
  const dialog = new CommandDialog({
    title: "Rewind",
    about: "Nothing is erased: what is taken back stays in the log, and a rewind can be undone.",
    confirm: "Rewind",
    wide: true,
  });
  const files = checkbox("Also restore the files", true);
  const force = checkbox("Continue anyway. A copy of what is overwritten is kept.", false);
  const reason = textInput("Reason", "", { placeholder: "Optional" });
  const planned = h("div", { class: "dialog-part", "aria-live": "polite" });
  let plan = /** @type {any} */ (null);
  let to = 0;
  let turn = 0;

  const update = () => {
    const list = /** @type {HTMLElement|null} */ (planned.querySelector(".plan"));
    if (list) list.hidden = !files.input.checked && changedFiles(plan) > 0; // why nothing is put back stays visible
    force.row.hidden = !plan?.unseen && !(files.input.checked && plan?.needs_force);
    dialog.setReady(force.row.hidden || force.input.checked);
  };
  for (const { input } of [files, force]) input.addEventListener("change", update);

  /** Show what going back to a position changes. @param {number} position */
  const showPlan = async (position) => {
    const mine = (turn += 1);
    to = position;
    plan = null;
    dialog.setReady(false);
    fill(planned, h("p", { class: "note", "aria-busy": "true" }, "Loading…"));
    const loaded = await loadPlan(session, position).catch((error) => (dialog.showError(error), null));
    if (mine !== turn) return; // the other choice was taken meanwhile
    if (loaded === null) return fill(planned);
    if (loaded instanceof Error) {
      files.input.checked = false;
      fill(planned, h("p", { class: "note warn" }, `Only the session goes back, no file changes. ${toSentence(loaded.message)}`));
      force.row.hidden = true;
      return dialog.setReady(true);
    }
    plan = loaded;
    files.input.checked = changedFiles(plan) > 0;
    const unseen = `This skips what nobody has seen yet: ${(plan.unseen_what || []).join("; ")}`;
    fill(
      planned,
      h("p", null, planSummary(plan)),
      plan.unseen ? h("p", { class: "note warn" }, unseen) : null,
      plan.files.length ? files.row : null,
      h("div", { class: "plan" }, [...planGroups(plan.files), ...folderGroups(plan.folders || [])].map(groupSection)),
    );
    if (!plan.files.length) planned.querySelector(".plan")?.remove();
    update();
  };

  dialog.open(async () => {
    const done = await api
      .post(`sessions/${session}/rewind`, {
        to,
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
    const unchanged = plan?.files.length ? "Rewound. No file was changed." : "Rewound.";
    const text = done.files?.length ? `Rewound. ${plural(done.files.length, "file")} restored.` : unchanged;
    toast(text, done.undo ? () => postUndo(session) : null);
  });
  return dialog.load(api.get(`sessions/${session}/rewind-point`, { seq }), (point) => {
    const kept = keep || point.seq === 0;
    const choices = rewindChoices(point);
    const start = kept ? Math.max(0, choices.findIndex(({ to: position }) => position === point.seq + 1)) : 0;
    const rows = radios("What to take back", choices.map(({ label }) => label), start, (index) => {
      void showPlan(choices[index].to);
    });
    queueMicrotask(() => void showPlan(choices[start].to));
    return [
      h("p", { class: "rewind-point", dir: "auto" }, h("strong", null, eventName(point)), h("span", { class: "note" }, momentText(point))),
      rows,
      planned,
      force.row,
      reason.row,
    ];
  });
}

/** The event of a rewind in a few words. @param {any} point */
const eventName = ({ title, target }) => [title, target].filter(Boolean).join(" ");

/** When it happened, and the request that led to it. @param {any} point */
function momentText({ ms, kind, request, seq }) {
  const when = `${dayName(dayOf(ms), dayOf(now()))}, ${clockSeconds(ms)} (position ${seq})`;
  return kind === "prompt" || !request ? when : `${when}, for “${shorten(request.replace(/\s+/g, " "), 120)}”`;
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
