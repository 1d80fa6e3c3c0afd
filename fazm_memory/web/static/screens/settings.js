/**
 * <fm-settings>: recording, agents, permissions, watched folders, exclusions, storage, other machines, retention.
 */

import { api } from "../api.js";
import { CommandDialog } from "../commands/dialog.js";
import { setExclusion } from "../commands/event.js";
import { notifyChange, toast } from "../commands/toast.js";
import { textDiff } from "../components/file_diff.js";
import { now } from "../clock.js";
import { h, withCommands } from "../dom.js";
import { ago, byteSize, capitalize, clock, plural, toSentence } from "../lib/format.js";
import { runCommand } from "../router.js";
import { retentionCard } from "./settings_retention.js";
import { syncCard } from "./settings_sync.js";
import { Screen } from "./screen.js";

/** @typedef {(change: Promise<unknown>, confirmation: string) => void} Apply */

const RELOAD_MS = 5000;
const KINDS = new Set(["recording", "exclusions", "retention", "agents"]);

class SettingsScreen extends Screen {
  heading = "Settings";
  about = "All data stays on this machine, unless you set up sync.";

  connectedCallback() {
    super.connectedCallback();
    // The status of agents is not in the log, so reload regularly, but not while somebody is typing.
    this.timer = window.setInterval(() => {
      const editing = this.querySelector("input:focus, select:focus, form.is-changed");
      if (!document.hidden && !editing && !document.querySelector("dialog[open]")) this.load();
    }, RELOAD_MS);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    window.clearInterval(this.timer);
  }

  /** @param {{kinds: string[]}} change */
  concerns(change) {
    return change.kinds.some((kind) => KINDS.has(kind));
  }

  async draw() {
    const turn = this.turn;
    const settings = await api.get("settings");
    if (turn !== this.turn) return []; // a newer load will be shown; it must keep the edited form
    const edited = this.querySelector("form.is-changed")?.closest("section");
    const agents = settings.agents || [];
    /** @type {Apply} */
    const apply = (change, confirmation) => void this.apply(change, confirmation);
    return [
      h(
        "div",
        { class: "cards" },
        recordingCard(settings.recording, settings.companion, agents, apply),
        agentsCard(agents, apply),
        h("div", { class: "cards-column" }, permissionsCard(settings.permissions), foldersCard(settings.roots), exclusionsCard(settings.exclusions, apply)),
        h("div", { class: "cards-column" }, storageCard(settings.storage, settings.companion), syncCard(settings.sync, Boolean(settings.companion), apply)),
        edited || retentionCard(settings.retention, apply),
      ),
    ];
  }
}

/**
 * @param {string} title
 * @param {import("../dom.js").Child[]} children
 * @param {string} [size]
 */
function card(title, children, size = "") {
  return h("section", { class: `card ${size}`, "aria-label": title }, h("h3", null, title), children);
}

/**
 * A list, or a note if it is empty.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => HTMLElement} draw
 * @param {string} empty
 */
function listOrNote(items, draw, empty) {
  return items.length ? h("ul", { class: "list" }, items.map(draw)) : h("p", { class: "note" }, empty);
}

/** @type {[number|null, string][]} */
const PAUSES = [
  [15 * 60, "15 minutes"],
  [60 * 60, "1 hour"],
  [null, "Until I resume"],
];

/**
 * @param {any} status
 * @param {number|null} companion
 * @param {any[]} agents
 * @param {Apply} apply
 */
