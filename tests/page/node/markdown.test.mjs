import assert from "node:assert/strict";
import test from "node:test";
import { eventMarkdown, fence, inline } from "../../../fazm_memory/web/static/lib/markdown.js";

test("recorded text cannot end its fence", () => {
  const hostile = "```\n# owned\n````\n";
  const fenced = fence(hostile);
  const ticks = fenced.match(/^`+/)[0];
  assert.equal(ticks.length, 5);
  assert.ok(fenced.endsWith(`\n${ticks}`));
  assert.equal(fenced.split("\n").filter((line) => line.startsWith(ticks)).length, 2);
});

test("recorded text in a line is escaped", () => {
  assert.equal(inline("![x](http://a)\n<b>*hi*"), "\\!\\[x\\]\\(http://a\\) \\<b\\>\\*hi\\*");
});

test("an action is copied with input, output and link", () => {
  const text = eventMarkdown(
    {
      row: { seq: 17, kind: "action", title: "Bash", target: "mv a b", outcome: "error", duration_ms: 40 },
      event: { at: "2026-03-04T14:32:00+01:00", payload: {} },
      ms: 1_772_632_800_000,
      input: { command: "mv a b" },
      output: "",
      error: "no such file",
      files: [{ path: "/x/a_b.md", change: "renamed" }],
      retry: { diff: "-mv a b\n+mv -n a b" },
    },
    "http://127.0.0.1:1/#/s/9f@17",
  );
  assert.match(text, /^### Action · Bash · mv a b\n/);
  assert.match(text, /failed · 40 ms · position 17/);
  assert.match(text, /\*\*Error\*\*\n\n```\nno such file\n```/);
  assert.match(text, /\*\*Input\*\*\n\n```json\n\{\n {2}"command": "mv a b"\n\}\n```/);
  assert.match(text, /```diff\n-mv a b\n\+mv -n a b\n```/);
  assert.match(text, /- renamed: \/x\/a\\_b\\\.md/);
  assert.doesNotMatch(text, /\*\*Output\*\*/);
  assert.match(text, /\[Open in Fazm Memory\]\(<http:\/\/127\.0\.0\.1:1\/#\/s\/9f@17>\)/);
});
