import assert from "node:assert/strict";
import test from "node:test";
import { linearScale, timeScale, activePeriods, foldIdle, chooseStep, ticks } from "../../../fazm_memory/web/static/lib/time_axis.js";

test("a linear scale maps both ends to the edges and back", () => {
  const scale = linearScale(1000, 3000, 200);
  assert.equal(scale.x(1000), 0);
  assert.equal(scale.x(3000), 200);
  assert.equal(scale.x(2000), 100);
  assert.equal(scale.ms(50), 1500);
});

test("moments outside the range lie outside the width", () => {
  const scale = linearScale(1000, 3000, 200);
  assert.equal(scale.x(0), -100);
  assert.equal(scale.x(4000), 300);
});

test("a folded period has a fixed width", () => {
  for (const idle of [10_000, 10_000_000]) {
    const scale = timeScale(
      [
        { from: 0, to: 1000, folded: false },
        { from: 1000, to: 1000 + idle, folded: true },
        { from: 1000 + idle, to: 2000 + idle, folded: false },
      ],
      226,
      26,
    );
    assert.equal(scale.x(1000), 100);
    assert.equal(scale.x(1000 + idle), 126);
    assert.equal(Math.round(scale.x(2000 + idle)), 226);
  }
});

test("folds take at most half of the width", () => {
  const stretches = Array.from({ length: 21 }, (_, index) => ({
    from: index,
    to: index + 1,
    folded: index % 2 === 1,
  }));
  const scale = timeScale(stretches, 100, 26);
  const folded = scale.pieces.filter((piece) => piece.folded).reduce((sum, piece) => sum + piece.width, 0);
  assert.ok(folded <= 50.001);
});

test("time and pixels convert back and forth inside every piece", () => {
  const scale = timeScale([{ from: 0, to: 500, folded: false }, { from: 500, to: 9000, folded: true }, { from: 9000, to: 9900, folded: false }], 640); // prettier-ignore
  for (const ms of [0, 250, 499, 4000, 9000, 9450]) assert.ok(Math.abs(scale.ms(scale.x(ms)) - ms) < 1e-6);
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test("overlapping sessions are one active period", () => {
  const spans = [{ from: 50, to: 90 }, { from: 0, to: 60 }, { from: 100, to: 120 }]; // prettier-ignore
  assert.deepEqual(activePeriods(spans), [{ from: 0, to: 90 }, { from: 100, to: 120 }]); // prettier-ignore
});

test("idle time between sessions is folded except for a margin", () => {
  const spans = [{ from: 0, to: HOUR }, { from: 5 * HOUR, to: 6 * HOUR }]; // prettier-ignore
  assert.deepEqual(foldIdle(spans, 0, 6 * HOUR), [
    { from: 0, to: HOUR + 2 * MINUTE, folded: false },
    { from: HOUR + 2 * MINUTE, to: 5 * HOUR - 2 * MINUTE, folded: true },
    { from: 5 * HOUR - 2 * MINUTE, to: 6 * HOUR, folded: false },
  ]);
});

test("idle time inside a session is not folded", () => {
  assert.deepEqual(foldIdle([{ from: 0, to: 9 * HOUR }], 0, 9 * HOUR), [{ from: 0, to: 9 * HOUR, folded: false }]);
});

test("a short pause between sessions is not folded", () => {
  const spans = [{ from: 0, to: HOUR }, { from: HOUR + 10 * MINUTE, to: 2 * HOUR }]; // prettier-ignore
  assert.deepEqual(foldIdle(spans, 0, 2 * HOUR), [{ from: 0, to: 2 * HOUR, folded: false }]);
});

test("the periods cover the range without holes", () => {
  const spans = [{ from: 3 * HOUR, to: 4 * HOUR }, { from: 8 * HOUR, to: 8 * HOUR }, { from: 30 * HOUR, to: 31 * HOUR }]; // prettier-ignore
  const stretches = foldIdle(spans, HOUR, 24 * HOUR);
  assert.equal(stretches[0].from, HOUR);
  assert.equal(stretches.at(-1).to, 24 * HOUR);
  for (let index = 1; index < stretches.length; index += 1)
    assert.equal(stretches[index].from, stretches[index - 1].to);
});

test("without sessions nothing is folded", () => {
  assert.deepEqual(foldIdle([], 0, 9 * HOUR), [{ from: 0, to: 9 * HOUR, folded: false }]);
});

const utc = () => 0;

test("the step is the smallest whose labels do not overlap", () => {
  assert.equal(chooseStep(1000, 70), 2 * 60_000);
  assert.equal(chooseStep(10, 70), 1000);
});

test("a day of 900 pixels has a tick every two hours", () => {
  const marks = ticks(0, 24 * HOUR, 900, { offset: utc, apart: 64 });
  assert.deepEqual(
    marks.slice(0, 3).map((mark) => mark.label),
    ["00:00", "02:00", "04:00"],
  );
});

test("ticks are round in local time, even with an offset of half an hour", () => {
  const marks = ticks(0, 6 * HOUR, 480, { offset: () => 5.5 * HOUR });
  assert.equal(marks[0].label, "06:00");
  assert.equal(marks[0].ms, 0.5 * HOUR);
});

test("seconds are shown only for short steps", () => {
  assert.match(ticks(0, 60_000, 800, { offset: utc })[1].label, /^\d\d:\d\d:\d\d$/);
});

test("ticks of whole days show the date", () => {
  assert.equal(ticks(0, 30 * 24 * HOUR, 900, { offset: utc })[0].label, "1 Jan");
});

test("the number of ticks is bounded by the width", () => {
  for (const length of [1, 1000, 1e6, 1e9, 1e11, 1e13])
    assert.ok(ticks(0, length, 1200, { offset: utc }).length <= 400);
  assert.deepEqual(ticks(5, 5, 100), []);
});
