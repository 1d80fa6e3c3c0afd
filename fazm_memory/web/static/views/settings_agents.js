/**
 * Which agents are here, whether they are joined, and whether they are heard: connected but silent is the worst of both,
 * and said first.
 */

import { api } from "../api.js";
import { h } from "../dom.js";
import { ago, counted, size } from "../layout/words.js";
import { textDiff } from "../parts/filediff.js";
import { Sheet } from "../verbs/sheet.js";
import { changed, toast } from "../verbs/toast.js";

/** @typedef {import("./settings_recording.js").After} After */

/** @type {Record<string, string>} */
export const NAMES = { fazm: "Fazm", "claude-code": "Claude Code", codex: "Codex", gemini: "Gemini CLI", opencode: "opencode" };
const CONNECTABLE = new Set(["fazm", "claude-code", "codex"]);

/**
 * @param {any[]} agents
 * @param {After} after
 */
export function agentsCard(agents, after) {
  const order = (/** @type {any} */ one) => (one.here && one.trouble ? 0 : one.hooks || one.mcp ? 1 : one.here ? 2 : 3);
  const sorted = [...agents].sort((one, two) => order(one) - order(two));
  return h(
    "section",
    { class: "card wide", "aria-label": "Agents" },
    h("h3", null, "Agents"),
    h("ul", { class: "list" }, sorted.map((one) => agent(one, after))),
  );
}

/**
 * @param {any} one
 * @param {After} after
 */
function agent(one, after) {
  const name = NAMES[one.agent] || one.agent;
  const [tone, state] = status(one);
  return h(
    "li",
    { class: "setting" },
    h(
      "div",
      null,
      h("p", null, h("strong", null, name), " ", h("span", { class: `pill ${tone}` }, state)),
      h("p", { class: "note" }, detail(one)),
      // Of one that is not here the trouble is another's: Fazm and Claude Code share their settings.
      one.here && one.trouble ? h("p", { class: "note warn" }, one.trouble) : null,
    ),
    one.here && (one.connectable ?? CONNECTABLE.has(one.agent)) ? joinButton(one, name, after) : null,
  );
}

/**
 * @param {any} one
 * @returns {[string, string]}
 */
function status(one) {
  if (one.silent) return ["bad", "silent"];
  if (one.hooks || one.mcp) return ["good", "connected"];
  return one.here ? ["", "not connected"] : ["", "not found"];
}

/** @param {any} one */
function detail(one) {
  const parts = [];
  if (one.hooks || one.mcp) parts.push([one.hooks ? "hooks" : "", one.mcp ? "MCP" : ""].filter(Boolean).join(" and "));
  if (one.last_hook) parts.push(`last heard ${ago(Date.parse(one.last_hook), Date.now())}`);
  if (one.files) parts.push(`${counted(one.files, "record")}, ${size(one.bytes)}`);
  return parts.join(" · ") || "No records of it are on this machine.";
}

/**
 * @param {any} one
 * @param {string} name
 * @param {After} after
 */
function joinButton(one, name, after) {
  const joined = one.hooks || one.mcp;
  const label = joined ? "Disconnect" : "Connect";
  const act = () => join(one.agent, name, !joined, after);
  return h("button", { class: "btn", type: "button", "aria-label": `${label} ${name}`, "data-focus": `join ${one.agent}`, onclick: act }, label);
}

/**
 * Edits of somebody else's configuration are shown before they are made.
 * @param {string} agent
 * @param {string} name
 * @param {boolean} connect
 * @param {After} after
 */
function join(agent, name, connect, after) {
  const label = connect ? "Connect" : "Disconnect";
  const sheet = new Sheet({ title: `${label} ${name}`, about: "These files would be edited. A copy of each is kept.", confirm: label, wide: true });
  const set = async (/** @type {boolean} */ wanted) => {
    await api.post("settings/agents", { agent, connect: wanted, dry_run: false });
    changed(null, "agents");
  };
  sheet.open(async () => {
    const done = set(connect);
    await done;
    sheet.close();
    after(done, `${name} is ${connect ? "connected" : "disconnected"}`);
    toast(`${name} is ${connect ? "connected" : "disconnected"}.`, () => set(!connect));
  });
  return sheet.reading(api.post("settings/agents", { agent, connect, dry_run: true }), (told) => {
    const notes = (told.notes || []).map((/** @type {string} */ one) => h("p", { class: "note" }, one));
    const edits = told.changes || [];
    if (!edits.length) return [h("p", null, "Nothing has to be edited."), ...notes];
    const shown = edits.map((/** @type {any} */ edit) =>
      h("section", null, h("h3", { class: "path" }, edit.path), textDiff(edit.diff, { class: "tall", tabindex: 0 })),
    );
    return [...shown, ...notes];
  });
}
