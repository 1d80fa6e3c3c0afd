import assert from "node:assert/strict";
import test from "node:test";
import { busy, foldIdle } from "../../../fazm_memory/web/static/layout/idle.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test("sessions that overlap are one busy stretch", () => {
  const spans = [{ from: 50, to: 90 }, { from: 0, to: 60 }, { from: 100, to: 120 }]; // prettier-ignore
  assert.deepEqual(busy(spans), [{ from: 0, to: 90 }, { from: 100, to: 120 }]); // prettier-ignore
});

test("idle time between sessions is folded, but for a margin", () => {
  const spans = [{ from: 0, to: HOUR }, { from: 5 * HOUR, to: 6 * HOUR }]; // prettier-ignore
  assert.deepEqual(foldIdle(spans, 0, 6 * HOUR), [
    { from: 0, to: HOUR + 2 * MINUTE, folded: false },
    { from: HOUR + 2 * MINUTE, to: 5 * HOUR - 2 * MINUTE, folded: true },
    { from: 5 * HOUR - 2 * MINUTE, to: 6 * HOUR, folded: false },
  ]);
});

test("a long silence inside one session is shown as long as it was", () => {
  assert.deepEqual(foldIdle([{ from: 0, to: 9 * HOUR }], 0, 9 * HOUR), [{ from: 0, to: 9 * HOUR, folded: false }]);
});

test("a short pause between sessions is not folded", () => {
  const spans = [{ from: 0, to: HOUR }, { from: HOUR + 10 * MINUTE, to: 2 * HOUR }]; // prettier-ignore
  assert.deepEqual(foldIdle(spans, 0, 2 * HOUR), [{ from: 0, to: 2 * HOUR, folded: false }]);
});

test("the stretches always touch, and cover exactly what is looked at", () => {
  const spans = [{ from: 3 * HOUR, to: 4 * HOUR }, { from: 8 * HOUR, to: 8 * HOUR }, { from: 30 * HOUR, to: 31 * HOUR }]; // prettier-ignore
  const stretches = foldIdle(spans, HOUR, 24 * HOUR);
  assert.equal(stretches[0].from, HOUR);
  assert.equal(stretches.at(-1).to, 24 * HOUR);
  for (let index = 1; index < stretches.length; index += 1)
    assert.equal(stretches[index].from, stretches[index - 1].to);
});

test("without any session nothing is folded", () => {
  assert.deepEqual(foldIdle([], 0, 9 * HOUR), [{ from: 0, to: 9 * HOUR, folded: false }]);
});
