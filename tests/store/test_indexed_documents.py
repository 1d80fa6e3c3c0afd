"""Where a session's documents lie: a search in one of them finds what it holds, whatever others hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.clock import iso
from fazm_memory.events.event import Prompt
from fazm_memory.recall.search import search_memory
from fazm_memory.store import projections, search_index
from fazm_memory.store import search_index as searching
from fazm_memory.store.event_log import SEQ_BITS, SEQ_MASK
from fazm_memory.store.forget import forget_events
from fazm_memory.store.schema import STEP_5, statements
from fazm_memory.store.search_index import NEAR, RANGES, SearchScope, joined
from fazm_memory.store.store import Store
from tests.scribe import SECOND, T0, Scribe

DAY = 86_400 * SECOND


def runs(store: Store) -> list[tuple[int, ...]]:
    return list(store.db.execute("SELECT first, last, session, low, high FROM run ORDER BY first").fetchall())


def hits(store: Store, query: str, now: int) -> list[str]:
    store.index_all()
    with store.db.reading():
        return sorted({hit.snippet for hit in search_memory(store, query, limit=10, now=now)})


@pytest.fixture
def crowded(scribe: Scribe, monkeypatch: pytest.MonkeyPatch) -> str:
    """An old session that says a word twice, behind so many others that it is never among the newest."""
    monkeypatch.setattr(search_index, "LOOKED_AT", 20)
    monkeypatch.setattr(search_index, "NEAR", 0)
    old = scribe.open(Prompt("invoice of the plumber"), Prompt("invoice of the baker"))
    scribe.store.index_all()
    scribe.clock += 3 * DAY
    for nth in range(6):
        scribe.open(*[Prompt(f"invoice {nth}-{n}") for n in range(10)])
        scribe.store.index_all()
    return old


def test_an_old_session_is_searched_whatever_newer_ones_say(scribe: Scribe, crowded: str) -> None:
    found = hits(scribe.store, f"invoice session:{crowded}", scribe.clock)
    assert [one.split()[-1] for one in found] == ["baker", "plumber"]


def test_an_old_day_is_searched_whatever_newer_ones_say(scribe: Scribe, crowded: str) -> None:
    day = iso(scribe.events(crowded)[0].at)[:10]
    found = hits(scribe.store, f"invoice on:{day}", scribe.clock)
    assert [one.split()[-1] for one in found] == ["baker", "plumber"]


def test_a_run_that_goes_on_is_one_with_the_one_before(store: Store, scribe: Scribe) -> None:
    first, second = scribe.open(Prompt("a")), scribe.open(Prompt("b"))
    store.index_all()
    for _ in range(3):
        scribe.tell(second, Prompt("c"))
        store.index_all()
    scribe.tell(first, Prompt("d"))
    store.index_all()
    numbers = [scribe.row(one).n for one in (first, second)]
    assert [(one[2], one[3], one[4]) for one in runs(store)] == [
        (numbers[0], 0, 1),
        (numbers[1], 0, 4),
        (numbers[0], 2, 2),
    ]


def test_what_a_step_notes_is_where_the_documents_lie(
    store: Store, scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projections, "BATCH", 2)
    sessions = [scribe.open(*[Prompt(f"word {n}") for n in range(4)]) for _ in range(3)]
    store.index_all()
    scribe.tell(sessions[0], *[Prompt("later") for _ in range(3)])
    store.index_all()
    noted = runs(store)
    with store.db.transaction():
        store.db.execute("DELETE FROM run")
        store.db.execute(statements(STEP_5)[-1])
    assert runs(store) == noted


def test_events_taken_out_of_the_index_are_found_by_their_runs(store: Store, scribe: Scribe) -> None:
    sessions = [scribe.open(*[Prompt(f"secret {n}") for n in range(5)]) for _ in range(3)]
    store.index_all()
    number = scribe.row(sessions[1]).n
    assert forget_events(store, {number: [2, 3]}, reason="asked", at=T0, source="cli") == 2
    store.index_all()
    rows = store.search.documents.newest("secret", 100)
    assert len(rows) == 13
    assert not {(number << SEQ_BITS) | seq for seq in (2, 3)} & {event for _, event in rows}


def test_no_place_has_no_documents(store: Store, scribe: Scribe) -> None:
    scribe.open(Prompt("word"))
    store.index_all()
    assert store.search.documents.ranges({}) == []
    assert store.search.find("word", limit=5, now=T0, scope=SearchScope(inside=frozenset())) == []


@given(st.lists(st.tuples(st.integers(1, 2000), st.integers(0, 300)), max_size=200))
def test_joined_ranges_hold_every_one_of_them_and_are_few(steps: list[tuple[int, int]]) -> None:
    ranges, at = [], 0
    for gap, length in steps:
        ranges.append((at + gap, at + gap + length))
        at += gap + length
    made = joined(ranges)
    assert len(made) <= RANGES
    for first, last in ranges:
        assert any(low <= first and last <= high for low, high in made)
    for before, after in pairwise(made):
        assert after[0] - before[1] > NEAR


@given(data=st.data())
def test_the_newest_in_a_place_are_those_of_all_hits(data: st.DataObject, crowd: Store) -> None:
    numbers = [row[0] for row in crowd.db.execute("SELECT n FROM session").fetchall()]
    wanted = data.draw(st.lists(st.sampled_from(numbers), unique=True))
    low, high = sorted(data.draw(st.tuples(st.integers(0, 12), st.integers(0, 12))))
    places = dict.fromkeys(wanted, (low, high))
    keep = lambda event: event >> SEQ_BITS in places and low <= event & SEQ_MASK <= high  # noqa: E731
    most = data.draw(st.integers(1, 30))
    every = [row for row in crowd.search.documents.newest("word", 10_000) if keep(row[1])]
    within = crowd.search.documents.ranges(places)
    assert crowd.search.documents.newest("word", most, keep, within) == every[:most]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Five sessions that took turns, with documents that were taken in by turns."""
    made = Store(tmp_path_factory.mktemp("crowd") / "home", key="file")
    scribe = Scribe(made)
    sessions = [scribe.open() for _ in range(5)]
    for nth in range(12):
        scribe.tell(sessions[nth * 3 % 5], *[Prompt(f"word {nth} {n}") for n in range(1 + nth % 4)])
        if nth % 2:
            made.index_all()
    made.index_all()
    yield made
    made.close()


