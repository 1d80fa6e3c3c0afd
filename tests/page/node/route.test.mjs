import assert from "node:assert/strict";
import test from "node:test";
import { dayHash, readRoute, sessionHash } from "../../../fazm_memory/web/static/layout/route.js";

test("a link to a moment of a session reads back as it was written", () => {
  for (const [session, seq] of [
    ["9f3a", 0],
    ["a/b@c ü", 17],
    ["x", null],
  ]) {
    const route = readRoute(sessionHash(session, seq));
    assert.equal(route.at, "timeline");
    assert.equal(route.session, session);
    assert.equal(route.seq, seq);
  }
});

test("a position that is no position is now", () => {
  assert.equal(readRoute("#/s/abc@nonsense").seq, null);
  assert.equal(readRoute("#/s/abc@-4").seq, null);
  assert.equal(readRoute("#/s/abc@1e99").seq, null);
});

test("days and screens have addresses, with parameters", () => {
  assert.equal(readRoute(dayHash("2026-11-16")).day, "2026-11-16");
  assert.equal(readRoute("#/day/tomorrow").day, null);
  const compare = readRoute("#/compare?a=x%402&b=y");
  assert.equal(compare.view, "compare");
  assert.deepEqual(compare.params, { a: "x@2", b: "y" });
});

test("an empty or broken address is the timeline", () => {
  for (const hash of ["", "#", "#/", "#/s/", "#/s/%E0%A4%A"]) assert.equal(readRoute(hash).at, "timeline");
});
