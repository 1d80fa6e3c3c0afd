/**
 * Export: a session as one file that another machine can take in.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { size } from "../layout/words.js";
import { copyButton } from "./copy.js";
import { Sheet } from "./sheet.js";

/** @param {{session: string}} detail */
export function exportSession({ session }) {
  const sheet = new Sheet({
    title: "Export this session",
    about: "Its whole log and the kept files, as one bundle in the exports folder of Fazm Memory. Recorded secrets were removed before; read it before you share it.",
    confirm: "Export",
  });
  sheet.open(async () => {
    const told = await api.post("export", { session });
    sheet.close();
    const done = new Sheet({ title: "Exported", about: size(told.bytes) });
    done.fill(h("div", { class: "copy-row" }, h("pre", { class: "code", tabindex: 0 }, told.path), copyButton(told.path, "Copy path")));
    done.open();
  });
}
