import assert from "node:assert/strict";
import { test } from "node:test";

import { ageWords, givesBack, kindLine, loses, whatGoes } from "../../../fazm_memory/web/static/layout/keeping_words.js";

const NOW = new Date(2026, 10, 16, 12).getTime();
const NOTHING = { events: 0, bytes: 0, sessions: 0, versions: 0, store_bytes: 9e6, by_kind: {} };
const SOME = { events: 1, bytes: 1.5e6, sessions: 1, versions: 2, store_bytes: 9e6, by_kind: { apps: { events: 1, bytes: 1.5e6 } } };

test("what a clean-up gives back is said in events, versions and room, one as one", () => {
  assert.equal(
    givesBack(SOME),
    "A clean-up today would give back 1.5 MB of 9.0 MB: details of 1 event of 1 session, and the contents of 2 old versions of files.",
  );
  assert.equal(whatGoes({ ...SOME, versions: 0 }), "details of 1 event of 1 session");
  assert.match(givesBack(NOTHING), /give back nothing/);
});

test("versions alone are a loss too", () => {
  assert.equal(loses({ ...NOTHING, versions: 1 }), true);
  assert.equal(loses(NOTHING), false);
  assert.match(givesBack({ ...NOTHING, versions: 1 }), /contents of 1 old version of files/);
});

test("a kind says back to which day it is kept, and what of it goes", () => {
  assert.equal(kindLine("apps", 60, SOME, NOW), "kept back to 17 September · 1 event, 1.5 MB would go today");
  assert.equal(kindLine("actions", 365, SOME, NOW), "kept back to 16 November 2025");
  assert.equal(kindLine("prompts", null, SOME, NOW), "kept for good");
  assert.equal(kindLine("versions", 1, SOME, NOW), "kept back to Yesterday · 2 versions would go today");
  assert.equal(kindLine("apps", 60, null, NOW), "kept back to 17 September");
  assert.equal(ageWords(1), "1 day");
});
