/**
 * Commands on a session: pause, close, archive, restore, resume, fork, export, replay plan.
 */

import { api } from "../api.js";
import { copyButton, copyQuietly } from "../clipboard.js";
import { h } from "../dom.js";
import { byteSize, capitalize, plural, toSentence } from "../lib/format.js";
import { resumeWay } from "../lib/resume_way.js";
import { sessionHash } from "../lib/route.js";
import { CommandDialog, textInput } from "./dialog.js";
import { notifyChange, toast } from "./toast.js";

/** @typedef {{session: string}} Target */

/** @param {string} session @param {string} move */
async function moveTo(session, move) {
  await api.post(`sessions/${session}/${move}`, {});
  notifyChange(session, `session.${move}`);
}

/** @param {Target} target */
export async function pause({ session }) {
  await moveTo(session, "pause");
  toast("Paused. The session stays paused until you resume it.", () => moveTo(session, "resume"));
}

/** @param {Target} target */
export async function close({ session }) {
  await moveTo(session, "close");
  toast("Closed.", () => moveTo(session, "resume"));
}

/** @param {Target} target */
export async function archive({ session }) {
  await moveTo(session, "archive");
  toast("Archived. You can still read and search it.", () => moveTo(session, "restore"));
}

/** @param {Target} target */
export async function restore({ session }) {
  await moveTo(session, "restore");
  toast("Restored.", () => moveTo(session, "archive"));
}

/** @param {Target} target */
export function resume({ session }) {
  const dialog = new CommandDialog({ title: "Resume this session", confirm: "Resume", wide: true });
  dialog.open();
  const found = Promise.all([api.get(`sessions/${session}`), api.get(`sessions/${session}/resume`)]);
  return dialog.load(found, ([info, offer]) => {
    const way = resumeWay(offer);
    const paused = info.lifecycle === "paused";
    dialog.name(paused ? `Resume and copy ${way.copies}` : `Copy ${way.copies}`);
    dialog.act = async () => {
      // Copy first: WebKit allows it only right after the press.
      await copyQuietly(way.text);
      if (paused) await moveTo(session, "resume");
      dialog.close();
      toast(`${paused ? "Resumed. " : ""}${capitalize(way.copies)} copied. ${way.next}`, paused ? () => moveTo(session, "pause") : null);
    };
    const question = info.questions?.find((/** @type {any} */ each) => each.to === "human");
    return [
      question ? h("p", { class: "note warn" }, `Answer this question first: ${question.note}`) : null,
      ...resumeSteps(offer, way),
    ];
  });
}

/** The way that works comes first and is open. The other one is folded. @param {any} offer @param {import("../lib/resume_way.js").Way} way */
function resumeSteps({ took, why, cwd, briefing }, way) {
  const { command } = way;
  const shownCommand = command ? h("pre", { class: "code", tabindex: 0 }, command) : null;
  const shownBriefing = h("pre", { class: "code tall", tabindex: 0 }, briefing);
  const folded = (/** @type {string} */ title, /** @type {...any} */ ...children) => h("details", null, h("summary", null, title), children);
  if (way.copies === "briefing")
    return [
      h("p", { class: command ? "note warn" : null }, way.reason),
      h("p", null, way.next),
      shownBriefing,
      command ? folded("The agent’s own command", shownCommand, copyButton(command, "Copy command")) : null,
    ];
  return [
    h("p", null, way.reason),
    shownCommand,
    took === "briefing" ? h("p", { class: "note" }, toSentence(why)) : null,
    cwd && !command?.startsWith("cd ") ? h("p", { class: "note" }, `In ${cwd}`) : null,
    took === "exact" // an exact session knows all of it
      ? null
      : folded("Briefing for a new session", shownBriefing, copyButton(briefing, "Copy briefing")),
  ];
}

/** A second session that starts at a position of this one. @param {{session: string, seq?: number|null}} target */
export function fork({ session, seq = null }) {
  const dialog = new CommandDialog({
    title: seq === null ? "Fork from here" : `Fork from position ${seq}`,
    about: "This session does not change. The new one continues separately.",
    confirm: "Fork",
  });
  const title = textInput("Title", "");
  const folder = textInput("Folder", "", { placeholder: "Leave empty to share the files" });
  dialog.open(async () => {
    const created = await api.post(`sessions/${session}/fork`, {
      at: seq,
      title: title.input.value.trim() || null,
      into: folder.input.value.trim() || null,
    });
    dialog.close();
    notifyChange(session, "fork");
    location.hash = sessionHash(created.id);
    toast(created.folder ? `Forked. The files are in ${created.folder}.` : "Forked.");
  });
  return dialog.load(api.get(`sessions/${session}`), (info) => {
    title.input.value = info.title || "";
    const note = "If you name a new folder, the files are copied there as they were at that position.";
    return [title.row, folder.row, h("p", { class: "note" }, note)];
  });
}

/** @param {Target} target */
export function exportSession({ session }) {
  const dialog = new CommandDialog({
    title: "Export this session",
    about:
      "Saves the log and the file versions as one bundle in the exports folder. Secrets were removed when the session was recorded, but check the file before you share it.",
    confirm: "Export",
  });
  dialog.open(async () => {
    const { path, bytes } = await api.post("export", { session });
    dialog.close();
    const done = new CommandDialog({ title: "Exported", about: byteSize(bytes) });
    done.fill(
      h("div", { class: "copy-row" }, h("pre", { class: "code", tabindex: 0 }, path), copyButton(path, "Copy path")),
    );
    done.open();
  });
}

/** @param {Target} target */
export function replay({ session }) {
  const dialog = new CommandDialog({
    title: "Replay plan",
    about: "The steps that are needed to do the same again. Nothing is run from here.",
    wide: true,
  });
  dialog.open();
  return dialog.load(api.get(`sessions/${session}/replay-plan`), (plan) => {
    const parameters = (plan.parameters || []).map((/** @type {any} */ each) => `${each.name} ${each.value}`);
    const leftOut = Object.entries(plan.left_out || {}).map(([why, count]) => `${count} ${why}`);
    return [
      plan.steps.length
        ? h("ol", { class: "steps" }, plan.steps.map(replayStep))
        : h("p", null, "No step of this session changed anything. There is nothing to replay."),
      parameters.length ? h("p", { class: "note" }, `Parameters: ${parameters.join(", ")}`) : null,
      leftOut.length ? h("p", { class: "note" }, `Left out: ${leftOut.join(", ")}.`) : null,
      plan.script
        ? h(
            "details",
            null,
            h("summary", null, "As a script"),
            h("pre", { class: "code tall", tabindex: 0 }, plan.script),
            copyButton(plan.script, "Copy script"),
          )
        : null,
    ];
  });
}

/** @param {any} step */
function replayStep({ kind, what, why, tool, command, target, files }) {
  if (kind === "decision") {
    const reason = why ? h("span", { class: "note" }, ` – ${why}`) : null;
    return h("li", null, h("span", { class: "pill accent" }, "decision"), " ", what, reason);
  }
  const changed = files?.length ? ` – ${plural(files.length, "file")}` : "";
  const call = h("code", null, command || target || "");
  return h("li", null, h("span", { class: "pill" }, tool), " ", call, h("span", { class: "note" }, changed));
}
