"""Full-text search: what was done is found by any of its words, and any text may be asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.events.event import Action, Decision, Fact, FileChange, FileTouch, Message, Pending, Prompt
from fazm_memory.store.forget import forget_events
from fazm_memory.store.search_index import recency
from fazm_memory.store.search_text import SearchTerm, snippet
from fazm_memory.store.store import Store
from tests.scribe import SECOND, T0, Scribe

DAY = 86_400 * SECOND


def found(store: Store, query: str, limit: int = 10, now: int = T0) -> list[tuple[str, int]]:
    store.index_all()
    with store.db.reading():
        return [(hit.session, hit.seq) for hit in store.search.find(query, limit=limit, now=now)]


@pytest.mark.parametrize(
    "query",
    ["invoices", "INVOICES", "invoice", '"the invoices"', "sort invoices", "tax/2025.pdf", "2025", "große"],
)
def test_an_event_is_found_by_its_words(scribe: Scribe, query: str) -> None:
    session = scribe.open(
        Message("nothing of it"), Prompt("Sort the invoices: große tax/2025.pdf"), Message("nothing either")
    )
    assert (session, 2) in found(scribe.store, query)


def test_all_that_an_action_tells_can_be_looked_for(scribe: Scribe) -> None:
    action = Action(
        "Bash", {"command": "alpha", "deep": [{"x": "beta"}]}, output={"stdout": "gamma"}, error="delta",
        outcome="error", files=(FileTouch("/w/epsilon.txt", "renamed", "/w/zeta.txt"),),
    )  # fmt: skip
    session = scribe.open(action)
    for word in ("bash", "alpha", "beta", "gamma", "delta", "epsilon", "zeta"):
        assert (session, 1) in found(scribe.store, word), word


def test_identifiers_are_found_by_their_words(scribe: Scribe) -> None:
    session = scribe.open(Decision("rename parseInvoiceDate", "dateOfInvoice is shorter"))
    assert found(scribe.store, "parse") == found(scribe.store, "invoice") == [(session, 1)]


def test_decisions_facts_and_what_is_pending_are_found(scribe: Scribe) -> None:
    session = scribe.open(
        Decision("quince", "ripe"), Fact("medlar", {"when": "bletted"}), Pending("1", "sloe")
    )
    assert found(scribe.store, "ripe") == [(session, 1)]
    assert found(scribe.store, "bletted") == [(session, 2)]
    assert found(scribe.store, "sloe") == [(session, 3)]


def test_what_has_every_word_comes_before_what_has_some(scribe: Scribe) -> None:
    session = scribe.open(Message("red"), Message("red apple"), Message("apple"), Message("red"))
    assert found(scribe.store, "red apple")[0] == (session, 2)


def test_of_equals_the_newer_comes_first(scribe: Scribe) -> None:
    old = scribe.open(Message("kumquat in a jar"))
    scribe.clock += 90 * DAY
    new = scribe.open(Message("kumquat in a jar"))
    assert [session for session, _ in found(scribe.store, "kumquat", now=scribe.clock)] == [new, old]


def test_an_older_batch_taken_in_later_is_found_after_the_newer(scribe: Scribe) -> None:
    scribe.clock = T0 + 90 * DAY
    new = scribe.open(Message("kumquat in a jar"))
    scribe.store.index_all()
    scribe.clock = T0
    old = scribe.open(Message("kumquat in a jar"))
    assert [session for session, _ in found(scribe.store, "kumquat", now=T0 + 90 * DAY)] == [new, old]


def test_no_more_is_found_than_was_asked_for(scribe: Scribe) -> None:
    scribe.open(*(Message(f"plum {n}") for n in range(30)))
    assert len(found(scribe.store, "plum", limit=7)) == 7
    assert found(scribe.store, "plum", limit=0) == []


def test_what_was_just_appended_is_found(scribe: Scribe) -> None:
    session = scribe.open()
    for n in range(3):
        scribe.tell(session, Message(f"fig number{n}"))
        assert found(scribe.store, f"number{n}") == [(session, n + 1)]


def test_a_forgotten_event_is_not_found(scribe: Scribe) -> None:
    session = scribe.open(Message("mulberry"), Message("mulberry too"))
    assert len(found(scribe.store, "mulberry")) == 2
    forget_events(scribe.store, {scribe.row(session).n: [1]}, reason="asked", at=T0, source="cli")
    assert found(scribe.store, "mulberry") == [(session, 2)]


def test_the_index_can_be_dropped_and_rebuilt(scribe: Scribe) -> None:
    scribe.open(*(Message(f"pear {n}") for n in range(150)))
    scribe.open(Message("pear tree"))
    before = found(scribe.store, "pear", limit=50)
    with scribe.store.db.transaction():
        scribe.store.search.documents.clear()
    assert scribe.store.search.find("pear", limit=50, now=T0) == []
    assert set(found(scribe.store, "pear", limit=200)) >= set(before)


def test_a_snippet_shows_the_word_on_one_line(scribe: Scribe) -> None:
    scribe.open(Message("long ago\n" * 60 + "a damson\nfell" + " far away" * 60))
    scribe.store.index_all()
    (hit,) = scribe.store.search.find("damson", limit=1, now=T0)
    assert "damson fell" in hit.snippet
    assert "\n" not in hit.snippet
    assert len(hit.snippet) < 300


def test_a_snippet_shows_the_place_with_most_of_the_words(scribe: Scribe) -> None:
    scribe.open(Message("a damson. " + "far away " * 60 + "the damson tree was felled" + " far away" * 60))
    scribe.store.index_all()
    (hit,) = scribe.store.search.find("damson felled", limit=1, now=T0)
    assert "damson tree was felled" in hit.snippet


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("the license is MIT", "licence"),
        ("colour of the header", "color"),
        ("we initialise it late", "initialize"),
        ("the tests are failing", "failed"),
        ("I wrote the parser", "written parser"),
        ("the checkpoint was pushed", "chekpoint"),
        ("the checkpoint was pushed", "hceckpoint"),
        ("parseInvoiceDate is slow", "parse_invoice_date"),
        ("parse_invoice_date is slow", "parseInvoiceDate"),
        ("parse_invoice is slow", "parseinvoice"),
        ("parseinvoice is slow", "parse invoice"),
    ],
)
def test_other_forms_spellings_and_typos_are_found(scribe: Scribe, written: str, query: str) -> None:
    session = scribe.open(Message("something else"), Message(written))
    assert (session, 2) in found(scribe.store, query)


def test_a_session_has_three_hits_before_others(scribe: Scribe) -> None:
    busy = scribe.open(*(Message(f"plum plum plum {n}") for n in range(8)))
    other = scribe.open(Message("a plum among many other words of a longer message"))
    sessions = [session for session, _ in found(scribe.store, "plum", limit=6)]
    assert sessions[:4].count(busy) == 3
    assert other in sessions[:4]
    assert len(sessions) == 6


def test_the_newest_word_on_a_subject_comes_first_in_an_old_log(scribe: Scribe) -> None:
    first = scribe.open(Decision("keep sessions for a week"))
    scribe.clock += 5 * DAY
    last = scribe.open(Decision("keep sessions for a year"))
    now = scribe.clock + 700 * DAY
    assert [session for session, _ in found(scribe.store, "keep sessions", now=now)] == [last, first]


def test_the_last_change_of_a_file_is_known_with_its_author(scribe: Scribe) -> None:
    edited = Action("Edit", {"file_path": "/w/a/b.py"}, files=(FileTouch("/w/a/b.py", "modified"),))
    read = Action("Read", {"file_path": "/w/a/b.py"}, files=(FileTouch("/w/a/b.py", "read"),))
    scribe.open(edited)
    scribe.store.index_all()
    before = scribe.clock
    assert scribe.store.search.last_change("/w/a/b.py", before) is None
    scribe.open(read, FileChange("/w/a/b.py", "modified", by="person"), read)
    scribe.store.index_all()
    change = scribe.store.search.last_change("/w/a/b.py", before)
    assert change is not None
    assert change.by == "person"
    assert scribe.store.search.last_change("a/b.py", before) == change
    assert scribe.store.search.last_change("/other/a/b.py", before) is None


@pytest.mark.parametrize(
    "query", ["", "   ", '"', '""', "*", "AND", "a OR b", "NEAR(", "(", "\0", "_", "-", "^x", "body:x", "🍒"]
)
def test_nothing_that_is_typed_is_an_operator(scribe: Scribe, query: str) -> None:
    scribe.open(Message("medlar"))
    assert len(found(scribe.store, query)) <= 1


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    home: Path = tmp_path_factory.mktemp("search") / "home"
    store = Store(home, key="file")
    Scribe(store).open(*(Message(f"apple{n} pear/{n} Quince \U0010ffff \ud7ff") for n in range(20)))
    store.index_all()
    yield store
    store.close()


@given(
    query=st.text(max_size=30)
    | st.lists(st.sampled_from(['"', "apple1", "NOT", "*", "\U0010ffff", "\ud7ff", "\udc00", "q"])).map(
        " ".join
    )
)
def test_any_text_may_be_asked(shelf: Store, query: str) -> None:
    hits = shelf.search.find(query, limit=3, now=T0)
    assert len(hits) <= 3
    assert all(hit.snippet for hit in hits)


def test_recency_only_ever_pushes_what_is_newer() -> None:
    ages = [0, DAY, 7 * DAY, 60 * DAY, 900 * DAY]
    pushed = [recency(age) for age in ages]
    assert pushed == sorted(pushed, reverse=True)
    assert pushed[0] == recency(-DAY) == 1.5
    assert pushed[-1] == pytest.approx(1.0)


def test_a_snippet_begins_and_ends_between_two_words() -> None:
    words = [
        *(f"word{number}" for number in range(100)),
        "needle",
        *(f"word{number}" for number in range(100)),
    ]
    shown = snippet(" ".join(words), [SearchTerm("needle", "needle")])
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "needle" in shown
    assert set(shown.strip("…").split()) <= set(words)
