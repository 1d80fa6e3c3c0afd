/**
 * Pause, close, archive and restore weigh little: done at once, undone from the toast. Resuming shows first what whoever
 * goes on would be told, and how.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { copyButton } from "./copy.js";
import { Sheet } from "./sheet.js";
import { changed, toast } from "./toast.js";

/** @typedef {{session: string}} OfSession */

/**
 * @param {string} session
 * @param {string} move
 */
async function go(session, move) {
  const told = await api.post(`sessions/${session}/${move}`, {});
  changed(session, `session.${move}`);
  return told;
}

/** @param {OfSession} detail */
export async function pause({ session }) {
  await go(session, "pause");
  toast("Paused. Nothing goes on in this session until it is resumed.", () => go(session, "resume"));
}

/** @param {OfSession} detail */
export async function close({ session }) {
  await go(session, "close");
  toast("Closed.", () => go(session, "resume"));
}

/** @param {OfSession} detail */
export async function archive({ session }) {
  await go(session, "archive");
  toast("Archived. It stays readable and searchable.", () => go(session, "restore"));
}

/** @param {OfSession} detail */
export async function restore({ session }) {
  await go(session, "restore");
  toast("Restored.", () => go(session, "archive"));
}

/** What `took` means, in words. @type {Record<string, string>} */
const TOOK = {
  exact: "The agent can take up this very session again:",
  briefing: "The agent begins anew and is given this briefing:",
  clipboard: "There is no command for this agent. Copy the briefing into it:",
};

/** @param {OfSession} detail */
export function resume({ session }) {
  const sheet = new Sheet({ title: "Resume this session", confirm: "Resume", wide: true });
  sheet.open(async () => {
    await go(session, "resume");
    sheet.close();
    toast("Resumed.", () => go(session, "pause"));
  });
  return sheet.reading(api.get(`sessions/${session}`), (told) => {
    const waiting = told.questions?.find((/** @type {any} */ one) => one.to === "human");
    return [
      waiting ? h("p", { class: "note warn" }, `It waits for your answer first: ${waiting.note}`) : null,
      ...offer(told.resume),
    ];
  });
}

/** @param {any} told */
function offer(told) {
  if (!told) return [h("p", null, "The session is marked as resumed; whoever goes on finds its state as it was.")];
  return [
    h("p", null, TOOK[told.took] || told.why || ""),
    told.command
      ? h("div", { class: "copy-row" }, h("pre", { class: "code", tabindex: 0 }, told.command), copyButton(told.command, "Copy command"))
      : null,
    told.cwd ? h("p", { class: "note" }, `In ${told.cwd}`) : null,
    told.briefing
      ? h(
          "details",
          { open: !told.command },
          h("summary", null, "The briefing"),
          h("pre", { class: "code tall", tabindex: 0 }, told.briefing),
          copyButton(told.briefing, "Copy briefing"),
        )
      : null,
  ];
}
