"""What changed between two states, and why."""

from __future__ import annotations

from typing import Any

from fazm_memory.events import event as payloads
from fazm_memory.events.event import Action, Decision, Fact, FileTouch, Pending, PendingDone, Prompt
from fazm_memory.session.diff import MAX_CAUSES, causes, compare
from fazm_memory.session.reducer import fold, fork_state, initial_state
from tests.scribe import event, events, move


def between(first: list[Any], then: list[Any]) -> dict[str, Any]:
    history = events(*first, *then)
    before = fold(initial_state("s"), history[: len(first)])
    return compare(before, fold(before, history[len(first) :]), history[len(first) :])


def test_what_came_is_added_what_went_is_removed_what_moved_is_changed() -> None:
    results = between(
        [Pending("1", "call"), Fact("k", "old"), Action("Bash")],
        [
            PendingDone("1"),
            Pending("2", "pay"),
            Fact("k", "new"),
            Fact("l", 1),
            Action("Bash"),
            Action("Read"),
        ],
    )
    assert [one["id"] for one in results["added"]["pending_actions"]] == ["2"]
    assert [one["id"] for one in results["removed"]["pending_actions"]] == ["1"]
    assert results["changed"]["tools_used"] == {"Bash": {"from": 1, "to": 2}}
    assert results["added"]["tools_used"] == {"Read": 1}
    assert results["changed"]["facts"]["k"]["from"]["value"] == "old"
    assert results["changed"]["facts"]["k"]["to"]["value"] == "new"
    assert list(results["added"]["facts"]) == ["l"]
    assert (results["from"], results["to"]) == (3, 9)


def test_a_file_changed_again_tells_both_states_of_it() -> None:
    result = between(
        [Action("w", files=(FileTouch("/a", "modified"),))],
        [Action("rm", files=(FileTouch("/a", "deleted"),))],
    )
    (changed,) = result["changed"]["files_modified"]
    assert (changed["key"], changed["from"]["change"], changed["to"]["change"]) == (
        "/a",
        "modified",
        "deleted",
    )


def test_lists_of_names_are_compared_as_sets() -> None:
    results = between([payloads.Evicted(("a", "b"))], [payloads.Evicted(("a", "c"))])
    assert results["added"]["evicted_keys"] == ["c"]
    assert "evicted_keys" not in results["removed"]


def test_a_lifecycle_move_is_reported_from_and_to() -> None:
    result = between([Prompt("x")], [move("pause", "lunch")])
    assert result["changed"]["lifecycle"] == {"from": "active", "to": "paused"}


def test_what_moves_with_every_event_is_not_a_change() -> None:
    result = between([Prompt("x")], [payloads.Message("y")])
    assert (result["added"], result["removed"], result["changed"], result["because"]) == ({}, {}, {}, [])


def test_looking_back_turns_added_into_removed() -> None:
    before = fold(initial_state("s"), events(Prompt("x")))
    after = fold(before, [event(Pending("1", "call"), 1)])
    assert (
        compare(before, after)["added"]["pending_actions"]
        == compare(after, before)["removed"]["pending_actions"]
    )


def test_decisions_and_failures_are_causes_with_their_reasons() -> None:
    results = causes(
        events(
            Decision("rename", "the user asked"),
            Action("mv", outcome="error", error="exists"),
            Action("mv", retry_of=1, files=(FileTouch("/b", "renamed", "/a"),)),
            payloads.FileChange("/c", "deleted", by="person"),
            Prompt("now the photos"),
        )
    )
    assert [(one["seq"], one["what"], one.get("why")) for one in results] == [
        (0, "rename", "the user asked"),
        (1, "mv", "exists"),
        (2, "mv", None),
        (3, "deleted /c", "by person: seen on disk"),
        (4, "now the photos", None),
    ]
    assert results[2]["retry_of"] == 1
    assert results[2]["files"] == ["/b"]


def test_a_forgotten_cause_is_still_a_cause() -> None:
    assert causes([event(("action", None), 4)]) == [
        {"seq": 4, "turn": 0, "kind": "action", "role": "step", "what": "forgotten"}
    ]


def test_past_the_cap_causes_are_counted_by_kind() -> None:
    results = causes(events(*(Action("t") for _ in range(MAX_CAUSES + 5)), Decision("d")))
    assert len(results) == MAX_CAUSES + 1
    assert results[-2]["what"] == "d"  # a decision is named before mere steps are
    assert results[-1] == {"kind": "more", "role": "more", "counts": {"action": 6}}


def test_every_cause_says_what_part_it_played() -> None:
    results = causes(
        events(
            Prompt("tidy"),
            Decision("by date"),
            Action("mv", outcome="error", error="exists"),
            Action("mv", retry_of=2),
            Action("mv", files=(FileTouch("/b", "renamed", "/a"),)),
            Action("ls", files=(FileTouch("/b", "read"),)),
        )
    )
    assert [one["role"] for one in results] == ["request", "decision", "error", "retry", "change", "step"]


def test_a_forks_own_past_is_not_a_difference_from_its_parent() -> None:
    parent = fold(initial_state("s"), events(Prompt("x"), Decision("shared"), Action("mv", outcome="error")))
    branch = fork_state(parent, "child")
    result = compare(parent, branch)
    assert not {"decisions_made", "errors", "requests"} & {
        *result["added"],
        *result["removed"],
        *result["changed"],
    }


def test_a_forks_decision_at_its_parents_position_is_an_addition() -> None:
    parent = fold(initial_state("s"), events(Decision("theirs")))
    start = fork_state(parent, "child")
    results = compare(start, fold(start, events(Decision("mine"))))
    assert [one["what"] for one in results["added"]["decisions_made"]] == ["mine"]
    assert "decisions_made" not in results["removed"]
    assert "decisions_made" not in results["changed"]
