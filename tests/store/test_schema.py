"""A store of any shipped schema is brought to the present one; a newer one is refused and untouched."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.errors import FazmMemoryError, StoreNewer
from fazm_memory.events.event import Message, SessionOpen
from fazm_memory.store import database
from fazm_memory.store.database import Database, migrate, version_of
from fazm_memory.store.keys import load
from fazm_memory.store.schema import SCHEMA_VERSION, STEPS, statements
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from fazm_memory.store.views import Facts
from tests.conftest import OpenStore
from tests.scribe import T0, Scribe, move, named
from tests.store.schemas.make import FOLDER, SAMPLE, old_store, opened, schema

VERSIONS = range(1, SCHEMA_VERSION + 1)
KEY = "ab" * 32


def test_every_schema_is_kept() -> None:
    assert {path.name for path in FOLDER.glob("*.sql")} == {f"v{version}.sql" for version in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_shipped_step_is_never_edited(version: int) -> None:
    """What a step makes today is what it made when it shipped."""
    made = sqlcipher.connect(":memory:")
    for step in STEPS[:version]:
        for statement in statements(step):
            made.execute(statement)
    kept = sqlcipher.connect(":memory:")
    kept.executescript((FOLDER / f"v{version}.sql").read_text(encoding="utf-8"))
    assert schema(made) == schema(kept)
    made.close()
    kept.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_every_version_opens_whole_and_goes_on(
    home: Path, open_store: OpenStore, tmp_path: Path, version: int
) -> None:
    old_store(home, version)
    store = open_store()
    scribe = Scribe(store)
    assert store.db.migrated == SCHEMA_VERSION - version
    session = scribe.row("sample")
    results = [(event.kind, event.payload) for event in scribe.events(session.id)]
    assert results[0][1] == SessionOpen("fazm", agent_session_id="sample", workspace="/w")
    assert results[1:] == [named(one) for one in SAMPLE]
    assert (session.title, session.lifecycle) == ("Sort the invoices of 2025", "paused")
    assert verify_store(store.log).clean
    scribe.tell(session.id, move("resume"), Message("and on it goes"))
    store.index_all()
    assert [hit.seq for hit in store.search.find("invoices", limit=5, now=T0)] == [1]
    assert {fact.key: fact.value for fact in Facts(store.db).current()} == {
        "naming": "date first",
        "folders": {"done": ["2025"]},
    }
    assert verify_store(store.log).clean
    fresh = open_store(tmp_path / "fresh")
    assert schema(store.db.connection) == schema(fresh.db.connection)


def test_opening_again_takes_no_step(open_store: OpenStore) -> None:
    assert open_store().db.migrated == SCHEMA_VERSION
    assert open_store().db.migrated == 0


def test_a_newer_store_is_refused_and_not_touched(home: Path, open_store: OpenStore) -> None:
    store = open_store()
    Scribe(store).open(Message("kept"))
    store.close()
    raw = opened(store.path, store.keys.database)
    raw.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    raw.close()
    before = store.path.read_bytes()
    with pytest.raises(StoreNewer, match=f"schema {SCHEMA_VERSION + 1}\\b.*{SCHEMA_VERSION}"):
        open_store()
    assert store.path.read_bytes() == before


@pytest.mark.parametrize(
    "broken", ["CREATE TABLE event (x)", "no SQL at all", "INSERT INTO nowhere VALUES (1)"]
)
def test_a_step_that_fails_has_not_happened(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "store" / "memory.db"
    Database(path, KEY).close()
    steps = (*STEPS, f"CREATE TABLE half (x); INSERT INTO half VALUES (1); {broken}")
    with pytest.raises(FazmMemoryError):
        Database(path, KEY, steps=steps)
    again = Database(path, KEY)
    tables = {row[0] for row in again.execute("SELECT name FROM sqlite_master")}
    assert "half" not in tables
    assert version_of(again.execute) == SCHEMA_VERSION
    mended = (*STEPS, "CREATE TABLE half (x)", "CREATE TABLE whole (x)")
    assert migrate(again.execute, mended) == 2
    assert version_of(again.execute) == SCHEMA_VERSION + 2
    again.close()


def test_the_sample_key_is_what_the_samples_are_locked_with(home: Path) -> None:
    old_store(home, SCHEMA_VERSION)
    store = Store(home, key="file")
    assert store.keys == load(home / "keys", store_exists=True)
    store.close()


def test_minutes_of_an_older_store_learn_what_they_were_made_of(tmp_path: Path) -> None:
    """What was taken in is counted by kind; what still waits is not, since it will be counted then."""
    path = tmp_path / "store" / "memory.db"
    old = Database(path, KEY, steps=STEPS[:3])
    old.execute(
        "INSERT INTO session (n, id, agent, lifecycle, opened_at, last_at, head, mac, indexed)"
        " VALUES (1, 'a', 'fazm', 'open', 0, 0, 4, x'00', 3)"
    )
    for seq, kind in enumerate(("action", "decision", "file", "app")):
        old.execute(
            "INSERT INTO event (id, at, turn, kind, version, actor, source, trust, digest, mac)"
            " VALUES (?, 60000000, 1, ?, 1, 'agent', 'cli', 'agent', x'00', x'00')",
            (1 << 32 | seq, kind),
        )
    old.execute("INSERT INTO minute VALUES (1, 1, 0, 2, 3, 0)")
    old.close()
    new = Database(path, KEY)
    counts = new.execute("SELECT events, actions, decisions, files, apps FROM minute").fetchall()
    new.close()
    assert counts == [(3, 1, 1, 1, 0)]


def test_a_step_that_takes_long_is_reported_before_it_is_taken(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_store(home, 1)
    monkeypatch.setattr(database, "MANY", 2)
    results: list[str] = []
    store = Store(home, key="file", tell=results.append)
    store.close()
    steps = [f"step {step} of {SCHEMA_VERSION}" for step in range(2, SCHEMA_VERSION + 1)]
    assert [step for step, note in zip(steps, results, strict=True) if step in note] == steps
    assert f"{len(SAMPLE) + 1} events" in results[0]


def test_a_small_or_a_new_store_is_brought_up_without_a_word(home: Path, tmp_path: Path) -> None:
    old_store(home, 1)
    results: list[str] = []
    for folder in (home, tmp_path / "fresh"):
        Store(folder, key="file", tell=results.append).close()
    assert results == []
