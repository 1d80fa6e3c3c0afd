import assert from "node:assert/strict";
import { test } from "node:test";

import { ageText, freedText, kindLine, deletesAnything, deletedText } from "../../../fazm_memory/web/static/lib/retention_text.js";

const NOW = new Date(2026, 10, 16, 12).getTime();
const NOTHING = { events: 0, bytes: 0, sessions: 0, versions: 0, store_bytes: 9e6, by_kind: {} };
const SOME = { events: 1, bytes: 1.5e6, sessions: 1, versions: 2, store_bytes: 9e6, by_kind: { apps: { events: 1, bytes: 1.5e6 } } };

test("what a clean-up frees is given in events, versions and bytes", () => {
  assert.equal(
    freedText(SOME),
    "A clean-up today would free 1.5 MB of 9.0 MB: details of 1 event in 1 session and 2 old file versions.",
  );
  assert.equal(deletedText({ ...SOME, versions: 0 }), "details of 1 event in 1 session");
  assert.match(freedText(NOTHING), /free nothing/);
});

test("file versions alone count as deleted content", () => {
  assert.equal(deletesAnything({ ...NOTHING, versions: 1 }), true);
  assert.equal(deletesAnything(NOTHING), false);
  assert.match(freedText({ ...NOTHING, versions: 1 }), /1 old file version/);
});

test("a kind says since when it is kept and what will be deleted", () => {
  assert.equal(kindLine("apps", 60, SOME, NOW), "kept since 17 September · 1 event, 1.5 MB to delete");
  assert.equal(kindLine("actions", 365, SOME, NOW), "kept since 16 November 2025");
  assert.equal(kindLine("prompts", null, SOME, NOW), "kept forever");
  assert.equal(kindLine("versions", 1, SOME, NOW), "kept since Yesterday · 2 versions to delete");
  assert.equal(kindLine("apps", 60, null, NOW), "kept since 17 September");
  assert.equal(ageText(1), "1 day");
});