function recordingCard(status, companion, agents, apply) {
  if (!status.recording) {
    const until = status.paused_until ? `Until ${clock(Date.parse(status.paused_until))}.` : "Until you resume it.";
    const text = ` Nothing is recorded, summarised or given to agents. ${until}`;
    const onclick = () => apply(api.post("recording", { resume: true }), "Recording resumed");
    const button = h("button", { class: "btn primary", type: "button", "data-focus": "resume", onclick }, "Resume recording");
    const state = h("p", null, h("span", { class: "pill warn" }, "paused"), text);
    return card("Recording", [state, h("div", { class: "buttons" }, button)], "wide");
  }
  const pill = companion
    ? h("span", { class: "pill good" }, "recording")
    : h("span", { class: "pill warn" }, "companion not running");
  const state = h("p", null, pill, " ", withCommands(recordingText(companion, agents)));
  const buttons = PAUSES.map(([seconds, label]) => pauseButton(seconds, label, apply));
  const setup = h("a", { class: "btn quiet", href: "#/setup" }, "Go through the setup again…");
  const pauses = h("div", { class: "buttons" }, h("span", { class: "note" }, "Pause for"), buttons, setup);
  return card("Recording", [state, pauses], "wide");
}

/** @param {number|null} seconds @param {string} label @param {Apply} apply */
function pauseButton(seconds, label, apply) {
  const name = seconds === null ? "Pause recording until I resume" : `Pause recording for ${label}`;
  const onclick = () => apply(api.post("recording", { pause: seconds }), "Recording paused");
  return h("button", { class: "btn", type: "button", "aria-label": name, "data-focus": label, onclick }, label);
}

