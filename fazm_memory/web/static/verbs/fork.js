/**
 * Fork: a second session that stands where this one stood, optionally with the files of that moment in a folder of
 * its own, so that both can go on without touching each other.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { sessionHash } from "../layout/route.js";
import { text } from "./inputs.js";
import { Sheet } from "./sheet.js";
import { changed, toast } from "./toast.js";

/** @param {{session: string, seq?: number|null}} detail */
export function fork({ session, seq = null }) {
  const sheet = new Sheet({
    title: seq === null ? "Fork from here" : `Fork from position ${seq}`,
    about: "This session stays as it is; the new one goes its own way.",
    confirm: "Fork",
  });
  const title = text("Title", "");
  const into = text("Folder", "", { placeholder: "leave empty to share the files" });
  sheet.open(async () => {
    const made = await api.post(`sessions/${session}/fork`, {
      at: seq,
      title: title.input.value.trim() || null,
      into: into.input.value.trim() || null,
    });
    sheet.close();
    changed(session, "fork");
    location.hash = sessionHash(made.id);
    toast(made.folder ? `Forked, with its files in ${made.folder}.` : "Forked.");
  });
  return sheet.reading(api.get(`sessions/${session}`), (told) => {
    title.input.value = told.title || "";
    return [
      title.row,
      into.row,
      h("p", { class: "note" }, "Given a new folder, the files are put there as they were at that position."),
    ];
  });
}
