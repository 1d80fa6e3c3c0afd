/**
 * The replay plan: the steps that still count, without dead ends, and the script they make. Shown, never run from here.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { counted } from "../layout/words.js";
import { copyButton } from "./copy.js";
import { Sheet } from "./sheet.js";

/** @param {{session: string}} detail */
export function replay({ session }) {
  const sheet = new Sheet({
    title: "Replay plan",
    about: "What it would take to do the same again. Nothing is run from here.",
    wide: true,
  });
  sheet.open();
  return sheet.reading(api.get(`sessions/${session}/replay-plan`), (plan) => {
    const left = Object.entries(plan.left_out || {});
    return [
      plan.steps.length
        ? h("ol", { class: "steps" }, plan.steps.map(step))
        : h("p", null, "No step of this session changed anything, so there is nothing to replay."),
      plan.parameters?.length
        ? h("p", { class: "note" }, `Varies: ${plan.parameters.map((/** @type {any} */ one) => `${one.name} ${one.value}`).join(", ")}`)
        : null,
      left.length
        ? h("p", { class: "note" }, `Left out: ${left.map(([why, count]) => `${count} ${why}`).join(", ")}.`)
        : null,
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

/** @param {any} one */
function step(one) {
  if (one.kind === "decision") {
    return h("li", null, h("span", { class: "pill accent" }, "decision"), " ", one.what, one.why ? h("span", { class: "note" }, ` – ${one.why}`) : null);
  }
  const files = one.files?.length ? ` – ${counted(one.files.length, "file")}` : "";
  return h("li", null, h("span", { class: "pill" }, one.tool), " ", h("code", null, one.command || one.target || ""), h("span", { class: "note" }, files));
}
