/**
 * An event as Markdown that can be pasted anywhere: recorded text stands in fences it cannot break out of.
 */

import { clockSeconds, duration, kindName, outcomeWord } from "./words.js";

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
 * A line of recorded text in running Markdown: one line, and none of its characters mean anything.
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
 * @param {any} full the event as the page's API tells it
 * @param {string} link
 */
export function eventMarkdown(full, link) {
  const { row } = full;
  const heading = [kindName(row.kind), row.title, row.kind === "action" ? row.target : ""].filter(Boolean);
  const facts = [
    `${full.event.at.slice(0, 10)} ${clockSeconds(full.ms)}`,
    row.outcome ? outcomeWord(row.outcome) : "",
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
  if (full.retry?.diff) out.push("**What the retry changed**", "", fence(full.retry.diff, "diff"), "");
  if (full.files?.length) {
    out.push("**Files**", "");
    for (const file of full.files) out.push(`- ${inline(file.change)}: ${inline(file.path)}`);
    out.push("");
  }
  if (full.input === null || full.input === undefined) part("Event", full.event.payload);
  out.push(`[Open in Fazm Memory](<${link.replace(/[<>\s]/g, encodeURIComponent)}>)`, "");
  return out.join("\n");
}
