"""What an agent does after reading something of doubtful origin is traced to it, until the user speaks."""

from __future__ import annotations

from typing import Any

from fazm_memory.events.event import (
    Action,
    ActionAmend,
    ActionStart,
    Checkpoint,
    Event,
    FileChange,
    FileTouch,
    Prompt,
)
from fazm_memory.session.diff import compare
from fazm_memory.session.reducer import MAX_NAMED_FILES, fold, fork_state, initial_state
from fazm_memory.session.state import (
    BOUNDS,
    SessionState,
    from_snapshot,
    state_to_json,
    to_plain,
    to_snapshot,
)
from tests.scribe import event


def state_of(*results: Any) -> SessionState:
    return fold(initial_state("s"), history(*results))


def history(*result: Any) -> list[Event]:
    """Events one after the other; each is a payload, or a payload with what its envelope says."""
    made, turn = [], 0
    for seq, one in enumerate(result):
        payload, more = one if isinstance(one, tuple) else (one, {})
        turn += isinstance(payload, Prompt)
        made.append(event(payload, seq, turn=turn, **more))
    return made


def page(**more: Any) -> tuple[Action, dict[str, str]]:
    return Action(tool="WebFetch", input={"url": "https://a.example"}, **more), {"trust": "web"}


def write(path: str, change: Any = "created", **more: Any) -> Action:
    return Action(tool="Write", files=(FileTouch(path, change),), **more)


def doubted(state: SessionState) -> dict[str, int | None]:
    return {path: one.doubted_by for path, one in state.files_modified.items()}


def test_the_calls_and_files_after_an_untrusted_page_are_reported_to_have_followed_it() -> None:
    state = state_of(Prompt("go"), write("/w/before"), page(), write("/w/a"), Action(tool="Bash"))
    assert doubted(state) == {"/w/before": None, "/w/a": 2}
    (source,) = state_to_json(state)["untrusted"]
    assert source["led_to"] == {"calls": 2, "changes": 1, "files": ["/w/a"], "last_seq": 4}
    results = {one["path"]: one for one in state_to_json(state)["files_modified"]}
    assert results["/w/a"]["doubted_by"] == 2
    assert "doubted_by" not in results["/w/before"]


def test_the_user_who_speaks_again_ends_it() -> None:
    state = state_of(Prompt("go"), page(), Prompt("now this"), write("/w/a"))
    assert doubted(state) == {"/w/a": None}
    assert "led_to" not in state_to_json(state)["untrusted"][0]


def test_who_changes_a_file_anew_without_a_doubt_leaves_it_without_one() -> None:
    done = (Prompt("go"), page(), write("/w/a"))
    assert doubted(state_of(*done, Prompt("now this"), write("/w/a", "modified"))) == {"/w/a": None}
    theirs = FileChange("/w/a", "modified", by="person")
    assert doubted(state_of(*done, (theirs, {"source": "files"}))) == {"/w/a": None}


def test_each_is_traced_to_the_latest_untrusted_call_before_it() -> None:
    state = state_of(page(), write("/w/a"), page(), write("/w/b"))
    assert doubted(state) == {"/w/a": 0, "/w/b": 2}
    first, second = state_to_json(state)["untrusted"]
    assert (first["led_to"]["calls"], first["led_to"]["last_seq"]) == (2, 2)  # the second page is one of them
    assert second["led_to"]["files"] == ["/w/b"]


def test_a_page_that_a_call_saved_is_distrusted_by_itself() -> None:
    state = state_of(page(files=(FileTouch("/w/page.html", "created"),)))
    assert doubted(state) == {"/w/page.html": 0}
    assert state_to_json(state)["untrusted"][0]["led_to"]["calls"] == 0


def test_a_call_that_ran_beside_it_did_not_follow_it() -> None:
    beside = ActionStart("Write", call_id="c1")
    assert doubted(state_of(beside, page(), write("/w/a", call_id="c1"))) == {"/w/a": None}
    after = (page(), beside, Prompt("go on"))  # begun after it, and ended only when the next turn had begun
    assert doubted(state_of(*after, write("/w/a", call_id="c1"))) == {"/w/a": 0}


