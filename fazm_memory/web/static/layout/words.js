/**
 * How the page says things: times, lengths, sizes, kinds. Pure, so that a list, a lane and a copied text agree.
 */

/** @param {number|null|undefined} ms */
export function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60)
    return `${minutes} min${ms % 60_000 >= 1000 && minutes < 10 ? ` ${Math.floor((ms % 60_000) / 1000)} s` : ""}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
  return `${Math.floor(hours / 24)} days`;
}

/** @param {number} number */
const two = (number) => String(number).padStart(2, "0");

/** @param {number} ms */
export function clock(ms) {
  const date = new Date(ms);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** @param {number} ms */
export function clockSeconds(ms) {
  return `${clock(ms)}:${two(new Date(ms).getSeconds())}`;
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** With a capital, as a title or a line begins. @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** With a capital and an end: what was said elsewhere, to stand by itself. @param {string} text */
export const sentence = (text) => `${capital(text)}${/[.:!?…]$/.test(text) ? "" : "."}`;

/** @param {number|null|undefined} bytes */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  if (bytes < 1000) return counted(bytes, "byte");
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} KB`;
  if (bytes < 1e9) return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

/** The last parts of a path, which say most. @param {string|null|undefined} path @param {number} [parts] */
export function shortPath(path, parts = 2) {
  if (!path) return "";
  const names = path.split("/").filter(Boolean);
  if (parts === 1 && names.length) return names[names.length - 1];
  return names.length <= parts ? path : `…/${names.slice(-parts).join("/")}`;
}

/** A path as it is called inside a folder; others as they are. @param {string|null|undefined} path @param {string|null|undefined} folder */
export function inside(path, folder) {
  if (!path || !folder) return path || "";
  const prefix = folder.endsWith("/") ? folder : `${folder}/`;
  return path.startsWith(prefix) && path.length > prefix.length ? path.slice(prefix.length) : path;
}

/** @type {Record<string, string>} */
const KINDS = {
  "session.open": "Session began",
  "session.title": "Titled",
  "session.pause": "Paused",
  "session.resume": "Resumed",
  "session.close": "Closed",
  "session.archive": "Archived",
  "session.restore": "Restored",
  prompt: "Prompt",
  message: "Message",
  "action.start": "Began",
  action: "Action",
  "action.amend": "Amended",
  decision: "Decision",
  fact: "Fact",
  "fact.retract": "Fact retracted",
  pending: "To do",
  "pending.done": "Done",
  file: "File",
  seen: "Looked at",
  evicted: "Compaction",
  handoff: "Handed off",
  "handoff.answer": "Answered",
  rewind: "Rewound",
  gap: "Gap",
  app: "App",
  usage: "Usage",
  quarantine: "Quarantine",
  forgotten: "Forgotten",
  recovered: "Recovered",
  unknown: "Unknown",
};

/** @param {string} kind */
export const kindName = (kind) => KINDS[kind] || kind;

/** @type {Record<string, string>} */
const OUTCOMES = { error: "failed", denied: "denied", timeout: "timed out", interrupted: "interrupted", ok: "ok" };

/** @param {string|null|undefined} outcome */
export const outcomeWord = (outcome) => (outcome ? OUTCOMES[outcome] || outcome : "");

/** @type {Record<string, [string, string]>} the word of a mark, and how it looks */
const MARKS = {
  retry: ["retry", ""],
  fork: ["fork", "accent"],
  rewind: ["rewind", "accent"],
  rewound: ["rewound", ""],
  compaction: ["compaction", "warn"],
  handoff: ["question", "accent"],
  answer: ["answer", "good"],
  untrusted: ["untrusted", "warn"],
  quarantined: ["quarantined", "bad"],
  interrupted: ["interrupted", "bad"],
  forgotten: ["forgotten", ""],
  gap: ["gap", "warn"],
};

/**
 * @param {string} mark
 * @returns {{word: string, look: string}|null}
 */
export function markWord(mark) {
  const known = MARKS[mark];
  return known ? { word: known[0], look: known[1] } : null;
}

/** @type {[number, string][]} */
const AGO = [
  [86400, "day"],
  [3600, "hour"],
  [60, "minute"],
];

/** How long ago a moment was, in the largest fitting unit. @param {number} ms @param {number} now */
export function ago(ms, now) {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  const fitting = AGO.find(([length]) => seconds >= length);
  return fitting ? `${counted(Math.floor(seconds / fitting[0]), fitting[1])} ago` : "just now";
}
