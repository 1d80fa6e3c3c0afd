/**
 * An event as Markdown. Recorded text is fenced or escaped so that it cannot become markup.
 */

import { clockSeconds, duration, kindName, outcomeName } from "./format.js";

/**
 * A code fence longer than any run of backticks inside.
 * @param {string} text
 * @param {string} [language]
 */
export function fence(text, language = "") {
  const runs = text.match(/`+/g) || [];
  const ticks = "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return `${ticks}${language}\n${text.replace(/\n$/, "")}\n${ticks}`;
}

/**
 * Recorded text as one line of Markdown with every special character escaped.
 * @param {string} text
 */
export function inline(text) {
  return text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[\\`*_{}[\]<>()#+\-.!|~]/g, "\\$&");
}

/**
 * @param {any} value
 * @returns {string}
 */
export function asText(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/**
 * @param {any} full the event as the API returns it
 * @param {string} link
 */
export function eventMarkdown(full, link) {
  const { row } = full;
  const heading = [kindName(row.kind), row.title, row.kind === "action" ? row.target : ""].filter(Boolean);
  const facts = [
    `${full.event.at.slice(0, 10)} ${clockSeconds(full.ms)}`,
    row.outcome ? outcomeName(row.outcome) : "",
    duration(row.duration_ms),
    `position ${row.seq}`,
  ];
  const out = [`### ${inline(heading.join(" · "))}`, "", inline(facts.filter(Boolean).join(" · ")), ""];
  const part = (/** @type {string} */ name, /** @type {any} */ value) => {
    const text = asText(value);
    if (text) out.push(`**${name}**`, "", fence(text, typeof value === "string" ? "" : "json"), "");
  };
  part("Error", full.error);
  part("Input", full.input);
  part("Output", full.output);
  if (full.retry?.diff) out.push("**Changed by the retry**", "", fence(full.retry.diff, "diff"), "");
  if (full.files?.length) {
    out.push("**Files**", "");
    for (const file of full.files) out.push(`- ${inline(file.change)}: ${inline(file.path)}`);
    out.push("");
  }
  if (full.input === null || full.input === undefined) part("Event", full.event.payload);
  out.push(`[Open in Fazm Memory](<${link.replace(/[<>\s]/g, encodeURIComponent)}>)`, "");
  return out.join("\n");
}