def test_what_was_seen_on_disk_goes_by_its_call_however_late_it_is_reported() -> None:
    def seen(path: str, call: int | None, by: Any = "agent") -> tuple[FileChange, dict[str, str]]:
        return FileChange(path, "created", by=by, call=call), {"source": "files"}

    result = (
        ActionStart("Bash", call_id="c0"),
        Action("Bash", call_id="c0"),
        ActionStart("WebFetch", call_id="c1"),
        page(call_id="c1"),
        ActionStart("Bash", call_id="c2"),
        Action("Bash", call_id="c2"),
    )
    late = (seen("/w/old", 0), seen("/w/saved", 2), seen("/w/new", 4))
    want = {"/w/old": None, "/w/saved": 3, "/w/new": 3}
    assert doubted(state_of(*result, *late)) == want
    assert doubted(state_of(*result, Prompt("on"), *late)) == want
    assert doubted(state_of(*result, seen("/w/whose", None, "unknown"))) == {"/w/whose": None}
    assert doubted(state_of(*result, seen("/w/theirs", None, "person"))) == {"/w/theirs": None}


def test_what_a_call_is_amended_with_is_distrusted_too() -> None:
    more = ActionAmend("c2", files=(FileTouch("/w/a", "created"),))
    assert doubted(state_of(page(), Action("Bash", call_id="c2"), more)) == {"/w/a": 0}


def test_what_a_person_does_follows_nothing() -> None:
    own = (write("/w/a"), {"actor": "person"})
    state = state_of(page(), own)
    assert doubted(state) == {"/w/a": None}
    assert "led_to" not in state_to_json(state)["untrusted"][0]


def test_a_page_whose_words_were_forgotten_is_still_what_was_followed() -> None:
    gone = event(("action", None), 0, trust="web")
    state = fold(initial_state("s"), [gone, event(write("/w/a"), 1)])
    assert doubted(state) == {"/w/a": 0}


def test_it_stays_small_whatever_follows() -> None:
    many = [page() if nth % 3 == 0 else write(f"/w/{nth}") for nth in range(300)]
    state = state_of(*many, *(write(f"/w/{nth}/x") for nth in range(50)))
    assert len(state.doubts) == BOUNDS["doubts"]
    assert "doubts" not in state.omitted
    assert max(len(one["led_to"]["files"]) for one in state.untrusted.values()) == MAX_NAMED_FILES
    assert "doubts" not in state_to_json(state)


def test_a_snapshot_and_a_checkpoint_in_mid_turn_know_it() -> None:
    before = state_of(Prompt("go"), page())
    after = event(write("/w/a"), 2, turn=1)
    kept = from_snapshot(to_snapshot(before))
    assert doubted(fold(kept, [after])) == {"/w/a": 1}
    stood = event(Checkpoint(to_plain(before)), 2, turn=1)
    assert doubted(fold(initial_state("s"), [stood, event(write("/w/a"), 3, turn=1)])) == {"/w/a": 1}


def test_a_fork_has_what_followed_and_begins_without_a_doubt() -> None:
    parent = state_of(Prompt("go"), page(), write("/w/a"))
    fork = fork_state(parent, "f")
    entry = fork.files_modified["/w/a"].to_json()
    assert (entry["doubted_by"], entry["session"]) == (1, "s")
    went_on = fold(fork, [event(write("/w/b"), 0, session="f", turn=1)])
    assert doubted(went_on) == {"/w/a": 1, "/w/b": None}


def test_a_difference_tells_that_a_file_has_come_into_doubt() -> None:
    before = state_of(Prompt("go"), write("/w/a"), page())
    after = fold(before, [event(write("/w/a", "modified"), 3, turn=1)])
    result = compare(before, after)["changed"]
    (change,) = result["files_modified"]
    assert ("doubted_by" in change["from"], change["to"]["doubted_by"]) == (False, 2)
    assert result["untrusted"][0]["to"]["led_to"]["files"] == ["/w/a"]
