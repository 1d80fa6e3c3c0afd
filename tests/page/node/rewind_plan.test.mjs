import assert from "node:assert/strict";
import { test } from "node:test";
import { folderGroups, modeText, planGroups, planSummary } from "../../../fazm_memory/web/static/lib/rewind_plan.js";

const file = (path, action) => ({ path, action });

test("conflicts come first", () => {
  const groups = planGroups([file("a", "restore"), file("b", "refuse"), file("c", "restore"), file("d", "delete")]);
  assert.deepEqual(groups.map((group) => [group.action, group.files.length]), [["refuse", 1], ["restore", 2], ["delete", 1]]);
});

test("an unknown action is shown under its own name", () => {
  assert.deepEqual(planGroups([file("a", "merge")]).map((group) => group.title), ["merge"]);
});

test("the summary counts only files that will change", () => {
  const plan = { to: 4, head: 5, files: [file("a", "restore"), file("b", "keep"), file("c", "refuse")] };
  assert.equal(planSummary(plan), "Goes back 1 event to position 4. 1 file will change on disk.");
  assert.match(planSummary({ to: 1, head: 5, files: [] }), /4 events .* No files will change/);
});

test("a changed mode is shown", () => {
  assert.equal(modeText({ ...file("a", "restore"), mode: { now: "755", then: "644" } }), "mode 755 → 644");
  assert.equal(modeText(file("a", "restore")), "");
});

test("empty folders are grouped by whether they are removed", () => {
  const groups = folderGroups([file("new", "delete"), file("theirs", "keep")]);
  assert.deepEqual(
    groups.map((group) => [group.title, group.files.map((file) => file.path)]),
    [
      ["Folders removed with their files", ["new"]],
      ["Empty folders that stay", ["theirs"]],
    ],
  );
  assert.deepEqual(folderGroups([]), []);
});