def test_a_session_is_reported_whole_when_no_word_was_asked_for(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "LOOKED_AT", 20)
    monkeypatch.setattr(searching, "LOOKED_AT", 20)
    monkeypatch.setattr(search_index, "NEAR", 0)
    long = scribe.open(Prompt("the first word on it"))
    scribe.store.index_all()
    scribe.open(*[Prompt(f"invoice {n}") for n in range(30)])
    scribe.store.index_all()
    scribe.tell(long, Prompt("the last word on it"))
    scribe.store.index_all()
    found = hits(scribe.store, f"session:{long}", scribe.clock)
    assert [one.split()[1] for one in found] == ["first", "last"]


@pytest.fixture
def unnoted(store: Store, scribe: Scribe) -> list[str]:
    """Sessions of which an older program, still running beside this one, has taken in the last two: one
    above all documents and one, long past, below them. It knows of no runs."""
    sessions = [scribe.open(Prompt("secret of the first"))]
    store.index_all()
    noted = runs(store)
    sessions.append(scribe.open(Prompt("secret of the second")))
    store.index_all()
    scribe.clock -= 9 * DAY
    sessions.append(scribe.open(Prompt("secret of the third")))
    store.index_all()
    assert [runs(store)[0][2], runs(store)[-1][2]] == [scribe.row(sessions[n]).n for n in (2, 1)]
    with store.db.transaction():
        store.db.execute("DELETE FROM run WHERE first <> ?", noted[0][:1])
    return sessions


def test_what_an_older_program_took_in_is_found_in_its_session(
    store: Store, scribe: Scribe, unnoted: list[str]
) -> None:
    for session, name in zip(unnoted, ("first", "second", "third"), strict=True):
        assert [one.split()[-1] for one in hits(store, f"secret session:{session}", scribe.clock)] == [name]


def test_what_an_older_program_took_in_is_noted_with_the_next_that_is(
    store: Store, scribe: Scribe, unnoted: list[str]
) -> None:
    scribe.clock += 20 * DAY
    scribe.tell(unnoted[0], Prompt("secret at the end"))
    store.index_all()
    noted = runs(store)
    with store.db.transaction():
        store.db.execute("DELETE FROM run")
        store.db.execute(statements(STEP_5)[-1])
    assert noted == runs(store)
    assert len(noted) == 4


def test_what_an_older_program_took_in_is_forgotten_with_the_rest(
    store: Store, scribe: Scribe, unnoted: list[str]
) -> None:
    for session in unnoted:
        number = scribe.row(session).n
        assert forget_events(store, {number: [1]}, reason="asked", at=T0, source="cli") == 1
    assert store.search.documents.newest("secret", 100) == []
