import assert from "node:assert/strict";
import test from "node:test";
import { dayHash, parseRoute, sessionHash } from "../../../fazm_memory/web/static/lib/route.js";

test("a link to an event parses back", () => {
  for (const [session, seq] of [
    ["9f3a", 0],
    ["a/b@c ü", 17],
    ["x", null],
  ]) {
    const route = parseRoute(sessionHash(session, seq));
    assert.equal(route.screen, "");
    assert.equal(route.session, session);
    assert.equal(route.seq, seq);
  }
});

test("a turn, a time or an event names a moment", () => {
  for (const moment of ["turn 3", "yesterday 16:00", "2026-11-15T11:40:04+01:00", "event 11", "1e99"]) {
    for (const text of [moment, encodeURIComponent(moment)]) {
      const route = parseRoute(`#/s/a%40b@${text}?then`);
      assert.deepEqual([route.session, route.moment, route.seq, route.then], ["a@b", moment, null, true]);
    }
  }
  assert.equal(parseRoute("#/s/abc@17").moment, null);
});

test("an invalid position is no position", () => {
  assert.equal(parseRoute("#/s/abc@nonsense").seq, null);
  assert.equal(parseRoute("#/s/abc@-4").seq, null);
  assert.equal(parseRoute("#/s/abc@1e99").seq, null);
});

test("days and screens have routes with parameters", () => {
  assert.equal(parseRoute(dayHash("2026-11-16")).day, "2026-11-16");
  assert.equal(parseRoute("#/day/tomorrow").day, null);
  const compare = parseRoute("#/compare?a=x%402&b=y");
  assert.equal(compare.screen, "compare");
  assert.deepEqual(compare.params, { a: "x@2", b: "y" });
});

test("an empty or broken route is the timeline", () => {
  for (const hash of ["", "#", "#/", "#/s/", "#/s/%E0%A4%A"]) assert.equal(parseRoute(hash).screen, "");
});
