import assert from "node:assert/strict";
import test from "node:test";
import { chooseStep, ticks } from "../../../fazm_memory/web/static/layout/ticks.js";

const HOUR = 3_600_000;
const utc = () => 0;

test("the step is the finest whose labels do not touch", () => {
  assert.equal(chooseStep(1000, 70), 2 * 60_000);
  assert.equal(chooseStep(10, 70), 1000);
});

test("a day of 900 pixels is marked every two hours, on the hour", () => {
  const marks = ticks(0, 24 * HOUR, 900, { offset: utc, apart: 64 });
  assert.deepEqual(
    marks.slice(0, 3).map((mark) => mark.label),
    ["00:00", "02:00", "04:00"],
  );
});

test("marks are round on the user's own clock, even where it is half an hour off", () => {
  const marks = ticks(0, 6 * HOUR, 480, { offset: () => 5.5 * HOUR });
  assert.equal(marks[0].label, "06:00");
  assert.equal(marks[0].ms, 0.5 * HOUR);
});

test("seconds are said only when they matter", () => {
  assert.match(ticks(0, 60_000, 800, { offset: utc })[1].label, /^\d\d:\d\d:\d\d$/);
});

test("days are named when a mark is a day", () => {
  assert.equal(ticks(0, 30 * 24 * HOUR, 900, { offset: utc })[0].label, "1 Jan");
});

test("the number of marks is bounded by the width", () => {
  for (const length of [1, 1000, 1e6, 1e9, 1e11, 1e13])
    assert.ok(ticks(0, length, 1200, { offset: utc }).length <= 400);
  assert.deepEqual(ticks(5, 5, 100), []);
});
