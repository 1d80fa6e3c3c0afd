"""Opening the encrypted database, and what is said when it cannot be."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.errors import (
    FazmMemoryError,
    KeyUnavailable,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnsafe,
)
from fazm_memory.store import database
from fazm_memory.store.database import PLAINTEXT, Database, translate

KEY = "ab" * 32
Open = Callable[..., Database]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "memory.db"


@pytest.fixture
def open_database(path: Path) -> Iterator[Open]:
    opened = []

    def opener(key: str = KEY, where: Path = path, **more: Any) -> Database:
        opened.append(Database(where, key, **more))
        return opened[-1]

    yield opener
    for one in opened:
        one.close()


def put(db: Database, value: str) -> None:
    with db.transaction():
        db.execute("INSERT OR REPLACE INTO meta VALUES ('k', ?)", (value,))


def got(db: Database) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE key='k'").fetchone()
    return None if row is None else str(row[0])


def test_nothing_of_what_is_written_lies_on_disk_in_the_clear(open_database: Open, path: Path) -> None:
    db = open_database()
    put(db, "the quick brown fox")
    files = list(path.parent.iterdir())
    suffixes = ("", "-wal", "-shm", "-line", "-turn")
    assert {one.name for one in files} == {f"memory.db{suffix}" for suffix in suffixes}
    for one in files:
        data = one.read_bytes()
        assert b"quick brown" not in data
        assert not data.startswith(PLAINTEXT)


@pytest.mark.parametrize("umask", [0, 0o077])
def test_every_file_of_the_store_is_its_owners_alone_under_any_umask(
    open_database: Open, path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        put(open_database(), "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()} == {0o600}


def test_what_is_acknowledged_is_synced(open_database: Open) -> None:
    db = open_database()
    assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert db.execute("PRAGMA temp_store").fetchone()[0] == 2


def test_a_writer_waits_half_a_minute_for_its_turn(open_database: Open) -> None:
    assert open_database().execute("PRAGMA busy_timeout").fetchone()[0] == 30_000


def test_on_a_mac_syncing_reaches_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    chosen = dict(database.pragmas())
    assert (chosen["fullfsync"], chosen["checkpoint_fullfsync"]) == (1, 1)


@pytest.mark.parametrize("key", ["", "ab", "ab" * 31, "ab" * 33, "zz" * 32, "x" * 64])
def test_a_key_that_is_not_64_hexadecimal_digits_is_refused(
    open_database: Open, path: Path, key: str
) -> None:
    with pytest.raises(KeyUnavailable, match="64 hexadecimal digits"):
        open_database(key)
    assert not path.exists()


def test_a_wrong_key_is_refused_and_the_store_untouched(open_database: Open, path: Path) -> None:
    db = open_database()
    put(db, "kept")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="key is wrong"):
        open_database("cd" * 32)
    assert path.read_bytes() == before
    assert got(open_database()) == "kept"


def test_a_database_that_is_not_encrypted_is_refused_and_untouched(open_database: Open, path: Path) -> None:
    path.parent.mkdir()
    plain = sqlite3.connect(path)
    plain.execute("CREATE TABLE t (x)")
    plain.close()
    before = path.read_bytes()
    assert before.startswith(PLAINTEXT)
    with pytest.raises(StoreUnsafe, match="not encrypted"):
        open_database()
    assert path.read_bytes() == before


def test_a_driver_without_encryption_is_noticed(open_database: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that ignores the key in silence leaves a plain header behind."""

    def plain(path: Path, key: str, *, read_only: bool) -> object:
        return sqlcipher.connect(str(path), isolation_level=None)

    monkeypatch.setattr(database, "connect", plain)
    with pytest.raises(StoreUnsafe, match="not encrypted"):
        open_database()


def test_something_else_in_the_stores_place_is_refused_and_untouched(open_database: Open, path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"a letter to Ann\n" * 400)
    with pytest.raises(StoreDamaged, match=r"[Nn]o new store"):
        open_database()
    assert path.read_bytes() == b"a letter to Ann\n" * 400


def test_a_store_that_must_be_there_is_not_made(open_database: Open, path: Path) -> None:
    with pytest.raises(StoreDamaged, match="no store"):
        open_database(create=False)
    assert not path.exists()


