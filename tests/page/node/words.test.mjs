import assert from "node:assert/strict";
import test from "node:test";
import {
  capital,
  counted,
  duration,
  inside,
  kindName,
  markWord,
  outcomeWord,
  sentence,
  shortPath,
  size,
} from "../../../fazm_memory/web/static/layout/words.js";

test("lengths are said in the unit that fits", () => {
  assert.deepEqual([0, 40, 1500, 42_000, 61_000, 600_000, 5_400_000, 200 * 3_600_000].map(duration), [
    "0 ms",
    "40 ms",
    "1.5 s",
    "42 s",
    "1 min 1 s",
    "10 min",
    "1 h 30 min",
    "8 days",
  ]);
  assert.equal(duration(null), "");
});

test("one is one, more are more, and thousands are set apart", () => {
  assert.equal(counted(1, "event"), "1 event");
  assert.equal(counted(0, "event"), "0 events");
  assert.equal(counted(1_234_567, "event"), "1,234,567 events");
});

test("sizes and paths are short", () => {
  assert.deepEqual([1, 1500, 25_000, 3_400_000, 5e9].map(size), ["1 byte", "1.5 KB", "25 KB", "3.4 MB", "5.0 GB"]);
  assert.equal(shortPath("/Users/a/Scans/2026/x.pdf"), "…/2026/x.pdf");
  assert.equal(shortPath("/Users/a"), "/Users/a");
  assert.equal(shortPath("/Users/a/Scans", 1), "Scans");
  assert.equal(shortPath(null), "");
});

test("a path inside the session's folder is said from there", () => {
  assert.equal(inside("/a/site/src/x.ts", "/a/site"), "src/x.ts");
  assert.equal(inside("/a/sites/x.ts", "/a/site"), "/a/sites/x.ts");
  assert.equal(inside("/a/site", "/a/site/"), "/a/site");
  assert.equal(inside(null, "/a"), "");
});

test("kinds, outcomes and marks that are not known are shown as they came or left out", () => {
  assert.equal(kindName("evicted"), "Compaction");
  assert.equal(kindName("brand.new"), "brand.new");
  assert.equal(outcomeWord("timeout"), "timed out");
  assert.equal(markWord("nonsense"), null);
});

test("what was said elsewhere stands by itself as a sentence; a command it begins with keeps its letters", () => {
  assert.equal(capital("accessibility"), "Accessibility");
  assert.equal(sentence("there is no session 'ff'"), "There is no session 'ff'.");
  assert.equal(sentence("Is it so?"), "Is it so?");
  assert.equal(sentence("`fazm-memory sessions` lists them"), "`fazm-memory sessions` lists them.");
  assert.equal(capital(""), "");
});
