import assert from "node:assert/strict";
import { test } from "node:test";

import { oneAtATime } from "../../../fazm_memory/web/static/dom.js";

test("work asked for while it runs is done once more, and never twice at a time", async () => {
  const ends = [];
  let running = 0;
  const ask = oneAtATime(async () => {
    running += 1;
    assert.equal(running, 1);
    await new Promise((end) => ends.push(end));
    running -= 1;
  }, 0);
  const done = ask();
  void ask();
  void ask();
  ends[0]();
  while (ends.length < 2) await new Promise((next) => setTimeout(next));
  ends[1]();
  await done;
  assert.equal(ends.length, 2);
});
