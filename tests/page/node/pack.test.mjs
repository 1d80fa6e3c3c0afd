import assert from "node:assert/strict";
import test from "node:test";
import { LEAST, markAt, packLane } from "../../../fazm_memory/web/static/layout/pack.js";

const same = (ms) => ms;
const at = (ms, end_ms = ms, outcome = "ok") => ({ ms, end_ms, outcome });

test("an event that took no time is still wide enough to see", () => {
  const [mark] = packLane([at(10)], same, { width: 100 });
  assert.equal(mark.width, LEAST);
});

test("what overlaps goes on the next row", () => {
  const marks = packLane([at(0, 20), at(10, 30), at(40, 50)], same, { width: 100 });
  assert.deepEqual(
    marks.map((mark) => mark.row),
    [0, 1, 0],
  );
});

test("when there are no more rows, marks say how many they stand for", () => {
  const marks = packLane([at(0), at(0), at(0), at(1)], same, { rows: 1, width: 100 });
  assert.equal(marks.length, 1);
  assert.equal(marks[0].count, 4);
});

test("a failure is never hidden under what went well", () => {
  const bad = at(1, 1, "error");
  const [mark] = packLane([at(0), bad, at(1)], same, { rows: 1, width: 100 });
  assert.equal(mark.bad, true);
  assert.equal(mark.item, bad);
});

test("what is out of sight is not drawn", () => {
  assert.equal(packLane([at(-50, -40), at(500)], same, { width: 100 }).length, 0);
});

test("the number of marks is bounded by the pixels, not by the events", () => {
  const items = Array.from({ length: 50_000 }, (_, index) => at(index / 500));
  const marks = packLane(items, same, { rows: 2, width: 100 });
  assert.ok(marks.length <= 2 * 100);
  assert.equal(
    marks.reduce((sum, mark) => sum + mark.count, 0),
    50_000,
  );
});

test("a click a little beside a small mark finds it", () => {
  const marks = packLane([at(10), at(60)], same, { width: 100 });
  assert.equal(markAt(marks, 15, 0)?.item.ms, 10);
  assert.equal(markAt(marks, 35, 0), null);
  assert.equal(markAt(marks, 11, 1), null);
});
