/**
 * The way to resume a session that the dialog offers first.
 */

import { toSentence } from "./format.js";

/** @typedef {{copies: "command"|"briefing", text: string, command: string|null, reason: string, next: string}} Way */

/**
 * A command that can be run here comes first. If it is blocked or there is none, the briefing does.
 * @param {{took: string, why: string, command: string|null, native: string|null, blocked: string|null, briefing: string, cwd: string|null}} offer
 * @returns {Way}
 */
export function resumeWay({ took, why, command, native, blocked, briefing, cwd }) {
  if (command && !(blocked && took === "exact")) {
    const reason = took === "exact" ? "The agent can continue this exact session:" : "The agent starts a new session with this briefing:";
    return { copies: "command", text: command, command, reason, next: "Run it in a terminal." };
  }
  const reason = native && blocked ? `The agent cannot continue this session here: ${blocked}.` : toSentence(why);
  const folder = cwd ? ` in ${cwd}` : "";
  const next = `Start a new session of the agent${folder} and paste the briefing as the first message.`;
  return { copies: "briefing", text: briefing, command: command || native, reason, next };
}
