"""A session's row may lag behind its latest calls; whoever reads the session is told where it stands."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.events.event import FAILED, Action, FileTouch, Handoff, Message, Prompt, Rewind
from fazm_memory.store.schema import HOUR
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from tests.scribe import Scribe, entry

READ = Action("Read", {"path": "/w/a"}, files=(FileTouch("/w/a", "read"),))
EDIT = Action("Edit", {"path": "/w/a"}, files=(FileTouch("/w/a", "modified"), FileTouch("/w/b", "created")))
FAIL = Action("Bash", {"command": "false"}, outcome="error", error="exit code 1")

OpenStore = Callable[..., Store]


def lag(scribe: Scribe, session: str) -> int:
    """How many events the session's row does not know of."""
    row = scribe.row(session)
    (head,) = scribe.store.db.execute("SELECT head FROM session WHERE n=?", (row.n,)).fetchone()
    return row.head - int(head)


def counted(scribe: Scribe, session: str) -> tuple[int, ...]:
    """What the session's events are, counted one by one."""
    events = scribe.events(session)
    calls = [one.payload for one in events if one.kind == "action"]
    return (
        len(events),
        max(one.at for one in events),
        events[-1].turn,
        len(calls),
        sum(call.outcome in FAILED for call in calls),
        sum(touch.change != "read" for call in calls for touch in call.files),
    )


def standing_row(scribe: Scribe, session: str) -> tuple[int, ...]:
    """The same as the session tells it of itself."""
    row = scribe.row(session)
    return row.head, row.last_at, row.turn, row.actions, row.failures, row.files_modified


def test_calls_are_reported_by_themselves_and_what_else_happens_by_the_row(scribe: Scribe) -> None:
    session = scribe.open(Prompt("Sort them"))
    for behind, one in enumerate((READ, EDIT, FAIL), start=1):
        scribe.tell(session, one)
        assert lag(scribe, session) == behind
        assert standing_row(scribe, session) == counted(scribe, session)
    scribe.tell(session, Message("done"))
    assert lag(scribe, session) == 0
    assert standing_row(scribe, session) == counted(scribe, session)


def test_another_process_goes_on_from_where_a_session_stands(open_store: OpenStore) -> None:
    first, second = Scribe(open_store()), Scribe(open_store())
    session = first.open(READ)
    for scribe in (first, second, second, first):
        scribe.tell(session, EDIT, at=first.row(session).last_at + 1)
        for reader in (first, second):
            assert standing_row(reader, session) == counted(first, session)
    assert lag(second, session) > 0
    assert verify_store(second.store.log).clean


def test_what_is_taken_in_is_in_the_row(scribe: Scribe) -> None:
    session = scribe.open(READ, EDIT)
    scribe.tell(session, FAIL)
    before = standing_row(scribe, session)
    assert lag(scribe, session) == 1
    scribe.store.index_all()
    assert lag(scribe, session) == 0
    assert standing_row(scribe, session) == before
    scribe.tell(session, READ)  # the first that waits again
    assert lag(scribe, session) == 0


def test_a_call_reported_late_moves_no_time_back(scribe: Scribe) -> None:
    session = scribe.open(READ)
    newest = scribe.row(session).last_at
    scribe.tell(session, READ, at=newest - 5)
    scribe.tell(session, READ, at=newest - 3)
    assert scribe.row(session).last_at == newest


def test_the_order_of_sessions_follows_the_hour_of_their_last_call(scribe: Scribe) -> None:
    first, second = scribe.open(READ), scribe.open(READ)
    scribe.tell(first, READ, at=scribe.clock + 2 * HOUR)
    assert [row.id for row in scribe.store.sessions.listing()] == [first, second]
    assert scribe.store.sessions.totals() == {"sessions": 2, "events": 5, "actions": 3}


@pytest.mark.parametrize(
    "expected",
    ["head = head - 1", "head = head + 3", "head = 'many'", "mac = zeroblob(32)", "mac = 'text'"],
)
def test_a_row_that_lags_behind_cannot_be_altered(scribe: Scribe, expected: str) -> None:
    session = scribe.open(Message("a"), READ)
    scribe.tell(session, READ)
    scribe.tell(session, READ)
    assert lag(scribe, session) == 2
    assert verify_store(scribe.store.log).clean
    scribe.store.db.execute(f"UPDATE session SET {expected}")
    assert verify_store(scribe.store.log).findings


def test_a_session_that_lags_and_does_not_wait_is_found(scribe: Scribe) -> None:
    session = scribe.open(READ)
    scribe.tell(session, READ)
    scribe.store.db.execute("DELETE FROM waiting")
    assert [one.session for one in verify_store(scribe.store.log).findings] == [session]


def test_a_cut_tail_of_calls_is_found(scribe: Scribe) -> None:
    session = scribe.open(READ)
    scribe.tell(session, READ)
    scribe.tell(session, READ)
    scribe.store.db.execute("DELETE FROM event WHERE id = (SELECT max(id) FROM event)")
    (found,) = verify_store(scribe.store.log).findings
    assert (found.session, found.seq) == (session, 3)
    assert "events at the end are missing" in found.what


TOLD = st.sampled_from([READ, EDIT, FAIL, Message("m"), Prompt("next")])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tell"), st.integers(0, 1), st.lists(TOLD, min_size=1, max_size=3)),
        st.tuples(st.just("late"), st.integers(0, 1), TOLD),
        st.tuples(st.just("index"), st.integers(0, 1), st.none()),
        st.tuples(st.just("verify"), st.integers(0, 1), st.none()),
        st.tuples(st.just("give up"), st.integers(0, 1), TOLD),
    ),
    max_size=12,
)


@given(steps=STEPS)
def test_a_session_stands_where_its_events_say_whoever_writes(
    steps: list[tuple[str, int, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home: Path = tmp_path_factory.mktemp("home")
    scribes = [Scribe(Store(home, key="file")) for _ in range(2)]
    session = scribes[0].open()
    try:
        for what, who, given_ in steps:
            scribe = scribes[who]
            scribe.clock = max(one.clock for one in scribes)
            if what == "tell":
                scribe.tell(session, *given_)
            elif what == "late":
                scribe.tell(session, given_, at=scribe.clock - 10)
            elif what == "index":
                scribe.store.index_all()
            elif what == "verify":
                assert verify_store(scribe.store.log, full=False).clean
            else:
                with contextlib.suppress(ZeroDivisionError), scribe.store.writing() as writer:
                    writer.append(writer.head(scribe.row(session).n), entry(given_, at=scribe.clock))
                    raise ZeroDivisionError
            for reader in scribes:
                assert standing_row(reader, session) == counted(reader, session)
        assert verify_store(scribes[1].store.log).clean
    finally:
        for scribe in scribes:
            scribe.store.close()


def test_a_rewind_and_a_question_are_counted_over_what_lagged(scribe: Scribe) -> None:
    session = scribe.open(EDIT)
    scribe.tell(session, EDIT)
    scribe.tell(session, FAIL)
    scribe.tell(session, Handoff("q", "human", "Which one?"))
    assert scribe.row(session).questions == 1
    scribe.tell(session, Rewind(2))
    row = scribe.row(session)
    assert (row.actions, row.failures, row.files_modified, row.questions) == (1, 0, 2, 0)
