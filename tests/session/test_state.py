"""The state as a value: kept as bytes, told as JSON."""

from __future__ import annotations

import json
from dataclasses import fields

from fazm_memory.events import event as payloads
from fazm_memory.session.reducer import fold, fork_state, initial_state
from fazm_memory.session.state import BOUNDS, SessionState, from_snapshot, state_to_json, to_snapshot
from tests.scribe import event, events, move

LIVED = events(
    payloads.SessionOpen("fazm", workspace="/w", title="Sort"),
    payloads.Prompt("go"),
    payloads.Action("mv", files=(payloads.FileTouch("/w/b", "renamed", "/w/a"),)),
    payloads.Action("rm", outcome="error", error="no"),
    payloads.Todos((payloads.TodoItem("step"),)),
    payloads.Plan("Sort", text="# Sort\nall"),
    payloads.Branch("main"),
    payloads.Prompt("Summarize in notes.md where we are with SORT-1"),
    payloads.Action(
        "Write", {"file_path": "/w/notes.md"}, files=(payloads.FileTouch("/w/notes.md", "created"),)
    ),
    payloads.Action("Bash", {"command": "git add b"}),
    payloads.Action("Bash", {"command": "git commit -m done"}, "[main 1234567] done"),
    payloads.Action("Bash", {"command": "git add b && pytest"}),
    payloads.Action("Bash", {"command": "gh pr view 3"}),
    payloads.Action("Write", files=(payloads.FileTouch("/w/c", "created"),)),
    payloads.Action("Bash", {"command": "git stash"}),
    payloads.Action("Bash", {"command": "git status"}, "On branch main\n\tmodified:   b\n"),
    payloads.Action("Write", files=(payloads.FileTouch("/w/d", "created"),)),
    payloads.Message("Phase 1 is done.\n\nNext steps:\n- Sort the rest"),
    move("close", "exit"),
    payloads.ActionStart("Bash", call_id="c"),
    payloads.Action("Bash", retry_of=1),
    payloads.Message("Shall I go on?"),
    payloads.Decision("keep", "asked"),
    payloads.Fact("k", {"deep": [1, None]}),
    payloads.Pending("p", "pay"),
    payloads.Handoff("q", "human", "which?"),
    payloads.Handoff("r", "agent", "what?"),
    payloads.HandoffAnswer("r", {"it": "is"}),
    payloads.FolderListing("/w", ("a",)),
    payloads.AppSpan("Mail"),
    payloads.Evicted(("plan",)),
    payloads.Gap("asleep", "a", "b"),
    payloads.Usage(1, 2),
    payloads.Artifact("steps", items=(payloads.ArtifactItem("x"),)),
)

PROMISED = {
    "session", "at", "lifecycle", "turn", "tools_used", "files_modified", "files_read", "folders", "apps",
    "decisions_made", "pending_actions", "facts", "errors", "evicted_keys", "trust", "budget", "goal", "plan",
    "todos", "questions", "branch", "branches", "commits", "pull_requests", "references", "checks",
    "uncommitted", "notes", "ended", "retries", "data_sources", "artifacts",
}  # fmt: skip


def test_a_state_comes_back_from_its_snapshot_with_every_field() -> None:
    page = event(payloads.Action("WebFetch", agent_id="a"), len(LIVED), trust="web")
    state = fold(initial_state("s"), [*LIVED, page])
    assert from_snapshot(to_snapshot(state)) == state
    forked = fork_state(state, "child")
    assert from_snapshot(to_snapshot(forked)) == forked
    empty = [one.name for one in fields(SessionState) if not getattr(state, one.name)]
    assert empty == ["turn", "files_read", "passed_over", "unanswered", "noting", "turn_starts", "omitted"]


def test_the_json_of_a_state_has_all_that_the_contract_promises() -> None:
    result = state_to_json(fold(initial_state("s"), LIVED))
    assert set(result) >= PROMISED
    assert json.loads(json.dumps(result)) == result


def test_the_json_of_nothing_is_reported_too() -> None:
    result = state_to_json(initial_state("s"))
    assert result["last_at"] is None
    assert result["lifecycle"] == "open"
    assert json.loads(json.dumps(result)) == result


def test_moments_are_reported_as_iso_8601_with_offset() -> None:
    result = state_to_json(fold(initial_state("s"), LIVED))
    shown = [result["last_at"], result["decisions_made"][0]["at"], result["running"][0]["at"]]
    assert all(one[10] == "T" and one[-6] in "+-" for one in shown)


def test_the_most_used_tool_is_reported_first() -> None:
    state = fold(initial_state("s"), events(*(payloads.Action(tool) for tool in "abbcc")))
    assert list(state_to_json(state)["tools_used"].items()) == [("b", 2), ("c", 2), ("a", 1)]


def test_every_table_that_can_grow_has_a_bound() -> None:
    fixed = {"budget", "counts", "omitted"}
    tables = {one.name for one in fields(SessionState) if one.default_factory is dict}
    assert tables - fixed == set(BOUNDS)
