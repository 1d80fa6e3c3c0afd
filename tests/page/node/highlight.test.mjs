import assert from "node:assert/strict";
import { test } from "node:test";
import { numbered, sideBySide, changedLines } from "../../../fazm_memory/web/static/lib/diff_rows.js";
import { highlight, languageOf } from "../../../fazm_memory/web/static/lib/highlight.js";

const pieces = (text, path, open) => highlight(text, languageOf(path), open).tokens.map(({ kind, text: t }) => [kind, t]);

test("words, strings, numbers and comments of a language are told apart", () => {
  assert.deepEqual(pieces('return "a // b" + 42 // sum', "main.go"), [
    ["word", "return"], ["", " "], ["string", '"a // b"'], ["", " + "], ["number", "42"], ["", " "], ["comment", "// sum"],
  ]); // prettier-ignore
});

test("a comment goes on in the next line until it ends", () => {
  const first = highlight("x /* begins", languageOf("a.ts"));
  assert.equal(first.open, "*/");
  const second = highlight("ends */ y", languageOf("a.ts"), first.open);
  assert.deepEqual(second.tokens.map(({ kind }) => kind), ["comment", ""]);
  assert.equal(second.open, "");
});

test("the text stays the same, whatever it holds", () => {
  for (const text of ["'unclosed \\", '"""doc', "<b>&amp;</b>", "", "é‮ 日本 // x", "a".repeat(3000)]) {
    for (const path of ["a.py", "a.go", "a.html", "a.sql", "Makefile", "noname"]) {
      assert.equal(pieces(text, path).map(([, t]) => t).join(""), text);
    }
  }
});

test("a replaced line stands beside the new one, with its own number", () => {
  const rows = numbered({ a: 4, b: 4, lines: [{ op: " ", text: "a" }, { op: "-", text: "b" }, { op: "+", text: "c" }, { op: "+", text: "d" }] });
  assert.deepEqual(rows.map(({ a, b }) => [a, b]), [[4, 4], [5, null], [null, 5], [null, 6]]); // prettier-ignore
  assert.deepEqual(sideBySide(rows).map(({ left, right }) => [left?.text, right?.text]), [["a", "a"], ["b", "c"], [undefined, "d"]]); // prettier-ignore
});

test("without known positions no line has a number", () => {
  const hunk = { a: null, b: null, lines: [{ op: "-", text: "b" }, { op: "+", text: "c" }] };
  assert.deepEqual(numbered(hunk).map(({ a, b }) => [a, b]), [[null, null], [null, null]]); // prettier-ignore
  assert.deepEqual(changedLines([hunk]), { added: 1, removed: 1 });
});
