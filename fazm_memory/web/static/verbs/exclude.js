/**
 * Exclude an app or a folder: nothing of it is recorded from now on. What was recorded stays until it is forgotten.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { choice, text } from "./inputs.js";
import { Sheet } from "./sheet.js";
import { changed, toast } from "./toast.js";

/**
 * @param {Record<string, string>} what
 * @param {"add"|"remove"} way
 */
export async function setExclusion(what, way) {
  const told = await api.post("exclusions", { [way]: what });
  changed(null, "exclusions");
  return told;
}

/** @param {{app?: string|null, folder?: string|null}} detail */
export function exclude({ app = null, folder = null }) {
  const sheet = new Sheet({
    title: "Exclude from recording",
    about: "Nothing of it is recorded from now on. What was recorded stays until you forget it.",
    confirm: "Exclude",
  });
  const kind = choice("What", [["folder", "A folder"], ["app", "An app"]], app ? "app" : "folder");
  const name = text("Name", app || folder || "", { placeholder: "/whole/path, or the app's name" });
  sheet.fill(kind.row, name.row, h("p", { class: "note" }, "You can take this back in Settings."));
  sheet.open(async () => {
    const what = { [kind.input.value]: name.input.value.trim() };
    await setExclusion(what, "add");
    sheet.close();
    toast(`${Object.values(what)[0]} is excluded from now on.`, () => setExclusion(what, "remove"));
  });
  const judge = () => sheet.ready(Boolean(name.input.value.trim()));
  name.input.addEventListener("input", judge);
  judge();
}
