import assert from "node:assert/strict";
import { test } from "node:test";
import { diffParts, parsePosition, positionText, valueText } from "../../../fazm_memory/web/static/lib/state_diff.js";

test("decisions come first and unknown parts last", () => {
  const parts = diffParts({ added: { counts: { actions: 2 }, decisions_made: [{ seq: 7, what: "x" }], budget_left: { a: 1 } } });
  assert.deepEqual(parts.map((part) => part.title), ["Decisions", "Counts", "Budget left"]);
});

test("a row is named by its content, not by its position", () => {
  const [part] = diffParts({ added: { files_modified: [{ path: "/a", change: "created", from: null, by: "agent", seq: 9 }] } });
  assert.deepEqual(part.rows, [{ op: "added", name: "/a", before: "", after: "created, by agent" }]);
});

test("a changed row shows only the fields that differ", () => {
  const change = { key: "/a", from: { path: "/a", by: "agent", change: "created", seq: 1 }, to: { path: "/a", by: "person", change: "created", seq: 5 } };
  const [part] = diffParts({ changed: { files_modified: [change] } });
  assert.deepEqual(part.rows, [{ op: "changed", name: "/a", before: "by agent", after: "by person" }]);
});

test("a file changed by two branches says whether the content differs", () => {
  const side = { path: "/a", by: "agent", change: "modified" };
  const changedText = (/** @type {any} */ to, /** @type {any} */ content) =>
    diffParts({ changed: { files_modified: [{ key: "/a", from: side, to, content }] } })[0].rows[0].after;
  assert.equal(changedText({ ...side, by: "person" }, "different"), "by person, different content");
  assert.equal(changedText({ ...side, change: "created" }, "same"), "created, same content");
  assert.equal(changedText(side, "unknown"), "content unknown");
  assert.equal(changedText(side, undefined), "–");
});

test("values and tables of values are shown as they are", () => {
  const parts = diffParts({ changed: { lifecycle: { from: "active", to: "paused" }, counts: { actions: { from: 1, to: 9 } } } });
  assert.deepEqual(parts.map((part) => part.rows[0]), [
    { op: "changed", name: "", before: "active", after: "paused" },
    { op: "changed", name: "actions", before: "1", after: "9" },
  ]);
});

test("a changed row is named by its content", () => {
  const failed = { seq: 5, tool: "Bash", error: "no such file" };
  const [part] = diffParts({ changed: { errors: [{ key: 5, from: failed, to: { ...failed, mended_by: 14 } }] } });
  assert.deepEqual(part.rows, [{ op: "changed", name: "no such file", before: "–", after: "fixed at 14" }]);
});

test("a part that repeats another is omitted, and counts are labelled", () => {
  const parts = diffParts({ added: { evicted_keys: ["a"], evicted: [{ key: "a", seq: 3 }], counts: { files_modified: 4 } } });
  assert.deepEqual(parts.map((part) => [part.title, part.rows[0].name]), [["Dropped from the model’s context", "a"], ["Counts", "files modified"]]);
});

test("a plain list is shown item by item", () => {
  const [part] = diffParts({ removed: { evicted_keys: ["src/a.ts"] } });
  assert.deepEqual(part.rows, [{ op: "removed", name: "src/a.ts", before: "", after: "" }]);
});

test("a fact is shown by its value", () => {
  assert.equal(valueText({ value: "EUR", trust: "user", actor: "person" }), "EUR");
  assert.equal(valueText([1, null, "b"]), "1, , b");
});

test("a position parses back", () => {
  assert.deepEqual(parsePosition("abc@12"), { session: "abc", at: "12" });
  assert.deepEqual(parsePosition("abc"), { session: "abc", at: null });
  assert.deepEqual(parsePosition("abc@turn 3"), { session: "abc", at: "turn 3" });
  assert.deepEqual(parsePosition(undefined), { session: "", at: null });
  assert.equal(positionText({ session: "abc", at: 0 }), "abc@0");
});
