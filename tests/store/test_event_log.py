"""Appending and slicing: dense positions, nothing merged silently, all or nothing."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from fazm_memory.errors import Conflict, InvalidInput, InvalidTransition, StoreDamaged, StoreFull, StoreNewer
from fazm_memory.events.event import (
    Action,
    ActionAmend,
    Checkpoint,
    Fact,
    FileChange,
    FileTouch,
    Forgotten,
    Handoff,
    HandoffAnswer,
    Message,
    Prompt,
    Quarantine,
    Recovered,
    Rewind,
    SessionOpen,
    SessionTitle,
)
from fazm_memory.session.reducer import initial_state
from fazm_memory.session.state import to_plain
from fazm_memory.store.event_log import event_id
from fazm_memory.store.hash_chain import digest_of, genesis
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from fazm_memory.store.writer import Writer
from tests.conftest import OpenStore
from tests.scribe import T0, Scribe, entry, move


def test_positions_are_dense_and_begin_at_nought(scribe: Scribe) -> None:
    session = scribe.open(*(Message(str(n)) for n in range(5)))
    assert [one.seq for one in scribe.events(session)] == [0, 1, 2, 3, 4, 5]
    assert scribe.row(session).head == 6


def test_what_was_appended_comes_back_as_it_was(scribe: Scribe) -> None:
    results = [
        Prompt("größe 😀"),
        Action("mv", input={"a": [1, None]}, files=(FileTouch("/b", "renamed", "/a"),)),
    ]
    session = scribe.open(*results)
    assert scribe.payloads(session)[1:] == results


def test_a_large_payload_comes_back_as_it_was(scribe: Scribe) -> None:
    results = [Fact("k", "long " * 5000), Fact("k", "".join(map(chr, range(32, 3000))))]
    session = scribe.open(*results)
    assert scribe.payloads(session)[1:] == results


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (0, None, [0, 1, 2, 3]), (1, 3, [1, 2]), (0, 0, []), (2, 2, []), (3, 1, []), (3, 99, [3]),
        (4, None, []), (-5, 2, [0, 1]), (0, -1, []), (2**32 + 1, None, []), (2**80, None, []),
        (0, 2**80, [0, 1, 2, 3]),
    ],
)  # fmt: skip
def test_slices_are_half_open(scribe: Scribe, start: int, stop: int | None, expected: list[int]) -> None:
    for _ in range(2):  # session numbers odd and even
        session = scribe.open(Message("1"), Message("2"), Message("3"))
        assert [one.seq for one in scribe.events(session, start, stop)] == expected


def test_each_event_carries_the_mark_of_the_one_before(scribe: Scribe) -> None:
    session = scribe.open(Message("1"), Message("2"))
    events = scribe.events(session)
    assert events[0].prev == genesis(scribe.store.keys.chain, session).hex()
    assert [one.prev for one in events[1:]] == [one.mac for one in events[:-1]]
    assert scribe.events(session, 2)[0].prev == events[1].mac


def test_an_expected_position_that_is_right_is_appended(scribe: Scribe) -> None:
    session = scribe.open()
    assert scribe.tell(session, Message("x"), expected_seq=1)[0].seq == 1


@pytest.mark.parametrize("expected", [0, 1, 3, 99])
def test_an_expected_position_that_is_wrong_is_refused_with_the_head(scribe: Scribe, expected: int) -> None:
    session = scribe.open(Message("x"))
    with pytest.raises(Conflict, match="at position 2") as refused:
        scribe.tell(session, Message("y"), expected_seq=expected)
    assert refused.value.details == {"head": 2, "session": session}
    assert scribe.row(session).head == 2


def test_of_two_that_expect_the_same_position_one_is_refused(open_store: OpenStore) -> None:
    first, second = Scribe(open_store()), Scribe(open_store())
    session = first.open()
    first.tell(session, Message("first"), expected_seq=1)
    with pytest.raises(Conflict):
        second.tell(session, Message("second"), expected_seq=1)
    assert [one.text for one in second.payloads(session)[1:]] == ["first"]


def test_the_same_key_is_the_same_event(scribe: Scribe) -> None:
    session = scribe.open()
    (first,) = scribe.tell(session, Message("x"), key="k")
    (again,) = scribe.tell(session, Message("other words"), key="k")
    assert (again.session, again.seq, again.duplicate) == (first.session, first.seq, True)
    assert [one.duplicate for one in scribe.tell(session, Message("y"), Message("z"), key="l")] == [
        False,
        True,
    ]
    assert [one.text for one in scribe.payloads(session)[1:]] == ["x", "y"]


def test_a_key_belongs_to_its_event_in_whatever_session_it_is_reported(scribe: Scribe) -> None:
    one, other = scribe.open(), scribe.open()
    scribe.tell(one, Message("x"), key="k")
    assert scribe.tell(other, Message("x"), key="k")[0].session == one
    assert scribe.row(other).head == 1


@pytest.mark.parametrize(
    ("expected", "more"),
    [
        (Message("x"), {"expected_seq": 1}),
        (Message("x"), {"turn": 0}),
        (Action("t"), {}),
        (Rewind(99), {}),
        (Fact("k", float("nan")), {}),
    ],
)
def test_what_was_reported_before_is_no_error_whatever_speaks_against_it_by_now(
    scribe: Scribe, expected: Any, more: dict[str, Any]
) -> None:
    session, other = scribe.open(Prompt("a")), scribe.open()
    scribe.tell(session, Message("x"), key="k")
    scribe.tell(session, Prompt("b"), move("close"))
    before = scribe.row(session)
    for place in (session, other):
        (again,) = scribe.tell(place, expected, key="k", **more)
        assert (again.session, again.seq, again.duplicate) == (session, 2, True)
    assert (scribe.row(session), scribe.row(other).head) == (before, 1)
    assert verify_store(scribe.store.log).clean


def test_a_key_that_was_rolled_back_is_free_again(scribe: Scribe) -> None:
    session = scribe.open()
    number = scribe.row(session).n

    def interrupted() -> None:
        with scribe.store.writing() as writer:
            writer.append(writer.head(number), entry(Message("x"), key="k"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    (result,) = scribe.tell(session, Message("y"), key="k")
    assert (result.seq, result.duplicate) == (1, False)
    scribe.store.index_all()
    assert [one.text for one in scribe.payloads(session)[1:]] == ["y"]
    assert verify_store(scribe.store.log).clean


def test_an_event_put_back_is_refused_when_its_key_is_taken(scribe: Scribe) -> None:
    session = scribe.open()
    scribe.tell(session, Message("x"), key="k")
    number, stored = scribe.row(session).n, b"{}"
    with scribe.store.writing() as writer:
        head = writer.head(number)
        with pytest.raises(Conflict, match="already has this key"):
            writer.restore(head, entry(Message("y"), key="k"), 1, stored, digest_of(stored))
        writer.append(head, entry(Message("z")))
    assert [one.text for one in scribe.payloads(session)[1:]] == ["x", "z"]
    assert verify_store(scribe.store.log).clean


def test_a_prompt_begins_a_turn_and_the_rest_belongs_to_it(scribe: Scribe) -> None:
    session = scribe.open(Message("0"), Prompt("a"), Action("t"), Prompt("b"))
    assert [one.turn for one in scribe.events(session)] == [0, 0, 1, 1, 2]
    position = scribe.store.sessions.turn_position
    row = scribe.row(session)
    assert [position(row.n, turn, row.head) for turn in (-1, 0, 1, 2, 9)] == [0, 2, 4, 5, 5]


def test_a_turn_that_is_past_is_refused(scribe: Scribe) -> None:
    session = scribe.open(Prompt("a"), Prompt("b"))
    with pytest.raises(Conflict, match="Turn 1 is over"):
        scribe.tell(session, Message("late"), turn=1)
    assert scribe.tell(session, Message("ahead"), turn=7)[0].seq == 3


def test_a_session_put_aside_refuses_with_the_reason(scribe: Scribe) -> None:
    session = scribe.open(Prompt("a"), move("pause"))
    with pytest.raises(InvalidTransition, match="resume it before going on") as refused:
        scribe.tell(session, Action("t"))
    assert refused.value.details["lifecycle"] == "paused"
    scribe.tell(session, move("resume"), Action("t"))
    assert scribe.row(session).lifecycle == "active"


@pytest.mark.parametrize(
    "expected", [SessionTitle("x"), FileChange("/a", "modified"), HandoffAnswer("q"), Forgotten(0, "r")]
)
def test_what_is_written_about_a_session_wakes_nothing(scribe: Scribe, expected: Any) -> None:
    session = scribe.open(Prompt("a"), move("close"))
    scribe.tell(session, expected)
    assert scribe.row(session).lifecycle == "closed"


@pytest.mark.parametrize(
    "expected",
    [Forgotten(0, "r"), Recovered(1, 0), Quarantine((0,)), Checkpoint(to_plain(initial_state("s")))],
)
@pytest.mark.parametrize("before", [(), (Prompt("a"), move("pause"), move("resume"))])
def test_the_memorys_own_keeping_is_no_work_of_a_session(
    scribe: Scribe, expected: Any, before: tuple[Any, ...]
) -> None:
    session = scribe.open(*before)
    stood = scribe.row(session).lifecycle
    scribe.tell(session, expected)
    assert scribe.row(session).lifecycle == scribe.state(session).lifecycle == stood
    scribe.tell(session, Message("on"))
    assert scribe.row(session).lifecycle == scribe.state(session).lifecycle == "active"


def test_an_opening_reported_again_moves_nothing(scribe: Scribe) -> None:
    session = scribe.open()
    scribe.tell(session, SessionOpen("fazm", workspace="/w"))
    assert scribe.row(session).lifecycle == "open"
    assert scribe.row(session).workspace == "/w"
    scribe.tell(session, move("pause"), SessionOpen("fazm", workspace="/v"))
    assert scribe.row(session).lifecycle == scribe.state(session).lifecycle == "paused"


@pytest.mark.parametrize("to", [-1, 3, 2**80])
def test_there_is_no_rewinding_to_where_the_session_never_was(scribe: Scribe, to: int) -> None:
    session = scribe.open(Message("x"))
    with pytest.raises(InvalidInput, match="cannot be rewound to position"):
        scribe.tell(session, Rewind(to))
    assert scribe.row(session).head == 2


@pytest.mark.parametrize("value", [float("nan"), "half a pair \ud800", b"bytes"])
def test_a_payload_that_json_cannot_hold_is_refused_alone(scribe: Scribe, value: Any) -> None:
    number = scribe.row(scribe.open()).n
    with scribe.store.writing() as writer:
        head = writer.head(number)
        writer.append(head, entry(Message("before")))
        with pytest.raises(InvalidInput, match="cannot be kept as JSON"):
            writer.append(head, entry(Fact("k", value)))
        writer.append(head, entry(Message("after")))
    assert [one.text for one in scribe.payloads(head.id)[1:]] == ["before", "after"]
    assert verify_store(scribe.store.log).clean


def test_a_transaction_is_all_or_nothing(scribe: Scribe) -> None:
    session = scribe.open()
    with pytest.raises(Conflict):
        scribe.tell(session, Message("x"), Message("y"), expected_seq=1)
    assert scribe.row(session).head == 1
    scribe.tell(session, Message("z"))
    assert [one.text for one in scribe.payloads(session)[1:]] == ["z"]
    assert verify_store(scribe.store.log).clean


def test_a_full_disk_keeps_nobody_from_looking_and_what_is_left_out_is_counted(scribe: Scribe) -> None:
    scribe.open(*(Message(f"{n} " + "word " * 400) for n in range(40)))
    db = scribe.store.db
    waiting = scribe.store.projections.behind()
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count={pages}")

    assert waiting
    left_out = sum(head - indexed for _, _, head, indexed, _ in waiting)
    assert scribe.store.index_if_possible() == (left_out, "the disk is full")
    assert verify_store(scribe.store.log).clean
    db.execute("PRAGMA max_page_count=100000")
    assert scribe.store.index_if_possible() == (0, "")
    assert scribe.store.projections.behind() == []


def test_a_disk_that_fills_up_in_the_middle_leaves_nothing_of_the_batch(scribe: Scribe) -> None:
    """SQLite ends the transaction by itself then: nothing that follows may be written outside of it."""
    session = scribe.open(Message("kept"))
    db = scribe.store.db
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute("PRAGMA cache_size=10")
    db.execute(f"PRAGMA max_page_count={pages + 4}")

    def carries_on() -> None:
        with scribe.store.writing() as writer:
            for n in range(400):
                with contextlib.suppress(StoreFull):  # as one does who judges each event alone
                    head = writer.create("fazm", T0, agent_session_id=f"new {n}")
                    writer.append(head, entry(Action("t", outcome="error", input_hash=str(n))))
                    writer.flush()

    for _ in range(3):
        with pytest.raises(StoreFull):
            carries_on()
        db.execute("PRAGMA max_page_count=100000")
        assert [row.id for row in scribe.store.sessions.listing(limit=None)] == [session]
        assert verify_store(scribe.store.log).clean
        db.execute(f"PRAGMA max_page_count={pages + 4}")
    db.execute("PRAGMA max_page_count=100000")
    scribe.tell(session, Message("goes on"))
    assert [one.text for one in scribe.payloads(session)[1:]] == ["kept", "goes on"]


def test_an_append_that_fails_half_way_spoils_its_transaction(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = scribe.open()
    number = scribe.row(session).n

    def fails(*_: object) -> None:
        raise StoreFull("no room for a projection")

    monkeypatch.setattr(Writer, "_project", fails)

    def carries_on() -> None:
        with scribe.store.writing() as writer, contextlib.suppress(StoreFull):
            writer.append(writer.head(number), entry(Message("half")))

    with pytest.raises(StoreFull, match="no room for a projection"):
        carries_on()
    assert scribe.row(session).head == 1
    assert verify_store(scribe.store.log).clean


def test_the_sessions_row_counts_what_its_events_tell(scribe: Scribe) -> None:
    session = scribe.open(
        Prompt("Sort it\nplease"),
        Action("t", outcome="error", files=(FileTouch("/a", "read"), FileTouch("/b", "created"))),
        Action("t", call_id="c"),
        ActionAmend("c", outcome="timeout", files=(FileTouch("/c", "modified"),)),
        FileChange("/d", "deleted"),
        Handoff("q", "human", "?"),
        Handoff("r", "human", "?"),
        HandoffAnswer("q"),
    )
    row = scribe.row(session)
    assert (row.title, row.turn, row.actions, row.failures) == ("Sort it", 1, 2, 2)
    assert (row.files_modified, row.questions) == (3, 1)
    counts = scribe.state(session).counts
    assert (counts["actions"], counts["failures"], counts["files_modified"]) == (2, 2, 3)


def test_an_event_of_a_newer_version_is_refused_and_never_guessed_at(scribe: Scribe) -> None:
    session = scribe.open(Message("x"))
    number = scribe.row(session).n
    scribe.store.db.execute("UPDATE event SET version=2 WHERE id=?", (event_id(number, 1),))
    with pytest.raises(StoreNewer, match="message version 2"):
        scribe.events(session)
    scribe.store.db.execute("UPDATE event SET version=1, kind='dream' WHERE id=?", (event_id(number, 1),))
    with pytest.raises(StoreNewer, match="kind dream"):
        scribe.events(session)


@pytest.mark.parametrize("stored", [b"{", b"[]", b"\xff", b'{"text":3}', b"\x28\xb5\x2f\xfd123", "text"])
def test_a_payload_that_cannot_be_read_is_named_as_damage(scribe: Scribe, stored: bytes | str) -> None:
    session = scribe.open(Message("x"))
    number = scribe.row(session).n
    scribe.store.db.execute("UPDATE event SET payload=? WHERE id=?", (stored, event_id(number, 1)))
    with pytest.raises(StoreDamaged, match=f"Event 1 of session {session[:8]}"):
        scribe.events(session)


def test_a_new_session_never_takes_the_place_of_one_that_is_gone(open_store: OpenStore) -> None:
    """Else whoever deletes the last session had its trace outside wiped by the next."""
    scribe = Scribe(open_store())
    scribe.open()
    gone = scribe.row(scribe.open()).n
    scribe.store.db.execute("DELETE FROM event WHERE id >= ?", (event_id(gone, 0),))
    scribe.store.db.execute("DELETE FROM session WHERE n=?", (gone,))
    scribe.open()
    assert [one.what for one in verify_store(scribe.store.log).findings] == [
        "the whole session is missing from the database"
    ]


def test_times_before_1970_and_of_other_centuries_are_kept(scribe: Scribe) -> None:
    session = scribe.open()
    scribe.tell(session, Message("old"), at=-T0)
    scribe.tell(session, Message("late"), at=T0 * 100)
    assert [one.at for one in scribe.events(session)[1:]] == [-T0, T0 * 100]
    assert scribe.row(session).last_at == T0 * 100


def test_what_another_process_appended_is_seen(open_store: OpenStore) -> None:
    first, second = Scribe(open_store()), Scribe(open_store())
    session = first.open(Message("first"))
    second.tell(session, Message("second"))
    first.tell(session, Message("third"))
    assert [one.text for one in second.payloads(session)[1:]] == ["first", "second", "third"]


def test_a_session_just_written_is_not_read_again_until_somebody_else_writes(open_store: OpenStore) -> None:
    first, second = Scribe(open_store()), Scribe(open_store())
    session = first.open(Message("0"))
    number = first.row(session).n
    read: list[str] = []

    def tell(scribe: Scribe, text: str) -> int:
        """How often the session's row was read to append this."""
        read.clear()
        with scribe.store.writing() as writer:
            scribe.store.db.connection.set_trace_callback(read.append)
            writer.append(writer.head(number), entry(Message(text)))
            scribe.store.db.connection.set_trace_callback(None)
        return sum("FROM standing WHERE n=" in statement for statement in read)

    assert [tell(first, "1"), tell(first, "2"), tell(first, "3")][1:] == [0, 0]
    assert tell(second, "4") == 1
    assert tell(first, "5") == 1
    first.store.index_all()
    assert tell(first, "6") == 1
    assert [one.text for one in first.payloads(session)[1:]] == list("0123456")
    assert verify_store(first.store.log).clean


def test_what_was_rolled_back_is_not_gone_on_from(scribe: Scribe) -> None:
    session = scribe.open(Message("0"))
    scribe.tell(session, Message("1"))
    with contextlib.suppress(ZeroDivisionError), scribe.store.writing() as writer:
        writer.append(writer.head(scribe.row(session).n), entry(Message("never")))
        raise ZeroDivisionError
    scribe.tell(session, Message("2"))
    assert [one.text for one in scribe.payloads(session)[1:]] == ["0", "1", "2"]
    assert verify_store(scribe.store.log).clean


def test_a_store_reopened_goes_on_where_it_was(open_store: OpenStore) -> None:
    session = Scribe(open_store()).open(Message("before"))
    store: Store = open_store()
    Scribe(store).tell(session, Message("after"))
    assert verify_store(store.log).clean
    assert [one.text for one in Scribe(store).payloads(session)[1:]] == ["before", "after"]
