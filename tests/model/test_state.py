"""The state as a value: kept as bytes, told as JSON."""

from __future__ import annotations

import json
from dataclasses import fields

from fazm_memory.model import payloads
from fazm_memory.model.fold import fold, initial
from fazm_memory.model.inheritance import inherited
from fazm_memory.model.state import BOUNDS, SessionState, from_snapshot, to_json, to_snapshot
from tests.scribe import event, events

LIVED = events(
    payloads.SessionOpen("fazm", workspace="/w", title="Sort"),
    payloads.Prompt("go"),
    payloads.Action("mv", files=(payloads.FileTouch("/w/b", "renamed", "/w/a"),)),
    payloads.Action("rm", outcome="denied", error="no"),
    payloads.ActionStart("Bash", call_id="c"),
    payloads.Decision("keep", "asked"),
    payloads.Fact("k", {"deep": [1, None]}),
    payloads.Pending("p", "pay"),
    payloads.Handoff("q", "human", "which?"),
    payloads.Handoff("r", "agent", "what?"),
    payloads.HandoffAnswer("r", {"it": "is"}),
    payloads.Seen("/w", ("a",)),
    payloads.AppSpan("Mail"),
    payloads.Evicted(("plan",)),
    payloads.Gap("asleep", "a", "b"),
    payloads.Usage(1, 2),
)

PROMISED = {
    "session", "at", "lifecycle", "turn", "tools_used", "files_modified", "files_read", "folders", "apps",
    "decisions_made", "pending_actions", "facts", "errors", "evicted_keys", "trust", "budget",
}  # fmt: skip


def test_a_state_comes_back_from_its_snapshot_with_every_field() -> None:
    page = event(payloads.Action("WebFetch"), len(LIVED), trust="web")
    state = fold(initial("s"), [*LIVED, page])
    assert from_snapshot(to_snapshot(state)) == state
    forked = inherited(state, "child")
    assert from_snapshot(to_snapshot(forked)) == forked
    empty = [one.name for one in fields(SessionState) if not getattr(state, one.name)]
    assert empty == ["turn", "files_read", "omitted"]


def test_the_json_of_a_state_has_all_that_the_contract_promises() -> None:
    told = to_json(fold(initial("s"), LIVED))
    assert set(told) >= PROMISED
    assert json.loads(json.dumps(told)) == told


def test_the_json_of_nothing_is_said_too() -> None:
    told = to_json(initial("s"))
    assert told["last_at"] is None
    assert told["lifecycle"] == "open"
    assert json.loads(json.dumps(told)) == told


def test_moments_are_told_as_iso_8601_with_offset() -> None:
    told = to_json(fold(initial("s"), LIVED))
    shown = [told["last_at"], told["decisions_made"][0]["at"], told["running"][0]["at"]]
    assert all(one[10] == "T" and one[-6] in "+-" for one in shown)


def test_the_most_used_tool_is_told_first() -> None:
    state = fold(initial("s"), events(*(payloads.Action(tool) for tool in "abbcc")))
    assert list(to_json(state)["tools_used"].items()) == [("b", 2), ("c", 2), ("a", 1)]


def test_every_table_that_can_grow_has_a_bound() -> None:
    fixed = {"budget", "counts", "omitted"}
    tables = {one.name for one in fields(SessionState) if one.default_factory is dict}
    assert tables - fixed == set(BOUNDS)
