/**
 * Text for times, durations, sizes, kinds, marks and provenance.
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

/** A text of at most so many characters, cut at a word. @param {string} text @param {number} most */
export function shorten(text, most) {
  if (text.length <= most) return text;
  const cut = text.slice(0, most);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), most - 20))}…`;
}

/** Some models may have no known price. @param {any} cost */
export const dollars = (cost) => (cost?.usd ? `${cost.unknown_models.length ? "≥ " : ""}$${cost.usd.toFixed(2)}` : "");

/** @param {number} number */
const twoDigits = (number) => String(number).padStart(2, "0");

/** @param {number} ms */
export function clock(ms) {
  const date = new Date(ms);
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

/** @param {number} ms */
export function clockSeconds(ms) {
  return `${clock(ms)}:${twoDigits(new Date(ms).getSeconds())}`;
}

/** @param {number} count @param {string} singular */
export function plural(count, singular) {
  return `${count.toLocaleString("en")} ${singular}${count === 1 ? "" : "s"}`;
}

/** @param {string} text */
export const capitalize = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Capitalize and end with a full stop. @param {string} text */
export const toSentence = (text) => `${capitalize(text)}${/[.:!?…]$/.test(text) ? "" : "."}`;

/** @param {number|null|undefined} bytes */
export function byteSize(bytes) {
  if (bytes === null || bytes === undefined) return "";
  if (bytes < 1000) return plural(bytes, "byte");
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} KB`;
  if (bytes < 1e9) return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

/** The last parts of a path. @param {string|null|undefined} path @param {number} [parts] */
export function shortPath(path, parts = 2) {
  if (!path) return "";
  const names = path.split("/").filter(Boolean);
  if (parts === 1 && names.length) return names[names.length - 1];
  return names.length <= parts ? path : `…/${names.slice(-parts).join("/")}`;
}

/** A path relative to a folder that contains it; other paths are unchanged. @param {string|null|undefined} path @param {string|null|undefined} folder */
export function relativePath(path, folder) {
  if (!path || !folder) return path || "";
  const prefix = folder.endsWith("/") ? folder : `${folder}/`;
  return path.startsWith(prefix) && path.length > prefix.length ? path.slice(prefix.length) : path;
}

/** @type {Record<string, string>} */
const KINDS = {
  "session.open": "Session started",
  "session.title": "Titled",
  "session.pause": "Paused",
  "session.resume": "Resumed",
  "session.close": "Closed",
  "session.archive": "Archived",
  "session.restore": "Restored",
  prompt: "Prompt",
  message: "Message",
  "action.start": "Started",
  action: "Action",
  "action.amend": "Amended",
  decision: "Decision",
  plan: "Plan",
  todos: "Steps",
  branch: "Branch",
  fact: "Fact",
  "fact.retract": "Fact retracted",
  pending: "To do",
  "pending.done": "Done",
  file: "File",
  seen: "Listed",
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
export const outcomeName = (outcome) => (outcome ? OUTCOMES[outcome] || outcome : "");

/** @type {Record<string, [string, string]>} label and tone */
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
 * @returns {{label: string, tone: string}|null}
 */
export function markLabel(mark) {
  const known = MARKS[mark];
  return known ? { label: known[0], tone: known[1] } : null;
}

/**
 * The marks of an event. A rewind that was taken back is undone.
 * @param {{kind: string, marks?: string[]}} row
 * @returns {{label: string, tone: string}[]}
 */
export function rowMarks({ kind, marks = [] }) {
  const known = marks.map((mark) => (kind === "rewind" && mark === "rewound" ? { label: "undone", tone: "" } : markLabel(mark)));
  return /** @type {{label: string, tone: string}[]} */ (known.filter(Boolean));
}

/** @type {[number, string][]} */
const AGO = [
  [86400, "day"],
  [3600, "hour"],
  [60, "minute"],
];

/** @param {number} ms @param {number} now */
export function ago(ms, now) {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  const unit = AGO.find(([length]) => seconds >= length);
  return unit ? `${plural(Math.floor(seconds / unit[0]), unit[1])} ago` : "just now";
}

/** @type {Record<string, string>} */
const ACTORS = { agent: "By the agent", person: "By you", system: "By the system", unknown: "Author unknown" };

/** @type {Record<string, string>} */
const SOURCES = {
  hook: "from the agent's hook",
  transcript: "from the transcript",
  mcp: "over MCP",
  cli: "from the command line",
  files: "seen on disk",
  desktop: "seen on the desktop",
  import: "imported from the transcript",
  companion: "from the companion",
  web: "from this page",
  menubar: "from the menu bar",
  record: "from the record command",
};

/** Who did it, how it was recorded and how far it is trusted. @param {{actor: string, source: string, trust: string}} event */
export function provenanceText({ actor, source, trust }) {
  return [ACTORS[actor] || `By ${actor}`, SOURCES[source] || `from ${source}`, `trust: ${trust}`].join(" · ");
}

/** The state of a session in a word: how it ended, or its lifecycle. @param {any} session */
export const endText = ({ ended, lifecycle }) =>
  ended?.startsWith("silent") ? "silent" : ["exit", "replaced"].includes(ended) ? `closed (${ended})` : lifecycle === "open" ? "new" : lifecycle;
