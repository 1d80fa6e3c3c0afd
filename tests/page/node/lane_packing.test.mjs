import assert from "node:assert/strict";
import test from "node:test";
import { markAt, packLane } from "../../../fazm_memory/web/static/lib/lane_packing.js";

const same = (ms) => ms;
const at = (ms, end_ms = ms, outcome = "ok") => ({ ms, end_ms, outcome });

test("an event without a duration has a visible width", () => {
  const [mark] = packLane([at(10)], same, { width: 100 });
  assert.equal(mark.width, 3);
});

test("overlapping events go to the next row", () => {
  const marks = packLane([at(0, 20), at(10, 30), at(40, 50)], same, { width: 100 });
  assert.deepEqual(
    marks.map((mark) => mark.row),
    [0, 1, 0],
  );
});

test("without free rows, marks count their events", () => {
  const marks = packLane([at(0), at(0), at(0), at(1)], same, { rows: 1, width: 100 });
  assert.equal(marks.length, 1);
  assert.equal(marks[0].count, 4);
});

test("a failure is not hidden by a success", () => {
  const bad = at(1, 1, "error");
  const [mark] = packLane([at(0), bad, at(1)], same, { rows: 1, width: 100 });
  assert.equal(mark.failed, true);
  assert.equal(mark.item, bad);
});

test("marks outside the view are not drawn", () => {
  assert.equal(packLane([at(-50, -40), at(500)], same, { width: 100 }).length, 0);
});

test("the number of marks is bounded by the pixels", () => {
  const items = Array.from({ length: 50_000 }, (_, index) => at(index / 500));
  const marks = packLane(items, same, { rows: 2, width: 100 });
  assert.ok(marks.length <= 2 * 100);
  assert.equal(
    marks.reduce((sum, mark) => sum + mark.count, 0),
    50_000,
  );
});

test("a click next to a small mark finds it", () => {
  const marks = packLane([at(10), at(60)], same, { width: 100 });
  assert.equal(markAt(marks, 15, 0)?.item.ms, 10);
  assert.equal(markAt(marks, 35, 0), null);
  assert.equal(markAt(marks, 11, 1), null);
});

test("a call that the user refused is not painted as failed", () => {
  const failed = (outcome) => packLane([at(10, 20, outcome)], same, { width: 100 })[0].failed;
  assert.deepEqual(["ok", "denied", "error", "timeout", null].map(failed), [false, false, true, true, false]);
});