def test_a_store_behind_a_link_is_refused(open_database: Open, path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnsafe, match="symbolic link"):
        open_database()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_store_that_cannot_be_opened_leaves_no_connection_behind(open_database: Open, path: Path) -> None:
    open_database().close()
    raw = sqlcipher.connect(str(path))
    raw.execute(f"PRAGMA key=\"x'{KEY}'\"")
    raw.execute("PRAGMA user_version = 999")
    raw.close()
    with pytest.raises(FazmMemoryError):
        open_database()
    assert not path.with_name("memory.db-wal").exists()  # the last connection to close takes it away


def test_a_writer_that_waits_too_long_says_that_the_store_is_busy(
    open_database: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    first, second = open_database(), open_database()
    with first.transaction():
        with pytest.raises(StoreBusy, match="This was not written"), second.transaction():
            pytest.fail("two writers at once")
        first.execute("INSERT INTO meta VALUES ('k', 'mine')")
    put(second, "then mine")
    assert got(first) == "then mine"


def test_a_full_store_says_so_and_keeps_what_it_had(open_database: Open) -> None:
    db = open_database()
    put(db, "kept")
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFull, match="This was not written"), db.transaction():
        db.executemany("INSERT INTO meta VALUES (?, ?)", ((f"n{n}", "x" * 1000) for n in range(1000)))
    assert got(db) == "kept"
    db.execute(f"PRAGMA max_page_count = {pages + 1000}")
    put(db, "goes on")
    assert got(db) == "goes on"


def test_a_store_that_may_only_be_read_says_so(open_database: Open) -> None:
    db = open_database()
    db.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreReadOnly, match="cannot be written"):
        put(db, "x")


def test_a_transaction_that_fails_leaves_nothing(open_database: Open) -> None:
    db = open_database()

    def fails() -> None:
        with db.transaction():
            db.execute("INSERT INTO meta VALUES ('k', 'half')")
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        fails()
    assert got(db) is None
    put(db, "whole")
    assert got(db) == "whole"


def test_reading_sees_one_moment_however_long_it_takes(open_database: Open) -> None:
    first, second = open_database(), open_database()
    put(first, "before")
    with second.reading():
        assert got(second) == "before"
        put(first, "after")
        with second.reading():
            assert got(second) == "before"
    assert got(second) == "after"


def test_an_error_while_reading_is_reported_as_itself(open_database: Open) -> None:
    db = open_database()
    with pytest.raises(StoreDamaged, match="no such table"), db.reading():
        db.execute("SELECT * FROM nowhere")
    with db.reading():
        assert got(db) is None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("database or disk is full", StoreFull),
        ("database is locked", StoreBusy),
        ("attempt to write a readonly database", StoreReadOnly),
        ("unable to open database file", StoreReadOnly),
        ("database disk image is malformed", StoreDamaged),
        ("file is not a database", StoreDamaged),
        ("disk I/O error", StoreDamaged),
        ("something new", StoreDamaged),
    ],
)
def test_what_the_driver_says_is_reported_in_words_with_a_way_on(
    text: str, error: type[FazmMemoryError], path: Path
) -> None:
    result = translate(sqlcipher.OperationalError(text), path)
    assert type(result) is error
    assert len(result.message) > 20
    assert result.hint


def _first(path: Path, ready: Barrier, answers: multiprocessing.SimpleQueue[str], mine: int) -> None:
    ready.wait()
    try:
        db = Database(path, KEY)
        with db.transaction():
            db.execute("INSERT INTO meta VALUES (?, '')", (str(mine),))
        db.close()
        answers.put("")
    except FazmMemoryError as error:
        answers.put(f"{error.title}: {error.message}")


def test_processes_that_start_at_once_make_one_store(path: Path, open_database: Open) -> None:
    context = multiprocessing.get_context("fork")
    for _round in range(6):
        ready, answers = context.Barrier(12), context.SimpleQueue()
        children = [context.Process(target=_first, args=(path, ready, answers, n)) for n in range(12)]
        for child in children:
            child.start()
        messages = [answers.get() for _ in children]
        for child in children:
            child.join()
        assert set(messages) == {""}
        db = open_database()
        assert db.execute("SELECT count(*) FROM meta").fetchone()[0] == 12
        db.close()
        shutil.rmtree(path.parent)
