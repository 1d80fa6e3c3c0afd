import assert from "node:assert/strict";
import { test } from "node:test";

import { sessionWindow, topOf } from "../../../fazm_memory/web/static/layout/session_window.js";

const HEIGHTS = { row: 48, head: 30 };

test("a short list is all there, with no space around it", () => {
  assert.deepEqual(sessionWindow([2, 3], HEIGHTS, 0, 600), { first: 0, last: 5, above: 0, below: 0 });
});

test("an empty list has no window", () => {
  assert.deepEqual(sessionWindow([], HEIGHTS, 0, 600), { first: 0, last: 0, above: 0, below: 0 });
});

test("wherever a long list is scrolled, what is in sight is there and all heights add up", () => {
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

test("a session begins after those before it and the names of their days", () => {
  assert.equal(topOf([2, 3], HEIGHTS, 0), 30);
  assert.equal(topOf([2, 3], HEIGHTS, 2), 2 * 48 + 2 * 30);
});
