import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, fieldsOf, InvalidAnswer } from "../../../fazm_memory/web/static/lib/answer_form.js";

const SCHEMA = {
  type: "object",
  properties: {
    push: { type: "boolean", title: "Push the tag" },
    name: { type: "string", enum: ["2.4.1", "2.5.0"] },
    count: { type: "integer" },
    price: { type: "number" },
    tags: { type: "array", description: "as many as you like" },
    note: { type: "string" },
  },
  required: ["push", "name"],
};

test("each property of the schema becomes a field", () => {
  const kinds = fieldsOf(SCHEMA).map((field) => [field.name, field.label, field.type, field.required]);
  assert.deepEqual(kinds, [
    ["push", "Push the tag", "boolean", true],
    ["name", "name", "choice", true],
    ["count", "count", "integer", false],
    ["price", "price", "number", false],
    ["tags", "tags", "json", false],
    ["note", "note", "text", false],
  ]);
});

test("without a schema the answer is a text", () => {
  const fields = fieldsOf(null);
  assert.equal(answerOf(fields, { "": " in March " }), "in March");
});

test("a schema of a single value gives that value", () => {
  assert.equal(answerOf(fieldsOf({ type: "integer" }), { "": "7" }), 7);
  assert.equal(answerOf(fieldsOf({ enum: [1, "two"] }), { "": "1" }), 1);
  assert.equal(answerOf(fieldsOf({ type: "boolean" }), { "": true }), true);
});

test("an answer has the types of its schema and omits empty fields", () => {
  const values = { push: true, name: '"2.5.0"', count: "3", price: "1.5", tags: '["a"]', note: "" };
  assert.deepEqual(answerOf(fieldsOf(SCHEMA), values), { push: true, name: "2.5.0", count: 3, price: 1.5, tags: ["a"] });
});

for (const [what, values, message] of [
  ["a required field that is empty", { push: false, name: "" }, /“name” is required/],
  ["a fraction where a whole number belongs", { name: '"2.5.0"', count: "1.5" }, /whole number/],
  ["text where a number belongs", { name: '"2.5.0"', price: "many" }, /a number/],
  ["text where JSON belongs", { name: '"2.5.0"', tags: "[a" }, /must be JSON/],
]) {
  test(`${what} is refused`, () => {
    assert.throws(() => answerOf(fieldsOf(SCHEMA), values), (error) => error instanceof InvalidAnswer && message.test(error.message));
  });
}
