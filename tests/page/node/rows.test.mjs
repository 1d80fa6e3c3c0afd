import assert from "node:assert/strict";
import test from "node:test";
import {
  SEGMENT,
  atEdge,
  pagesOf,
  scrollTo,
  segmentFor,
  visible,
} from "../../../fazm_memory/web/static/layout/rows.js";

test("as many rows are in the document as fit, whatever the list holds", () => {
  for (const count of [1000, 1_000_000]) {
    const { first, last } = visible(10_000, 600, 30, count);
    assert.ok(last - first <= 600 / 30 + 17);
    assert.ok(first <= 333 && last >= 353);
  }
});

test("the window of rows stays inside a short or empty list", () => {
  assert.deepEqual(visible(5000, 600, 30, 3), { first: 3, last: 3 });
  assert.deepEqual(visible(0, 600, 30, 0), { first: 0, last: 0 });
});

test("a list of a million rows is scrolled in segments every browser can bear", () => {
  const segment = segmentFor(1_000_000, 500_000);
  assert.equal(segment.count, SEGMENT);
  assert.ok(segment.base < 500_000 && segment.base + segment.count > 500_000);
  assert.deepEqual(segmentFor(1_000_000, 999_999), { base: 1_000_000 - SEGMENT, count: SEGMENT });
  assert.deepEqual(segmentFor(10, 5), { base: 0, count: 10 });
});

test("a segment moves on before its end is reached, and rests at the list's own ends", () => {
  const middle = { base: 400_000, count: SEGMENT };
  assert.equal(atEdge(middle, 1_000_000, 5, 30), true);
  assert.equal(atEdge(middle, 1_000_000, 100_000, 100_030), false);
  assert.equal(atEdge({ base: 0, count: SEGMENT }, 1_000_000, 0, 30), false);
  assert.equal(atEdge({ base: 800_000, count: SEGMENT }, 1_000_000, SEGMENT - 30, SEGMENT), false);
});

test("pages are those that the rows touch", () => {
  assert.deepEqual(pagesOf(95, 205, 100), [0, 1, 2]);
  assert.deepEqual(pagesOf(100, 200, 100), [1]);
  assert.deepEqual(pagesOf(5, 5, 100), [0]);
});

test("scrolling to a row moves as little as it can", () => {
  assert.equal(scrollTo(5, 100, 300, 30), 100);
  assert.equal(scrollTo(1, 100, 300, 30), 30);
  assert.equal(scrollTo(50, 100, 300, 30), 1230);
  assert.equal(scrollTo(50, 0, 300, 30, true), 1365);
});
