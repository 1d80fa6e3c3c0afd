import assert from "node:assert/strict";
import { test } from "node:test";
import { changedFiles, folderGroups, modeText, planGroups, planSummary, rewindChoices } from "../../../fazm_memory/web/static/lib/rewind_plan.js";

const file = (path, action) => ({ path, action });

test("conflicts come first", () => {
  const groups = planGroups([file("a", "restore"), file("b", "refuse"), file("c", "restore"), file("d", "delete")]);
  assert.deepEqual(groups.map((group) => [group.action, group.files.length]), [["refuse", 1], ["restore", 2], ["delete", 1]]);
});

test("an unknown action is shown under its own name", () => {
  assert.deepEqual(planGroups([file("a", "merge")]).map((group) => group.title), ["merge"]);
});

test("the summary counts only files that will change", () => {
  const plan = { files: [file("a", "restore"), file("b", "keep"), file("c", "refuse")] };
  assert.equal(planSummary(plan), "1 file can be restored:");
  assert.equal(changedFiles(plan), 1);
  assert.equal(planSummary({ files: [file("b", "keep")] }), "No file is put back. Only the session goes back:");
  assert.equal(planSummary({ files: [] }), "No file was changed since.");
});

test("a rewind goes back before the event, or keeps it", () => {
  const point = { seq: 4, kind: "action", actions: 3, head: 20 };
  assert.deepEqual(rewindChoices(point).slice(0, 2), [
    { label: "Take back this and 2 later actions", to: 4 },
    { label: "Keep this, take back the 2 later actions", to: 5 },
  ]);
  assert.deepEqual(rewindChoices({ ...point, seq: 0, kind: "session.open" }).map(({ to }) => to), [1]);
  assert.deepEqual(rewindChoices({ ...point, seq: 19, actions: 1 })[0], { label: "Take this back", to: 19 });
});

test("a rewind also goes back to the request or to the begin of the session", () => {
  const point = { seq: 19, kind: "action", actions: 1, head: 20, request: "Rename\nthe rest", request_seq: 9 };
  assert.deepEqual(rewindChoices(point), [
    { label: "Take this back", to: 19 },
    { label: "Take back everything since “Rename the rest”", to: 9 },
    { label: "Take back the whole session", to: 1 },
  ]);
  assert.deepEqual(rewindChoices({ ...point, request_seq: 1 }).map(({ to }) => to), [19, 1]);
  assert.deepEqual(rewindChoices({ ...point, seq: 1, head: 2 }).map(({ to }) => to), [1]);
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
