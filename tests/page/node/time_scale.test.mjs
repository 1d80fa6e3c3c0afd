import assert from "node:assert/strict";
import test from "node:test";
import { plainScale, timeScale } from "../../../fazm_memory/web/static/layout/time_scale.js";

test("a plain scale maps both ends to the edges, and back", () => {
  const scale = plainScale(1000, 3000, 200);
  assert.equal(scale.x(1000), 0);
  assert.equal(scale.x(3000), 200);
  assert.equal(scale.x(2000), 100);
  assert.equal(scale.ms(50), 1500);
});

test("what lies outside is drawn outside", () => {
  const scale = plainScale(1000, 3000, 200);
  assert.equal(scale.x(0), -100);
  assert.equal(scale.x(4000), 300);
});

test("a folded stretch keeps its width however long it was", () => {
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

test("folds never take more than half of the width", () => {
  const stretches = Array.from({ length: 21 }, (_, index) => ({
    from: index,
    to: index + 1,
    folded: index % 2 === 1,
  }));
  const scale = timeScale(stretches, 100, 26);
  const folded = scale.pieces.filter((piece) => piece.folded).reduce((sum, piece) => sum + piece.width, 0);
  assert.ok(folded <= 50.001);
});

test("pixels and moments are each other's inverse inside every piece", () => {
  const scale = timeScale([{ from: 0, to: 500, folded: false }, { from: 500, to: 9000, folded: true }, { from: 9000, to: 9900, folded: false }], 640); // prettier-ignore
  for (const ms of [0, 250, 499, 4000, 9000, 9450]) assert.ok(Math.abs(scale.ms(scale.x(ms)) - ms) < 1e-6);
});
