import assert from "node:assert/strict";
import { test } from "node:test";
import { folderGroups, modeWords, planGroups, planSentence } from "../../../fazm_memory/web/static/layout/plan_words.js";

const file = (path, action) => ({ path, action });

test("what a person has to decide about comes first", () => {
  const groups = planGroups([file("a", "restore"), file("b", "refuse"), file("c", "restore"), file("d", "delete")]);
  assert.deepEqual(groups.map((group) => [group.action, group.files.length]), [["refuse", 1], ["restore", 2], ["delete", 1]]);
});

test("an action nobody told the page of is shown under its own name rather than hidden", () => {
  assert.deepEqual(planGroups([file("a", "merge")]).map((group) => group.title), ["merge"]);
});

test("the sentence counts only files that would change", () => {
  const plan = { to: 4, head: 5, files: [file("a", "restore"), file("b", "keep"), file("c", "refuse")] };
  assert.equal(planSentence(plan), "Position 4 is 1 event back; 1 file would change on disk.");
  assert.match(planSentence({ to: 1, head: 5, files: [] }), /4 events back; no file would change/);
});

test("a file whose mode changed says from what to what", () => {
  assert.equal(modeWords({ ...file("a", "restore"), mode: { now: "755", then: "644" } }), "mode 755 → 644");
  assert.equal(modeWords(file("a", "restore")), "");
});

test("folders that are left empty are told by whether they go", () => {
  const groups = folderGroups([file("new", "delete"), file("theirs", "keep")]);
  assert.deepEqual(
    groups.map((group) => [group.title, group.files.map((one) => one.path)]),
    [
      ["Folders that go with their files", ["new"]],
      ["Folders that stay, empty", ["theirs"]],
    ],
  );
  assert.deepEqual(folderGroups([]), []);
});
