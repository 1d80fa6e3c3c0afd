"""Forgetting: the words are gone from everywhere, the chain still verifies."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from fazm_memory.errors import StoreBusy
from fazm_memory.events.event import (
    Action,
    Decision,
    Fact,
    Forgotten,
    Handoff,
    HandoffAnswer,
    Message,
    Pending,
    Prompt,
    SessionOpen,
    SessionTitle,
)
from fazm_memory.store import database
from fazm_memory.store.event_log import unpack
from fazm_memory.store.forget import choose_events, forget_events, ranges_of
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from tests.conftest import OpenStore
from tests.scribe import SECOND, T0, Scribe

WORD = "zanzibar"


def forget(store: Store, chosen: dict[int, list[int]]) -> int:
    return forget_events(store, chosen, reason="asked", at=T0, source="cli")


def everything(store: Store) -> Iterator[tuple[str, str]]:
    """Every value of every table, unpacked: what somebody with the key could read."""
    store.db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, words, row)")
    names = [row[0] for row in store.db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    for name in [*(name for name in names if not name.startswith("words")), "words_data", "temp.terms"]:
        for row in store.db.execute(f"SELECT * FROM {name}"):
            for value in row:
                if isinstance(value, bytes) and value[:4] == b"\x28\xb5\x2f\xfd":
                    value = unpack(value)
                yield name, value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def places(store: Store, word: str = WORD) -> set[str]:
    return {name for name, text in everything(store) if word in text.lower()}


def test_positions_are_reported_as_half_open_ranges() -> None:
    assert ranges_of([5, 1, 2, 3, 9, 2]) == [(1, 4), (5, 6), (9, 10)]
    assert ranges_of([]) == []


@pytest.mark.parametrize(
    "expected",
    [
        Prompt(f"go to {WORD}"), SessionTitle(f"To {WORD}"), Message(f"in {WORD}"), Decision("go", WORD),
        Fact(WORD, "far"), Fact("where", {"deep": [WORD]}), Pending("p", WORD),
        Action("Bash", {"command": WORD}, output=f"{WORD} " * 900, outcome="error", error=WORD),
    ],
    ids=lambda result: type(result).__name__,
)  # fmt: skip
def test_a_forgotten_word_is_nowhere_any_more(scribe: Scribe, expected: Any) -> None:
    session = scribe.open(expected, *(Message(f"other {n}") for n in range(1200)))
    child = scribe.open(parent=session, parent_seq=600)
    scribe.state(child)
    scribe.store.index_all()
    assert places(scribe.store) >= {"event"}
    chosen = choose_events(scribe.store, None, match=WORD).seqs
    assert chosen == {scribe.row(session).n: [1]}
    assert forget(scribe.store, chosen) == 1
    assert places(scribe.store) == set()
    assert WORD not in str(scribe.state(session))
    assert WORD not in str(scribe.state(child))
    assert verify_store(scribe.store.log).clean


def test_no_file_of_the_store_keeps_the_forgotten_page(scribe: Scribe) -> None:
    """The pages themselves are rewritten and the write-ahead log is emptied."""
    session = scribe.open(Message(WORD), Message("other"))
    before = scribe.store.path.read_bytes()
    forget(scribe.store, {scribe.row(session).n: [1]})
    after = scribe.store.path.read_bytes()
    pages = [before[at : at + 4096] for at in range(4096, len(before), 4096)]
    assert not any(page in after for page in pages)
    assert scribe.store.db.execute("PRAGMA freelist_count").fetchone()[0] == 0
    assert scribe.store.path.with_name("memory.db-wal").stat().st_size == 0


def test_what_was_forgotten_keeps_its_place_its_time_and_its_digest(scribe: Scribe) -> None:
    session = scribe.open(Message("a"), Message("b"), Message("c"))
    before = scribe.events(session)
    forget(scribe.store, {scribe.row(session).n: [2]})
    after = scribe.events(session)
    assert (after[2].payload, after[2].digest, after[2].at) == (None, before[2].digest, before[2].at)
    assert after[4].payload == Forgotten(1, "asked", ((2, 3),))
    assert [one.mac for one in after[:4]] == [one.mac for one in before]


def test_forgetting_again_forgets_nothing_more(scribe: Scribe) -> None:
    session = scribe.open(Message("a"))
    chosen = {scribe.row(session).n: [1]}
    assert forget(scribe.store, chosen) == 1
    assert forget(scribe.store, chosen) == 0
    assert scribe.row(session).head == 3


def test_what_says_that_something_was_forgotten_is_never_forgotten(scribe: Scribe) -> None:
    session = scribe.open(Message("a"), Message("b"))
    number = scribe.row(session).n
    forget(scribe.store, {number: [1]})
    assert forget(scribe.store, {number: list(range(10))}) == 2
    assert [one.payload is None for one in scribe.events(session)] == [True, True, True, False, False]
    assert verify_store(scribe.store.log).clean


def test_a_session_with_nothing_left_is_not_listed(scribe: Scribe) -> None:
    session = scribe.open(Prompt("x"), workspace="/w", title="T")
    forget(scribe.store, choose_events(scribe.store, session).seqs)
    row = scribe.row(session)
    assert (row.forgotten, row.title, row.workspace) == (True, None, None)
    assert scribe.store.sessions.listing() == []
    assert verify_store(scribe.store.log).clean


def test_the_title_is_what_the_rest_would_be_called(scribe: Scribe) -> None:
    session = scribe.open(Prompt("first"), Prompt("second"), Message("x"))
    number = scribe.row(session).n
    forget(scribe.store, {number: [3]})
    assert scribe.row(session).title == "first"
    forget(scribe.store, {number: [1]})
    assert scribe.row(session).title == "second" == scribe.state(session).title
    forget(scribe.store, {number: [2]})
    assert scribe.row(session).title is None


def test_a_given_title_outlives_the_prompts(scribe: Scribe) -> None:
    session = scribe.open(Prompt("first"), SessionTitle("Given"), title="Opened as", workspace="/w")
    number = scribe.row(session).n
    forget(scribe.store, {number: [1]})
    assert scribe.row(session).title == "Given"
    forget(scribe.store, {number: [2]})
    assert (scribe.row(session).title, scribe.row(session).workspace) == ("Opened as", "/w")


def test_a_forgotten_opening_takes_its_workspace_along(scribe: Scribe) -> None:
    session = scribe.open(Message("x"), title=WORD, workspace=f"/{WORD}")
    forget(scribe.store, {scribe.row(session).n: [0]})
    assert (scribe.row(session).title, scribe.row(session).workspace) == (None, None)
    assert places(scribe.store) == set()


def test_events_are_chosen_by_session_time_and_text_together(scribe: Scribe) -> None:
    one = scribe.open(Message("apple"), Message("Pear"))
    other = scribe.open(Message("apple"))
    first, second = scribe.row(one).n, scribe.row(other).n

    def chosen(*asked: Any, **more: Any) -> dict[int, list[int]]:
        return choose_events(*asked, **more).seqs

    assert chosen(scribe.store, None, match="APPLE") == {first: [1], second: [1]}
    assert chosen(scribe.store, one, match="pear") == {first: [2]}
    assert chosen(scribe.store, one) == {first: [0, 1, 2]}
    assert chosen(scribe.store, None, since=T0 + 3 * SECOND) == {second: [1]}
    assert chosen(scribe.store, None, until=T0 + SECOND) == {first: [0]}
    assert chosen(scribe.store, None, since=T0 + SECOND, until=T0 + 2 * SECOND) == {first: [1]}
    assert chosen(scribe.store, None, match="plum") == {}


def test_another_process_does_not_bring_back_what_was_forgotten(open_store: OpenStore) -> None:
    """It may hold in memory what it appended and has not indexed yet."""
    writing, forgetting = Scribe(open_store()), Scribe(open_store())
    session = writing.open(Message(f"in {WORD}"))
    forget(forgetting.store, {forgetting.row(session).n: [1]})
    writing.tell(session, *(Message(f"more {n}") for n in range(1100)))
    writing.store.index_all()
    assert places(writing.store) == set()
    assert writing.store.search.find(WORD, limit=5, now=T0) == []


def test_a_reader_that_keeps_old_pages_alive_is_reported_of(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    scribe, reader = Scribe(open_store()), Scribe(open_store())
    session = scribe.open(Message(WORD))
    number = scribe.row(session).n
    with reader.store.db.reading():
        reader.row(session)
        with pytest.raises(StoreBusy, match="is forgotten"):
            forget(scribe.store, {number: [1]})
    assert scribe.events(session)[1].payload is None
    assert verify_store(scribe.store.log).clean


def test_an_opening_reported_again_is_an_opening_too(scribe: Scribe) -> None:
    session = scribe.open()
    scribe.tell(session, SessionOpen("fazm", workspace="/w", title="Later"))
    forget(scribe.store, {scribe.row(session).n: [0]})
    assert (scribe.row(session).title, scribe.row(session).workspace) == ("Later", "/w")


def test_a_row_counts_what_is_left_also_in_a_fork(scribe: Scribe) -> None:
    work = (
        Action("Bash", outcome="error", error="e"),
        Handoff("q", "human", "which?"),
        HandoffAnswer("q", "a"),
    )
    session = scribe.open(*work, Action("Bash"))
    fork = scribe.open(parent=session, parent_seq=4)
    assert (scribe.row(fork).actions, scribe.row(fork).questions) == (1, 0)
    chosen = choose_events(scribe.store, session, seqs=[1, 3]).seqs
    forget_events(scribe.store, chosen, reason="asked", at=T0, source="cli")
    for one, actions in ((session, 1), (fork, 0)):
        row, state = scribe.row(one), scribe.state(one)
        assert (row.actions, row.failures, row.questions) == (actions, 0, 1)
        assert (state.counts.get("actions", 0), list(state.questions)) == (actions, ["q"])


def test_a_long_session_is_chosen_from_without_being_held_in_memory(store: Store, scribe: Scribe) -> None:
    text, many = "x" * 20_000, 200
    session = scribe.open(*[Prompt(text) for _ in range(many)])
    tracemalloc.start()
    try:
        chosen = choose_events(store, session)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(chosen.seqs[scribe.row(session).n]) == many + 1
    assert most < many * len(text) / 4
