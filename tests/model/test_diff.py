"""What changed between two states, and why."""

from __future__ import annotations

from typing import Any

from fazm_memory.model import payloads
from fazm_memory.model.diff import CAUSES, causes, compare
from fazm_memory.model.fold import fold, initial
from fazm_memory.model.inheritance import inherited
from fazm_memory.model.payloads import Action, Decision, Fact, FileTouch, Pending, PendingDone, Prompt
from tests.scribe import event, events, move


def between(first: list[Any], then: list[Any]) -> dict[str, Any]:
    history = events(*first, *then)
    before = fold(initial("s"), history[: len(first)])
    return compare(before, fold(before, history[len(first) :]), history[len(first) :])


def test_what_came_is_added_what_went_is_removed_what_moved_is_changed() -> None:
    told = between(
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
    assert [one["id"] for one in told["added"]["pending_actions"]] == ["2"]
    assert [one["id"] for one in told["removed"]["pending_actions"]] == ["1"]
    assert told["changed"]["tools_used"] == {"Bash": {"from": 1, "to": 2}}
    assert told["added"]["tools_used"] == {"Read": 1}
    assert told["changed"]["facts"]["k"]["from"]["value"] == "old"
    assert told["changed"]["facts"]["k"]["to"]["value"] == "new"
    assert list(told["added"]["facts"]) == ["l"]
    assert (told["from"], told["to"]) == (3, 9)


def test_a_file_changed_again_tells_both_states_of_it() -> None:
    told = between(
        [Action("w", files=(FileTouch("/a", "modified"),))],
        [Action("rm", files=(FileTouch("/a", "deleted"),))],
    )
    (changed,) = told["changed"]["files_modified"]
    assert (changed["key"], changed["from"]["change"], changed["to"]["change"]) == (
        "/a",
        "modified",
        "deleted",
    )


def test_lists_of_names_are_compared_as_sets() -> None:
    told = between([payloads.Evicted(("a", "b"))], [payloads.Evicted(("a", "c"))])
    assert told["added"]["evicted_keys"] == ["c"]
    assert "evicted_keys" not in told["removed"]


def test_a_lifecycle_move_is_told_from_and_to() -> None:
    told = between([Prompt("x")], [move("pause", "lunch")])
    assert told["changed"]["lifecycle"] == {"from": "active", "to": "paused"}


def test_what_moves_with_every_event_is_not_a_change() -> None:
    told = between([Prompt("x")], [payloads.Message("y")])
    assert (told["added"], told["removed"], told["changed"], told["because"]) == ({}, {}, {}, [])


def test_looking_back_turns_added_into_removed() -> None:
    before = fold(initial("s"), events(Prompt("x")))
    after = fold(before, [event(Pending("1", "call"), 1)])
    assert (
        compare(before, after)["added"]["pending_actions"]
        == compare(after, before)["removed"]["pending_actions"]
    )


def test_decisions_and_failures_are_causes_with_their_reasons() -> None:
    told = causes(
        events(
            Decision("rename", "the user asked"),
            Action("mv", outcome="error", error="exists"),
            Action("mv", retry_of=1, files=(FileTouch("/b", "renamed", "/a"),)),
            payloads.FileChange("/c", "deleted", by="person"),
            Prompt("now the photos"),
        )
    )
    assert [(one["seq"], one["what"], one.get("why")) for one in told] == [
        (0, "rename", "the user asked"),
        (1, "mv", "exists"),
        (2, "mv", None),
        (3, "deleted /c", "by person: seen on disk"),
        (4, "now the photos", None),
    ]
    assert told[2]["retry_of"] == 1
    assert told[2]["files"] == ["/b"]


def test_a_forgotten_cause_is_still_a_cause() -> None:
    assert causes([event(("action", None), 4)]) == [
        {"seq": 4, "turn": 0, "kind": "action", "role": "step", "what": "forgotten"}
    ]


def test_past_the_cap_causes_are_counted_by_kind() -> None:
    told = causes(events(*(Action("t") for _ in range(CAUSES + 5)), Decision("d")))
    assert len(told) == CAUSES + 1
    assert told[-2]["what"] == "d"  # a decision is named before mere steps are
    assert told[-1] == {"kind": "more", "role": "more", "counts": {"action": 6}}


def test_every_cause_says_what_part_it_played() -> None:
    told = causes(
        events(
            Prompt("tidy"),
            Decision("by date"),
            Action("mv", outcome="error", error="exists"),
            Action("mv", retry_of=2),
            Action("mv", files=(FileTouch("/b", "renamed", "/a"),)),
            Action("ls", files=(FileTouch("/b", "read"),)),
        )
    )
    assert [one["role"] for one in told] == ["request", "decision", "error", "retry", "change", "step"]


def test_a_forks_own_past_is_not_a_difference_from_its_parent() -> None:
    parent = fold(initial("s"), events(Prompt("x"), Decision("shared"), Action("mv", outcome="error")))
    branch = inherited(parent, "child")
    told = compare(parent, branch)
    assert not {"decisions_made", "errors", "requests"} & {*told["added"], *told["removed"], *told["changed"]}


def test_a_forks_decision_at_its_parents_position_is_an_addition() -> None:
    parent = fold(initial("s"), events(Decision("theirs")))
    start = inherited(parent, "child")
    told = compare(start, fold(start, events(Decision("mine"))))
    assert [one["what"] for one in told["added"]["decisions_made"]] == ["mine"]
    assert "decisions_made" not in told["removed"]
    assert "decisions_made" not in told["changed"]