/** @param {number|null} companion @param {any[]} agents */
function recordingText(companion, agents) {
  const names = agents.filter(isConnected).map(agentName);
  const found = agents.some((agent) => agent.here);
  const none = found ? "No agent is connected." : "No agent is connected, and none was found on this machine.";
  if (!companion) {
    const waiting =
      "Only MCP calls are recorded. Hooks and transcripts wait, and no folder is watched, until you start `fazm-memory run`.";
    return names.length ? waiting : `${none} ${waiting}`;
  }
  if (!names.length) return `${none} Sessions are read from the agents' own transcripts.`;
  const listed = [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");
  return `Recording ${listed}.`;
}

/** @type {Record<string, string>} */
const AGENT_NAMES = {
  fazm: "Fazm",
  "claude-code": "Claude Code",
  codex: "Codex",
  gemini: "Gemini CLI",
  opencode: "opencode",
  copilot: "GitHub Copilot CLI",
  qwen: "Qwen Code",
  cursor: "Cursor",
  hermes: "Hermes",
  cline: "Cline CLI",
  openclaw: "OpenClaw",
  goose: "Goose",
  "claude-cowork": "Claude Cowork",
  antigravity: "Antigravity CLI",
};

/** @param {any} agent */
const isConnected = (agent) => Boolean(agent.hooks || agent.mcp);

/** @param {any} agent */
const agentName = (agent) => AGENT_NAMES[agent.agent] || agent.agent;

/** Agents with problems first. @param {any[]} agents @param {Apply} apply */
function agentsCard(agents, apply) {
  const rank = (/** @type {any} */ agent) => (agent.here && agent.trouble ? 0 : isConnected(agent) ? 1 : 2);
  const isShown = (/** @type {any} */ agent) => agent.here || agent.files || isConnected(agent);
  const shown = agents.filter(isShown).sort((a, b) => rank(a) - rank(b));
  const others = agents.filter((agent) => !isShown(agent)).map(agentName);
  const list = shown.length ? h("ul", { class: "list" }, shown.map((agent) => agentItem(agent, apply))) : null;
  const note = others.length ? h("p", { class: "note" }, `Not found on this machine: ${others.join(", ")}.`) : null;
  return card("Agents", [list, note].filter(Boolean), "wide");
}

/** @param {any} agent @param {Apply} apply */
function agentItem(agent, apply) {
  const [tone, state] = agentState(agent);
  return h(
    "li",
    { class: "setting" },
    h(
      "div",
      null,
      h("p", null, h("strong", null, agentName(agent)), " ", h("span", { class: `pill ${tone}` }, state)),
      h("p", { class: "note" }, agentDetails(agent)),
      // Fazm and Claude Code share a settings file. Its problem is shown only for the agent that is installed.
      agent.here && agent.trouble ? h("p", { class: "note warn" }, agent.trouble) : null,
    ),
    agent.here && agent.connectable ? connectButton(agent, apply) : null,
  );
}

/** @param {any} agent @returns {[string, string]} tone and text */
function agentState(agent) {
  if (agent.silent) return ["bad", "silent"];
  if (isConnected(agent)) return ["good", "connected"];
  return ["", agent.here ? "not connected" : "not found"];
}

/** @param {any} agent */
function agentDetails({ hooks, mcp, last_hook: lastHook, files, bytes }) {
  const parts = [
    [hooks ? "hooks" : "", mcp ? "MCP" : ""].filter(Boolean).join(" and "),
    lastHook ? `last event ${ago(Date.parse(lastHook), now())}` : "",
    files ? `${plural(files, "transcript")}, ${byteSize(bytes)}` : "",
  ];
  return parts.filter(Boolean).join(" · ") || "No transcripts on this machine.";
}

/** @param {any} agent @param {Apply} apply */
function connectButton(agent, apply) {
  const connect = !isConnected(agent);
  const label = connect ? "Connect" : "Disconnect";
  const name = agentName(agent);
  const onclick = () => openConnectDialog(agent.agent, name, connect, apply);
  const focus = `connect ${agent.agent}`;
  return h("button", { class: "btn", type: "button", "aria-label": `${label} ${name}`, "data-focus": focus, onclick }, label);
}

/**
 * Show the edits of the agent's configuration before they are made.
 * @param {string} agent
 * @param {string} name
 * @param {boolean} connect
 * @param {Apply} apply
 */
function openConnectDialog(agent, name, connect, apply) {
  const label = connect ? "Connect" : "Disconnect";
  const about = "These files will be edited. A copy of each is kept.";
  const dialog = new CommandDialog({ title: `${label} ${name}`, about, confirm: label, wide: true });
  const setConnected = async (/** @type {boolean} */ wanted) => {
    await api.post("settings/agents", { agent, connect: wanted, dry_run: false });
    notifyChange(null, "agents");
  };
  dialog.open(async () => {
    const change = setConnected(connect);
    await change;
    dialog.close();
    const text = `${name} is ${connect ? "connected" : "disconnected"}`;
    apply(change, text);
    toast(`${text}.`, () => setConnected(!connect));
  });
  return dialog.load(api.post("settings/agents", { agent, connect, dry_run: true }), ({ changes = [], notes = [] }) => {
    const noteLines = notes.map((/** @type {string} */ note) => h("p", { class: "note" }, note));
    if (!changes.length) return [h("p", null, "No file needs to be edited."), ...noteLines];
    const edits = changes.map((/** @type {any} */ { path, diff }) =>
      h("section", null, h("h3", { class: "path" }, path), textDiff(diff, { class: "tall", tabindex: 0 })),
    );
    return [...edits, ...noteLines];
  });
}

/**
 * @param {import("../dom.js").Child[]} heading
 * @param {string|null|undefined} why
 */
function statusItem(heading, why) {
  const note = why ? h("p", { class: "note" }, withCommands(toSentence(why))) : null;
  return h("li", { class: "setting" }, h("div", null, h("p", null, heading), note));
}

/** @type {Record<string, string>} */
const PERMISSION_TONES = { granted: "good", missing: "warn" };

/** @param {any[]|null} permissions */
function permissionsCard(permissions) {
  if (!permissions) return null;
  const item = (/** @type {any} */ { name, state, why }) => {
    const pill = h("span", { class: `pill ${PERMISSION_TONES[state] || ""}` }, state);
    return statusItem([h("strong", null, capitalize(name)), " ", pill], why);
  };
  return card("Permissions", [listOrNote(permissions, item, "This system needs no permissions.")]);
}

/** @param {any[]|null} folders */
function foldersCard(folders) {
  if (!folders) return null;
  const item = (/** @type {any} */ { path, watched, why }) => {
    const pill = h("span", { class: `pill ${watched ? "good" : ""}` }, watched ? "watched" : "not watched");
    return statusItem([h("span", { class: "path" }, path), " ", pill], why);
  };
  const empty = "None yet. Folders that agents work in are watched automatically. You can add others in the setup.";
  return card("Watched folders", [listOrNote(folders, item, empty)]);
}

/** @param {{apps: any[], folders: any[]}|null} exclusions @param {Apply} apply */
function exclusionsCard(exclusions, apply) {
  const apps = exclusions?.apps || [];
  const builtIn = apps.filter((app) => app.seeded);
  const own = [
    ...(exclusions?.folders || []).map((folder) => ({ kind: "folder", name: exclusionName(folder) })),
    ...apps.filter((app) => !app.seeded).map((app) => ({ kind: "app", name: exclusionName(app) })),
  ];
  const button = (/** @type {string} */ label, /** @type {string} */ look, /** @type {() => void} */ onclick) =>
    h("button", { class: `btn ${look}`, type: "button", onclick }, label);
  return card("Never recorded", [
    listOrNote(own, (exclusion) => exclusionItem(exclusion, apply), "You have not excluded anything."),
    builtIn.length
      ? h(
          "details",
          null,
          h("summary", null, `Always excluded: password managers and similar apps (${builtIn.length})`),
          h("p", { class: "note" }, builtIn.map(exclusionName).join(", ")),
        )
      : null,
    h(
      "div",
      { class: "buttons" },
      button("Exclude a folder or app…", "", () => runCommand("exclude", { folder: "" })),
      button("Forget a time range…", "danger", () => runCommand("forget-range", {})),
    ),
  ]);
}

/** @param {any} exclusion */
const exclusionName = (exclusion) =>
  typeof exclusion === "string" ? exclusion : exclusion.name || exclusion.path || exclusion.folder || exclusion.app || "";

/** @param {{kind: string, name: string}} exclusion @param {Apply} apply */
function exclusionItem({ kind, name }, apply) {
  const onclick = () => apply(setExclusion({ [kind]: name }, "remove"), `${name} is no longer excluded`);
  return h(
    "li",
    { class: "setting" },
    h("div", null, h("span", { class: "path" }, name), " ", h("span", { class: "pill" }, kind)),
    h("button", { class: "btn quiet", type: "button", "aria-label": `Remove ${name}`, onclick }, "Remove"),
  );
}

/** @param {any} storage @param {number|boolean|null} companion */
function storageCard(storage, companion) {
  if (!storage) return null;
  const { events, sessions, oldest, key } = storage;
  /** @type {[string, string][]} */
  const rows = [
    ["Contents", `${plural(events, "event")} in ${plural(sessions, "session")}`],
    ["Log", byteSize(storage.log_bytes)],
    ["File versions", byteSize(storage.versions_bytes) || "none"],
    ["Copied transcripts", transcriptsText(storage.transcripts)],
    ["Oldest event", oldest ? new Date(oldest).toLocaleDateString([], { dateStyle: "medium" }) : "none"],
    ["Key", key ? [key.backend, key.where].filter(Boolean).join(", ") : ""],
    ["Folder", storage.home],
    ["Companion", companion ? "running" : "not running. Start it with `fazm-memory run`."],
  ];
  const entries = rows.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, withCommands(value))]);
  const notice = storage.transcripts?.notice;
  const note = notice ? h("p", { class: "note" }, withCommands(notice)) : null;
  return card("Storage", [h("dl", { class: "facts" }, entries), note]);
}

/** @param {any} copies */
function transcriptsText(copies) {
  if (!copies || copies.form === "off") return "switched off";
  if (!copies.sessions) return "none";
  return `${plural(copies.sessions, "session")}, ${byteSize(copies.stored)} for ${byteSize(copies.bytes)} (${copies.form})`;
}

customElements.define("fm-settings", SettingsScreen);
