import assert from "node:assert/strict";
import test from "node:test";
import {
  SEGMENT,
  atEdge,
  scrollTo,
  segmentFor,
  visible, sessionWindow, topOf } from "../../../fazm_memory/web/static/lib/virtual_list.js";

test("the number of rows in the document does not depend on the length of the list", () => {
  for (const count of [1000, 1_000_000]) {
    const { first, last } = visible(10_000, 600, 30, count);
    assert.ok(last - first <= 600 / 30 + 17);
    assert.ok(first <= 333 && last >= 353);
  }
});

test("the visible rows stay inside a short or empty list", () => {
  assert.deepEqual(visible(5000, 600, 30, 3), { first: 3, last: 3 });
  assert.deepEqual(visible(0, 600, 30, 0), { first: 0, last: 0 });
});

test("a list of a million rows is scrolled in segments", () => {
  const segment = segmentFor(1_000_000, 500_000);
  assert.equal(segment.count, SEGMENT);
  assert.ok(segment.base < 500_000 && segment.base + segment.count > 500_000);
  assert.deepEqual(segmentFor(1_000_000, 999_999), { base: 1_000_000 - SEGMENT, count: SEGMENT });
  assert.deepEqual(segmentFor(10, 5), { base: 0, count: 10 });
});

test("a segment moves before its end is reached, except at the ends of the list", () => {
  const middle = { base: 400_000, count: SEGMENT };
  assert.equal(atEdge(middle, 1_000_000, 5, 30), true);
  assert.equal(atEdge(middle, 1_000_000, 100_000, 100_030), false);
  assert.equal(atEdge({ base: 0, count: SEGMENT }, 1_000_000, 0, 30), false);
  assert.equal(atEdge({ base: 800_000, count: SEGMENT }, 1_000_000, SEGMENT - 30, SEGMENT), false);
});

test("scrolling to a row moves as little as possible", () => {
  assert.equal(scrollTo(5, 100, 300, 30), 100);
  assert.equal(scrollTo(1, 100, 300, 30), 30);
  assert.equal(scrollTo(50, 100, 300, 30), 1230);
  assert.equal(scrollTo(50, 0, 300, 30, true), 1365);
});

const HEIGHTS = { row: 48, head: 30 };

test("a short list is complete without space around it", () => {
  assert.deepEqual(sessionWindow([2, 3], HEIGHTS, 0, 600), { first: 0, last: 5, above: 0, below: 0 });
});

test("an empty list has no window", () => {
  assert.deepEqual(sessionWindow([], HEIGHTS, 0, 600), { first: 0, last: 0, above: 0, below: 0 });
});

test("at every scroll position the visible sessions are present and the heights add up", () => {
  const sizes = [3, 700, 1, 1, 40, 255];
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const whole = total * HEIGHTS.row + sizes.length * HEIGHTS.head;
  for (let top = 0; top <= whole - 600; top += 97) {
    const { first, last, above, below } = sessionWindow(sizes, HEIGHTS, top, 600);
    assert.ok(above <= top, `${top}: the space above ends before what is in sight`);
    assert.ok(whole - below >= top + 600, `${top}: the space below begins after it`);
    assert.ok(last - first <= 60, `${top}: ${last - first} are bounded`);
    let before = 0;
    const heads = sizes.filter((size) => {
      before += size;
      return before > first && before - size < last;
    }).length;
    assert.equal(above + heads * HEIGHTS.head + (last - first) * HEIGHTS.row + below, whole);
  }
});

test("a session starts below the earlier sessions and headings", () => {
  assert.equal(topOf([2, 3], HEIGHTS, 0), 30);
  assert.equal(topOf([2, 3], HEIGHTS, 2), 2 * 48 + 2 * 30);
});
