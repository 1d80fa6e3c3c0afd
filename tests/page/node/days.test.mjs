import assert from "node:assert/strict";
import test from "node:test";
import { groupByDay, dayBounds, dayName, dayOf, addDays } from "../../../fazm_memory/web/static/lib/days.js";

test("days have the names people use", () => {
  const today = "2026-11-16";
  assert.equal(dayName("2026-11-16", today), "Today");
  assert.equal(dayName("2026-11-15", today), "Yesterday");
  assert.equal(dayName("2026-11-12", today), "Thursday");
  assert.equal(dayName("2026-11-09", today), "9 November");
  assert.equal(dayName("2025-12-31", today), "31 December 2025");
});

test("a moment lies within the bounds of its day", () => {
  const ms = Date.UTC(2026, 9, 25, 12);
  const { from, to } = dayBounds(dayOf(ms));
  assert.ok(from <= ms && ms < to);
  assert.equal(dayOf(from), dayOf(to - 1));
});

test("adding a day crosses the end of a month", () => {
  assert.equal(addDays("2026-02-28", 1), "2026-03-01");
  assert.equal(addDays("2026-01-01", -1), "2025-12-31");
});

test("sessions are grouped by day in their order", () => {
  const items = [{ day: "b", id: 1 }, { day: "b", id: 2 }, { day: "a", id: 3 }]; // prettier-ignore
  assert.deepEqual(groupByDay(items).map((group) => [group.day, group.items.length]), [["b", 2], ["a", 1]]); // prettier-ignore
});
