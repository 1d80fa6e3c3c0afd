import assert from "node:assert/strict";
import { test } from "node:test";
import { resumeWay } from "../../../fazm_memory/web/static/lib/resume_way.js";

const offer = { took: "exact", why: "", command: "cd /a && claude --resume x", native: "cd /a && claude --resume x", blocked: null, briefing: "What was done", cwd: "/a" };

test("a command that can be run here is copied first", () => {
  const way = resumeWay(offer);
  assert.deepEqual([way.copies, way.text, way.next], ["command", offer.command, "Run it in a terminal."]);
});

test("a new session that gets the briefing is started by its command", () => {
  const way = resumeWay({ ...offer, took: "briefing", command: "claude 'What was done'", blocked: "the transcript is gone" });
  assert.deepEqual([way.copies, way.text], ["command", "claude 'What was done'"]);
});

test("the briefing is copied first where the agent's command cannot be run", () => {
  const way = resumeWay({ ...offer, took: "clipboard", command: null, blocked: "the folder is gone", cwd: null });
  assert.deepEqual([way.copies, way.text, way.command], ["briefing", "What was done", offer.native]);
  assert.equal(way.reason, "The agent cannot continue this session here: the folder is gone.");
  assert.equal(way.next, "Start a new session of the agent and paste the briefing as the first message.");
  const absent = resumeWay({ ...offer, blocked: "claude is not installed here" });
  assert.deepEqual([absent.copies, absent.command], ["briefing", offer.command]);
  assert.match(absent.next, /agent in \/a and paste/);
});

test("without a command the reason is said", () => {
  const way = resumeWay({ ...offer, took: "clipboard", why: "this agent has no command", command: null, native: null, blocked: null });
  assert.deepEqual([way.copies, way.command, way.reason], ["briefing", null, "This agent has no command."]);
});
