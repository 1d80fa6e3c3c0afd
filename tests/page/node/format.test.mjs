import assert from "node:assert/strict";
import test from "node:test";
import {
  capitalize,
  plural,
  duration,
  provenanceText,
  relativePath,
  kindName,
  markLabel,
  outcomeName,
  rowMarks,
  toSentence,
  shortPath,
  byteSize,
} from "../../../fazm_memory/web/static/lib/format.js";

test("durations use a fitting unit", () => {
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

test("counts have a plural and thousands separators", () => {
  assert.equal(plural(1, "event"), "1 event");
  assert.equal(plural(0, "event"), "0 events");
  assert.equal(plural(1_234_567, "event"), "1,234,567 events");
});

test("sizes and paths are short", () => {
  assert.deepEqual([1, 1500, 25_000, 3_400_000, 5e9].map(byteSize), ["1 byte", "1.5 KB", "25 KB", "3.4 MB", "5.0 GB"]);
  assert.equal(shortPath("/Users/a/Scans/2026/x.pdf"), "…/2026/x.pdf");
  assert.equal(shortPath("/Users/a"), "/Users/a");
  assert.equal(shortPath("/Users/a/Scans", 1), "Scans");
  assert.equal(shortPath(null), "");
});

test("a path inside the folder becomes relative", () => {
  assert.equal(relativePath("/a/site/src/x.ts", "/a/site"), "src/x.ts");
  assert.equal(relativePath("/a/sites/x.ts", "/a/site"), "/a/sites/x.ts");
  assert.equal(relativePath("/a/site", "/a/site/"), "/a/site");
  assert.equal(relativePath(null, "/a"), "");
});

test("unknown kinds, outcomes and marks are shown as they are or omitted", () => {
  assert.equal(kindName("evicted"), "Compaction");
  assert.equal(kindName("brand.new"), "brand.new");
  assert.equal(outcomeName("timeout"), "timed out");
  assert.equal(markLabel("nonsense"), null);
});

test("a text becomes a sentence; a command at its start is not capitalized", () => {
  assert.equal(capitalize("accessibility"), "Accessibility");
  assert.equal(toSentence("there is no session 'ff'"), "There is no session 'ff'.");
  assert.equal(toSentence("Is it so?"), "Is it so?");
  assert.equal(toSentence("`fazm-memory sessions` lists them"), "`fazm-memory sessions` lists them.");
  assert.equal(capitalize(""), "");
});

test("provenance says who, how and how far it is trusted", () => {
  assert.equal(
    provenanceText({ actor: "person", source: "transcript", trust: "user" }),
    "By you · from the transcript · trust: user",
  );
  assert.equal(provenanceText({ actor: "bot", source: "fax", trust: "web" }), "By bot · from fax · trust: web");
});

test("a rewind that was taken back is undone, another event is rewound", () => {
  const labels = (row) => rowMarks(row).map(({ label }) => label);
  assert.deepEqual(labels({ kind: "rewind", marks: ["rewind", "rewound"] }), ["rewind", "undone"]);
  assert.deepEqual(labels({ kind: "action", marks: ["rewound", "nonsense"] }), ["rewound"]);
  assert.deepEqual(labels({ kind: "prompt" }), []);
});
