"""What followed an event in its turn goes with it: words, calls with all of their events, changes on disk."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.events.event import (
    Action,
    ActionAmend,
    ActionStart,
    Decision,
    Event,
    Evicted,
    FileChange,
    FileTouch,
    FolderListing,
    Message,
    Prompt,
)
from fazm_memory.session.diff import consequences_of
from fazm_memory.session.reducer import fold, initial_state
from tests.scribe import event
from tests.session.test_untrusted_sources import history


def taken(results: list[Event], seq: int, *, calls: bool = True) -> list[int]:
    end = next((one.seq for one in results if one.turn > results[seq].turn), len(results))
    return consequences_of(results, seq, end, calls=calls).seqs


def test_words_and_calls_after_it_in_its_turn_go_with_it() -> None:
    result = history(
        Prompt("go"), Action("Read"), Action("WebFetch"), Message("so"), Decision("this"), Action("Bash"),
        Evicted((), "what it said"), Prompt("on"), Action("Bash"), Decision("that"),
    )  # fmt: skip
    assert taken(result, 2) == [2, 3, 4, 5, 6]
    assert taken(result, 2, calls=False) == [2, 3, 4, 6]
    came = consequences_of(result, 2, 7, calls=True)
    assert (came.words, came.calls, came.files) == ((3, 4, 6), ((5,),), ())


def test_a_call_goes_with_all_of_its_events_however_late() -> None:
    result = history(
        ActionStart("WebFetch", call_id="w"), Action("WebFetch", call_id="w"),
        ActionStart("Bash", call_id="b"), Prompt("on"),
        Action("Bash", call_id="b"), ActionAmend("b", error="exit 2"), ActionAmend("w", output_summary="ok"),
        ActionAmend("other"),
    )  # fmt: skip
    assert taken(result, 1) == [0, 1, 2, 4, 5, 6]
    assert taken(result, 0) == [0, 1, 2, 4, 5, 6]
    assert taken(result, 1, calls=False) == [0, 1, 6]
    assert taken(result, 6, calls=False) == [0, 1, 6]


def test_a_call_that_ran_beside_it_stays() -> None:
    result = history(
        ActionStart("Read", call_id="r"), Action("WebFetch"), Action("Read", call_id="r"), ActionAmend("r"),
        Action("Bash", call_id="b"),
    )  # fmt: skip
    assert taken(result, 1) == [1, 4]


def test_changes_on_disk_go_with_the_call_they_name() -> None:
    def change(path: str, by: Any, call: int | None = None) -> tuple[FileChange, dict[str, str]]:
        return FileChange(path, "created", by=by, call=call), {"source": "files"}

    result = history(
        Action("Bash"), Action("WebFetch"), Action("Bash", files=(FileTouch("/w/x", "created"),)),
        change("/w/early", "agent", 0), change("/w/page", "agent", 1), change("/w/y", "agent", 2),
        change("/w/x", "unknown"), change("/w/theirs", "person"), change("/w/whose", "unknown"),
        FolderListing("/w", ("x", "y")), Prompt("on"), change("/w/late", "agent", 2),
        change("/w/no", "agent"),
    )  # fmt: skip
    assert taken(result, 1) == [1, 2, 4, 5, 6, 9, 11]
    assert taken(result, 1, calls=False) == [1]


def test_only_what_is_at_some_positions_can_be_kept_of_it() -> None:
    result = history(Action("WebFetch"), Decision("this"), Action("Bash"), Action("Bash"))
    part = consequences_of(result, 0, 4, calls=True).within({0, 2})
    assert (part.itself, part.words, part.calls, part.seqs) == ((0,), (), ((2,),), [0, 2])


@st.composite
def days(draw: st.DrawFn) -> list[Event]:
    """Calls that begin and end in any order, some on doubtful pages, with files seen on disk, over turns."""
    results: list[Any] = []
    open_calls: list[int] = []
    begun: list[int] = []
    for nth, what in enumerate(draw(st.lists(st.sampled_from(["begin", "end", "once", "file", "prompt"])))):
        trust = {"trust": draw(st.sampled_from(["web", "tool"]))}
        if what == "prompt":
            results.append(Prompt("go"))
        elif what == "begin":
            open_calls.append(len(results))
            begun.append(len(results))
            results.append(ActionStart("Bash", call_id=f"c{len(results)}"))
        elif what == "end" and open_calls:
            call = open_calls.pop(draw(st.integers(0, len(open_calls) - 1)))
            touched = (FileTouch(f"/w/{nth}", "created"),)
            results.append((Action("Bash", call_id=f"c{call}", files=touched), trust))
        elif what == "once":
            results.append((Action("Bash", files=(FileTouch(f"/w/{nth}", "created"),)), trust))
        elif what == "file" and begun:
            by = draw(st.sampled_from(["agent", "person", "unknown"]))
            change = FileChange(f"/w/{nth}", "created", by=by, call=draw(st.sampled_from(begun)))
            results.append((change, {"source": "files"}))
    return history(*results)


@given(history=days())
def test_what_a_state_says_to_have_followed_something_goes_with_it(history: list[Event]) -> None:
    state = fold(initial_state("s"), history)
    for entry in state.files_modified.values():
        if entry.doubted_by is not None:
            assert entry.by == "agent"
            assert history[entry.doubted_by].trust == "web"
            assert entry.seq in taken(history, entry.doubted_by)


@given(history=days())
def test_what_goes_with_an_untrusted_page_is_reported_to_have_followed_one(history: list[Event]) -> None:
    state = fold(initial_state("s"), history)
    for page in [one for one in history if one.kind == "action" and one.trust == "web"]:
        for seq in taken(history, page.seq):
            changed = [one for one in state.files_modified.values() if one.seq == seq and one.by == "agent"]
            assert all(one.doubted_by is not None for one in changed)


def test_an_event_of_which_nothing_came_goes_alone() -> None:
    assert taken([event(Prompt("go"), 0, turn=1)], 0) == [0]
