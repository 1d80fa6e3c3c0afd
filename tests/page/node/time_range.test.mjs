import assert from "node:assert/strict";
import test from "node:test";
import { MIN_LENGTH, contains, padded, pan, reveal, clamp, zoom } from "../../../fazm_memory/web/static/lib/time_range.js";

const day = { from: 0, to: 86_400_000 };

test("zooming keeps the moment under the pointer in place", () => {
  const span = { from: 10_000_000, to: 20_000_000 };
  const near = zoom(span, 0.5, 12_000_000, day);
  assert.equal(near.to - near.from, 5_000_000);
  assert.equal((12_000_000 - near.from) / (near.to - near.from), 0.2);
});

test("zooming out stops at the day, zooming in at two seconds", () => {
  assert.deepEqual(zoom({ from: 1000, to: 80_000_000 }, 100, 5000, day), day);
  const near = zoom({ from: 1000, to: 9000 }, 0.0001, 5000, day);
  assert.equal(near.to - near.from, MIN_LENGTH);
});

test("panning stops at the edge and keeps the length", () => {
  assert.deepEqual(pan({ from: 1000, to: 5000 }, -9000, day), { from: 0, to: 4000 });
  assert.deepEqual(pan({ from: 1000, to: 5000 }, 1e12, day), { from: day.to - 4000, to: day.to });
});

test("a range is clamped to shorter bounds", () => {
  assert.deepEqual(clamp({ from: -5, to: 100 }, { from: 10, to: 20 }), { from: 10, to: 20 });
});

test("a session of one event has a range", () => {
  const span = padded({ from: 50_000, to: 50_000 });
  assert.ok(span.to > span.from);
  assert.ok(contains(span, 50_000));
});

test("revealing a moment moves the range only if needed", () => {
  const span = { from: 100, to: 200 };
  assert.equal(reveal(span, 150), span);
  assert.ok(contains(reveal(span, 900), 900));
  assert.ok(contains(reveal(span, 3), 3));
});
