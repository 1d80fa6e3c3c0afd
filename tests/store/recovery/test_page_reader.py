"""Rows read from the pages are the rows that the driver reads, of every table that recovery needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fazm_memory.events.event import Message
from fazm_memory.store.event_log import EVENT_COLUMNS, event_id
from fazm_memory.store.recovery.page_reader import RowReader
from fazm_memory.store.store import Store
from tests.scribe import Scribe
from tests.store.recovery.damaged_stores import fill, noise, raw
from tests.store.schemas.make import old_store

COLUMNS = {
    "session": "n, id, agent, agent_session_id, opened_at",
    "cursor": "path, agent, offset, size, inode, fingerprint, carry, updated_at",
    "meta": "key, value",
}


def agree(store: Store, rows: RowReader) -> None:
    by_driver = store.db.execute(f"SELECT {EVENT_COLUMNS} FROM event ORDER BY id").fetchall()
    assert list(rows.events(0, event_id(1 << 20, 0))) == by_driver
    for table, columns in COLUMNS.items():
        found = store.db.execute(f"SELECT {columns} FROM {table}").fetchall()
        assert sorted(rows.rows(table, columns)) == sorted(found)
    named = store.db.execute("SELECT id, n FROM session").fetchall()
    assert set(named) <= set(rows.rows("session_id", "id, n"))


def keep_cursors(store: Store, count: int) -> None:
    with store.db.transaction():
        for n in range(count):
            row = (f"/a/{noise(900, n)}/{n}", "codex", n << 40, -n, None if n % 2 else n, None, bytes(n), n)
            store.db.execute("INSERT INTO cursor VALUES (?,?,?,?,?,?,?,?)", row)


@pytest.mark.parametrize("how", ["logged", "checkpointed", "vacuumed"])
def test_both_ways_agree(home: Path, store: Store, how: str) -> None:
    fill(store, sessions=12)
    keep_cursors(store, 60)
    if how == "vacuumed":
        store.db.execute("VACUUM")
    if how != "logged":
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    rows = raw(home)
    assert rows.pages.damaged == []
    assert bool(rows.pages.frames[0]) == (how == "logged")
    agree(store, rows)
    rows.pages.close()


@settings(max_examples=15)
@given(
    sizes=st.lists(st.integers(0, 20_000) | st.integers(3800, 4100), min_size=1, max_size=12),
    low=st.integers(0, 14),
    high=st.integers(0, 14),
)
def test_both_ways_agree_on_payloads_of_any_length(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], low: int, high: int
) -> None:
    home = tmp_path_factory.mktemp("any") / "home"
    store = Store(home, key="file")
    scribe = Scribe(store)
    session = scribe.open()
    scribe.tell(session, *[Message(noise(size, size)) for size in sizes])
    rows = raw(home)
    agree(store, rows)
    bounds = event_id(1, low), event_id(1, high)
    some = f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? ORDER BY id"
    assert list(rows.events(*bounds)) == store.db.execute(some, bounds).fetchall()
    rows.pages.close()
    store.close()


def test_a_column_that_another_version_added_hides_no_event(home: Path, store: Store) -> None:
    fill(store, sessions=1)
    store.db.execute("ALTER TABLE event ADD COLUMN further TEXT")
    store.db.execute("UPDATE event SET further='x' WHERE id % 3 = 0")
    rows = raw(home)
    agree(store, rows)
    rows.pages.close()


def test_rows_of_an_older_schema_are_read_too(home: Path) -> None:
    old_store(home, 1)
    rows = raw(home)
    older = list(rows.events(0, event_id(1 << 20, 0)))
    rows.pages.close()
    store = Store(home, key="file")
    found = store.db.execute(f"SELECT {EVENT_COLUMNS} FROM event ORDER BY id").fetchall()
    store.close()
    assert older
    assert older == found


def test_the_key_of_another_store_reads_nothing(home: Path, store: Store, tmp_path: Path) -> None:
    fill(store, sessions=1)
    rows = raw(home)
    rows.pages.key = bytes(32)
    assert rows.pages.code_key is None
    assert len(rows.pages.damaged) == rows.pages.count
    assert list(rows.events(0, event_id(9, 0))) == []
    rows.pages.close()
