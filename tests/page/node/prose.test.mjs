import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks, spans } from "../../../fazm_memory/web/static/lib/prose.js";

test("paragraphs, headings and lists become blocks", () => {
  assert.deepEqual(blocks("# Plan\nFirst line\nsecond\n\n- one\n  more\n  - two\n3. three"), [
    { kind: "heading", text: "Plan" },
    { kind: "text", text: "First line\nsecond" },
    { kind: "item", text: "one\nmore", level: 0, mark: "•" },
    { kind: "item", text: "two", level: 1, mark: "•" },
    { kind: "item", text: "three", level: 0, mark: "3." },
  ]);
});

test("code and tables keep every character", () => {
  assert.deepEqual(
    blocks("```js\n# not a heading\n\n- x\n```\nafter\n| a | b |\n|---|---|").map(({ kind, text }) => [kind, text]),
    [
      ["code", "# not a heading\n\n- x"],
      ["text", "after"],
      ["code", "| a | b |\n|---|---|"],
    ],
  );
  assert.equal(blocks("```\n\nx")[0].text, "\nx"); // a fence that is never closed
});

test("no text is lost from a line", () => {
  const text = "Use `a*b` and **not** `c, or * d *";
  assert.deepEqual(spans(text), [
    { kind: "plain", text: "Use " },
    { kind: "code", text: "a*b" },
    { kind: "plain", text: " and " },
    { kind: "strong", text: "not" },
    { kind: "plain", text: " `c, or * d *" },
  ]);
});

test("many marks take no long time", () => {
  const begun = performance.now();
  spans("`*".repeat(50_000));
  blocks("#".repeat(100_000));
  blocks("| ".repeat(50_000));
  assert.ok(performance.now() - begun < 2000);
});
