"""What follows the log in batches is never wrong about it, only late, and never late by much."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events.event import Action, FileTouch, Forgotten, Prompt, Rewind, SessionTitle
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.store import projections, views
from fazm_memory.store.event_log import event_id
from fazm_memory.store.forget import forget_events
from fazm_memory.store.projections import INDEX_AFTER, store_overview
from fazm_memory.store.store import FEW, TITLED, Store
from fazm_memory.store.verify import verify_store
from tests.conftest import OpenStore
from tests.scribe import SECOND, T0, Scribe, entry


def found(store: Store, query: str) -> list[int]:
    store.index_all()
    return sorted(hit.seq for hit in store.search.find(query, limit=100, now=T0))


def minutes(store: Store) -> list[tuple[Any, ...]]:
    return list(store.db.execute("SELECT * FROM minute ORDER BY session, minute").fetchall())


def test_events_of_all_sessions_together_wait_only_up_to_a_bound(store: Store, scribe: Scribe) -> None:
    for n in range(INDEX_AFTER):
        scribe.open(Prompt(f"errand {n}"))
        waiting = sum(head - indexed for _, _, head, indexed, _ in store.projections.behind())
        assert waiting < INDEX_AFTER


def test_a_minute_counts_its_events_and_failures(store: Store, scribe: Scribe) -> None:
    session = scribe.open()
    calls = [Action("Bash", outcome="error" if n % 10 == 0 else "ok") for n in range(130)]
    scribe.tell(session, *calls)
    store.index_all()
    rows = minutes(store)
    assert [row[4] for row in rows] == [40, 60, 31]  # T0 lies twenty seconds into its minute
    assert sum(row[5] for row in rows) == 13
    assert [(row[2], row[3]) for row in rows] == [(0, 39), (40, 99), (100, 130)]


def test_dropped_and_rebuilt_it_is_the_same(store: Store, scribe: Scribe) -> None:
    session = scribe.open(*[Prompt(f"rename invoice {n}") for n in range(300)])
    store.index_all()
    before = minutes(store), found(store, "invoice")
    with store.db.transaction():
        store.search.documents.clear()
    assert store.index_all() == scribe.row(session).head
    assert (minutes(store), found(store, "invoice")) == before


def test_what_another_process_forgot_is_not_indexed_from_memory(open_store: OpenStore) -> None:
    ours, theirs = open_store(), open_store()
    scribe = Scribe(ours)
    session = scribe.open(Prompt("the zymurgy plan"), Prompt("the other plan"))
    number = scribe.row(session).n
    assert forget_events(theirs, {number: [1]}, reason="asked", at=T0, source="cli") == 1
    scribe.tell(session, *[Prompt("filler") for _ in range(INDEX_AFTER)])
    assert found(ours, "zymurgy") == []
    assert found(ours, "other") == [2]


def test_what_this_process_forgot_is_not_indexed_from_memory(store: Store, scribe: Scribe) -> None:
    session = scribe.open(Prompt("the zymurgy plan"))
    forget_events(store, {scribe.row(session).n: [1]}, reason="asked", at=T0, source="cli")
    scribe.tell(session, *[Prompt("filler") for _ in range(INDEX_AFTER)])
    assert found(store, "zymurgy") == []


def test_what_was_rolled_back_is_not_indexed(store: Store, scribe: Scribe) -> None:
    session = scribe.open(Prompt("kept"))
    number = scribe.row(session).n

    def write_and_fail() -> None:
        with store.writing() as writer:
            writer.append(writer.head(number), entry(Prompt("zymurgy")))
            raise RuntimeError("the power went")

    with pytest.raises(RuntimeError):
        write_and_fail()
    scribe.tell(session, Prompt("after"))
    assert found(store, "zymurgy") == []
    assert found(store, "kept") == [1]
    assert found(store, "after") == [2]


def test_what_another_process_appended_between_is_indexed_too(open_store: OpenStore) -> None:
    ours, theirs = open_store(), open_store()
    session = Scribe(ours).open(Prompt("ours first"))
    Scribe(theirs).tell(session, Prompt("theirs between"))
    Scribe(ours).tell(session, Prompt("ours last"))
    assert found(ours, "ours") == [1, 3]
    assert found(ours, "theirs") == [2]


def test_an_event_that_cannot_be_read_keeps_nothing_else_from_being_recorded(open_store: OpenStore) -> None:
    theirs = open_store()
    broken = Scribe(theirs).open(Prompt("before"), Prompt("broken"))
    number = Scribe(theirs).row(broken).n
    theirs.db.execute("UPDATE event SET payload=? WHERE id=?", (b"{", event_id(number, 2)))
    ours = open_store()
    session = Scribe(ours).open(*[Prompt("sound") for _ in range(INDEX_AFTER)])
    Scribe(ours).tell(session, *[Prompt("later") for _ in range(INDEX_AFTER)])
    assert len(found(ours, "sound")) == 100
    assert len(found(ours, "later")) == 100
    assert [one[1] for one in ours.projections.behind()] == [broken]
    assert [finding.seq for finding in verify_store(ours.log).findings] == [2]


def test_what_others_took_in_is_no_longer_held_in_memory(open_store: OpenStore) -> None:
    ours, theirs = open_store(), open_store()
    scribe = Scribe(ours)
    session = scribe.open()
    for n in range(3 * INDEX_AFTER):
        scribe.tell(session, Prompt(f"errand {n}"))
        if n % 10 == 0:
            theirs.index_all()
    assert sum(map(len, ours.log.recent.values())) <= 10
    assert len(found(ours, "errand")) == 100


def test_the_last_event_of_a_source_is_known_before_it_is_taken_in(store: Store, scribe: Scribe) -> None:
    first = scribe.open(Prompt("one"), agent_session_id="a")
    scribe.tell(first, Prompt("two"), source="hook", at=T0 + 50 * SECOND)
    waiting = store.projections.sources()
    store.index_all()
    assert waiting == store.projections.sources()
    assert waiting["hook"] == (T0 + 50 * SECOND, first)
    assert set(waiting) == {"hook", "record"}


def test_an_older_event_taken_in_later_does_not_set_a_source_back(store: Store, scribe: Scribe) -> None:
    session = scribe.open()
    scribe.tell(session, Prompt("new"), source="hook", at=T0 + 90 * SECOND)
    store.index_all()
    scribe.tell(session, Prompt("old"), source="hook", at=T0 + 5 * SECOND)
    store.index_all()
    assert store.projections.sources()["hook"] == (T0 + 90 * SECOND, session)


def test_a_clean_up_is_no_news_of_its_source(store: Store, scribe: Scribe) -> None:
    session = scribe.open(Prompt("one"))
    scribe.tell(session, Forgotten(count=1, reason="retention"), source="companion", at=T0 + 90 * SECOND)
    waiting = store.projections.sources()
    store.index_all()
    assert set(waiting) == set(store.projections.sources()) == {"record"}
    assert set(store_overview(store)["sources"]) == {"record"}


@pytest.mark.parametrize("batch", [1, 7, 60])
def test_snapshots_folded_along_equal_the_full_fold(
    store: Store, scribe: Scribe, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(views, "SPACING", 20)
    monkeypatch.setattr(projections, "INDEX_AFTER", 16)
    session = scribe.open()
    results = [Action("Edit", files=(FileTouch(f"/w/{n % 17}.txt", "modified"),)) for n in range(120)]
    for start in range(0, len(results), batch):
        scribe.tell(session, *results[start : start + batch])
    row = scribe.row(session)
    kept = [at for (at,) in store.db.execute("SELECT seq FROM snapshot ORDER BY seq").fetchall()]
    assert kept == list(range(20, kept[-1] + 1, 20))
    assert kept[-1] >= 100
    for at in (0, 19, 20, 21, 55, 100, row.head):
        assert scribe.state(session, at) == fold(
            initial_state(session), store.log.slice(row.n, session, 0, at)
        )


def test_a_rewind_is_not_folded_along(store: Store, scribe: Scribe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "SPACING", 10)
    monkeypatch.setattr(projections, "INDEX_AFTER", 4)
    session = scribe.open(*[Action("Read") for _ in range(25)])
    scribe.tell(session, Rewind(to=5))
    scribe.tell(session, *[Action("Edit") for _ in range(25)])
    state = scribe.state(session)
    with store.db.transaction():
        store.snapshots.drop()
    assert scribe.state(session) == state
    assert state.tools_used == {"Read": 4, "Edit": 25}


def test_much_that_waits_is_taken_in_by_who_looks_and_a_little_is_not(store: Store, scribe: Scribe) -> None:
    sessions = [scribe.open() for _ in range(FEW)]
    store.index_backlog()
    assert len(store.projections.behind()) == FEW
    scribe.tell(sessions[0], Prompt("one more"))
    store.index_backlog()
    assert store.projections.behind() == []


def test_whoever_looks_waits_for_nobody_who_writes(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = open_store(), open_store()
    Scribe(ours).open(*[Prompt("a word") for _ in range(FEW)])
    waits: list[int] = []
    index_all = ours.index_all

    def noted() -> int:
        waits.append(ours.db.execute("PRAGMA busy_timeout").fetchone()[0])
        return index_all()

    monkeypatch.setattr(ours, "index_all", noted)
    with theirs.db.transaction():
        ours.index_backlog()
        assert ours.projections.behind() != []
    ours.index_backlog()
    assert ours.projections.behind() == []
    assert waits == [0, 0]
    assert ours.db.execute("PRAGMA busy_timeout").fetchone()[0] == 30_000


def test_a_search_waits_for_writers_only_briefly_and_says_what_it_left_out(open_store: OpenStore) -> None:
    ours, theirs = open_store(), open_store()
    Scribe(ours).open(Prompt("a word"))
    with theirs.db.transaction():
        assert ours.index_if_possible(0) == (2, "other processes are writing")
    assert ours.db.wait_seconds == 30
    assert ours.index_if_possible(0) == (0, "")
    assert ours.projections.behind() == []


def test_titles_that_another_version_made_are_made_again_once(store: Store, scribe: Scribe) -> None:
    asked = scribe.open(Prompt("Implement the following plan:\n\n# Plan: Rename the scans"))
    named = scribe.open(Prompt("hello"), SessionTitle("Tidy invoices"))
    silent = scribe.open()
    with store.db.transaction():
        store.db.execute("UPDATE session SET title='Implement the following plan:'")
        store.db.execute("UPDATE meta SET value='1' WHERE key=?", (TITLED,))
    store.index_all()
    titles = [scribe.row(session).title for session in (asked, named, silent)]
    assert titles == ["Rename the scans", "Tidy invoices", "Implement the following plan:"]
    with store.db.transaction():
        store.db.execute("UPDATE session SET title='kept'")
    store.index_all()
    assert scribe.row(asked).title == "kept"


def test_a_new_store_makes_no_titles_again(store: Store, scribe: Scribe) -> None:
    session = scribe.open(Prompt("File the scans"))
    with store.db.transaction():
        store.db.execute("UPDATE session SET title='kept'")
    store.index_all()
    assert scribe.row(session).title == "kept"
