import assert from "node:assert/strict";
import { test } from "node:test";
import { diffParts, place, placeText, said } from "../../../fazm_memory/web/static/layout/diff_rows.js";

test("decisions come before counts, and what we have no title for comes last", () => {
  const parts = diffParts({ added: { counts: { actions: 2 }, decisions_made: [{ seq: 7, what: "x" }], budget_left: { a: 1 } } });
  assert.deepEqual(parts.map((part) => part.title), ["Decisions", "Counts", "Budget left"]);
});

test("a row of a table is named by what it is, and its place in the log says nothing", () => {
  const [part] = diffParts({ added: { files_modified: [{ path: "/a", change: "created", from: null, by: "agent", seq: 9 }] } });
  assert.deepEqual(part.rows, [{ op: "added", name: "/a", before: "", after: "created, by agent" }]);
});

test("of a changed row only what differs is told on each side", () => {
  const change = { key: "/a", from: { path: "/a", by: "agent", change: "created", seq: 1 }, to: { path: "/a", by: "person", change: "created", seq: 5 } };
  const [part] = diffParts({ changed: { files_modified: [change] } });
  assert.deepEqual(part.rows, [{ op: "changed", name: "/a", before: "by agent", after: "by person" }]);
});

test("of a file that two branches changed it is told whether the content differs", () => {
  const side = { path: "/a", by: "agent", change: "modified" };
  const told = (/** @type {any} */ to, /** @type {any} */ content) =>
    diffParts({ changed: { files_modified: [{ key: "/a", from: side, to, content }] } })[0].rows[0].after;
  assert.equal(told({ ...side, by: "person" }, "different"), "by person, other content");
  assert.equal(told({ ...side, change: "created" }, "same"), "created, the same content");
  assert.equal(told(side, "unknown"), "content unknown");
  assert.equal(told(side, undefined), "–");
});

test("a single value and a table of values are told as they are", () => {
  const parts = diffParts({ changed: { lifecycle: { from: "active", to: "paused" }, counts: { actions: { from: 1, to: 9 } } } });
  assert.deepEqual(parts.map((part) => part.rows[0]), [
    { op: "changed", name: "", before: "active", after: "paused" },
    { op: "changed", name: "actions", before: "1", after: "9" },
  ]);
});

test("a changed row is called what it is, not by its place in the log", () => {
  const failed = { seq: 5, tool: "Bash", error: "no such file" };
  const [part] = diffParts({ changed: { errors: [{ key: 5, from: failed, to: { ...failed, mended_by: 14 } }] } });
  assert.deepEqual(part.rows, [{ op: "changed", name: "no such file", before: "–", after: "mended at 14" }]);
});

test("what two parts would say is said once, and counts are called by words", () => {
  const parts = diffParts({ added: { evicted_keys: ["a"], evicted: [{ key: "a", seq: 3 }], counts: { files_modified: 4 } } });
  assert.deepEqual(parts.map((part) => [part.title, part.rows[0].name]), [["No longer in the model’s view", "a"], ["Counts", "files modified"]]);
});

test("a plain list is told word by word", () => {
  const [part] = diffParts({ removed: { evicted_keys: ["src/a.ts"] } });
  assert.deepEqual(part.rows, [{ op: "removed", name: "src/a.ts", before: "", after: "" }]);
});

test("a fact is its value", () => {
  assert.equal(said({ value: "EUR", trust: "user", actor: "person" }), "EUR");
  assert.equal(said([1, null, "b"]), "1, , b");
});

test("a place is read as it is written", () => {
  assert.deepEqual(place("abc@12"), { session: "abc", at: 12 });
  assert.deepEqual(place("abc"), { session: "abc", at: null });
  assert.deepEqual(place("abc@-3"), { session: "abc", at: null });
  assert.deepEqual(place(undefined), { session: "", at: null });
  assert.equal(placeText({ session: "abc", at: 0 }), "abc@0");
});
