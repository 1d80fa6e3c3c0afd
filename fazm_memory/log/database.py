"""The encrypted database: opening it, keying it, and saying plainly what is wrong with it.

SQLCipher through peewee, WAL, synchronous=FULL: what was acknowledged survives a power cut. The header is
checked before and after, because a driver without encryption would ignore the key in silence.
"""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import peewee
from playhouse.sqlcipher_ext import SqlCipherDatabase
from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.errors import (
    Conflict,
    FazmMemoryError,
    KeyUnavailable,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnsafe,
)
from fazm_memory.log.migrations import STEPS, migrate
from fazm_memory.private import alone, private_file, private_folder

PLAINTEXT = b"SQLite format 3\x00"
BUSY_SECONDS: float = 30
LOG_PAGES = 4000  # a larger write-ahead log is copied back more seldom, each page once

RECOVER_HINT = "run `fazm-memory recover`: it sets the damaged store aside and saves all that verifies"


class Database:
    """One open connection per process and thread of use; `execute` is the hot path through peewee's."""

    def __init__(
        self,
        path: Path,
        key: str,
        *,
        create: bool = True,
        steps: tuple[str, ...] = STEPS,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        if not re.fullmatch(r"[0-9a-fA-F]{64}", key):
            raise KeyUnavailable("the database key must be 64 hexadecimal digits; an empty key is refused")
        self.path = path
        self.writing = False
        private_folder(path.parent)
        # Two that make a store at once could each turn it into a different one, or find it half made.
        with alone(path.parent):
            self._open(path, key, create, steps, tell)

    def _open(
        self,
        path: Path,
        key: str,
        create: bool,
        steps: tuple[str, ...],
        tell: Callable[[str], None] | None,
    ) -> None:
        fresh = not path.exists() or path.stat().st_size == 0
        if fresh and not create:
            raise StoreDamaged(f"there is no store at {path}", hint="check FAZM_MEMORY_HOME")
        check_header(path)
        private_file(path)
        self.peewee = SqlCipherDatabase(
            str(path),
            passphrase=f"x'{key}'",
            pragmas=pragmas(),
            lock_type="IMMEDIATE",
            check_same_thread=False,
        )
        try:
            with told(path):
                self.peewee.connect()
                self.connection: Any = self.peewee.connection()  # type: ignore[no-untyped-call]
                self.execute("SELECT count(*) FROM sqlite_master").fetchone()
                self.migrated = migrate(self.execute, steps, tell)
            check_header(path)
        except BaseException:
            self.close()
            raise
        for suffix in ("-wal", "-shm"):
            side = path.with_name(path.name + suffix)
            if side.exists():
                side.chmod(0o600)

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        try:
            return self.connection.execute(sql, parameters)
        except sqlcipher.Error as error:
            raise self._failed(error) from error

    def executemany(self, sql: str, rows: Any) -> Any:
        try:
            return self.connection.executemany(sql, rows)
        except sqlcipher.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlcipher.Error) -> FazmMemoryError:
        failure = translate(error, self.path)
        if self.writing and not self.connection.in_transaction:
            # A full disk ends a transaction by itself; whatever came next would be written outside of it.
            self.connection = Ended(failure)
        return failure

    def transaction(self) -> Transaction:
        """BEGIN IMMEDIATE: a reader that turns writer would fail busy however long it waits."""
        return Transaction(self)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Transactions within it wait for nobody: while another writes they end in StoreBusy."""
        self.execute("PRAGMA busy_timeout=0")
        try:
            yield
        finally:
            self.execute(f"PRAGMA busy_timeout={round(BUSY_SECONDS * 1000)}")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One consistent view for several reads; errors of the driver in our words."""
        with told(self.path):
            if self.connection.in_transaction:
                yield
                return
            self.execute("BEGIN")
            try:
                yield
            finally:
                if self.connection.in_transaction:  # an error of the disk ends it by itself
                    self.execute("COMMIT")

    def close(self) -> None:
        if not self.peewee.is_closed():
            self.peewee.close()


class Transaction:
    """All of a block or none of it. A class and no generator: every append goes through it."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.connection = db.connection

    def __enter__(self) -> Any:
        within = self.db.writing or self.connection.in_transaction  # of somebody else, who goes on
        try:
            self.db.execute("BEGIN IMMEDIATE")
            self.db.writing = True
        except BaseException:  # an interrupt may come when it has begun
            if not within:
                self._end()
            raise

    def at_end(self) -> None:
        """What is still to be done before all of it is committed."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            try:
                if error is None:
                    self.at_end()
                    self.db.execute("COMMIT")
            finally:
                self._end()
        except Exception as failure:
            retold(failure, self.db.path)
            raise
        if error is not None:
            retold(error, self.db.path)

    def _end(self) -> None:
        try:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        finally:
            self.db.connection, self.db.writing = self.connection, False


class Ended:
    """In the place of a connection whose transaction is over before its time: it only says why."""

    in_transaction = False
    total_changes = -1

    def __init__(self, why: FazmMemoryError) -> None:
        self.why = why

    def execute(self, *_: Any) -> Any:
        raise self.why

    executemany = execute


def pragmas() -> list[tuple[str, object]]:
    chosen: list[tuple[str, object]] = [
        ("cipher_log_level", "none"),  # its words go to stderr, where an agent would read them
        ("busy_timeout", round(BUSY_SECONDS * 1000)),  # peewee's own `timeout` never reaches SQLCipher
        ("journal_mode", "wal"),
        ("wal_autocheckpoint", LOG_PAGES),
        ("synchronous", "full"),
        ("cache_size", -32_000),
        ("temp_store", "memory"),  # a temporary file would be plaintext
        ("journal_size_limit", 64 << 20),
    ]
    if sys.platform == "darwin":  # there a plain fsync does not reach the platter
        chosen += [("fullfsync", 1), ("checkpoint_fullfsync", 1)]
    return chosen


def check_header(path: Path) -> None:
    """Refuse a database that is not encrypted; never write secrets into one."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreReadOnly(
            f"{path} cannot be read: {error.strerror}", hint="check its owner and permissions"
        ) from error
    if start == PLAINTEXT:
        raise StoreUnsafe(
            f"{path} is not encrypted, so nothing was written to it",
            hint="move it away; a new encrypted store is made in its place",
        )


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Errors of the driver, in words for people, in one place."""
    try:
        yield
    except Exception as error:
        retold(error, path)
        raise


def retold(error: BaseException, path: Path) -> None:
    """Raise an error of the driver in words for people; any other is left to whoever has it."""
    if isinstance(error, (sqlcipher.Error, peewee.PeeweeException)):
        raise translate(error, path) from error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise StoreFull(f"no room left beside {path}", hint="free some space, then try again") from error


def translate(error: Exception, path: Path) -> FazmMemoryError:
    text = str(error).lower()
    if "full" in text:
        return StoreFull(
            "the disk is full: what was acknowledged before is kept, this was not written",
            hint="free some space, then send it again",
        )
    if "locked" in text or "busy" in text:
        return StoreBusy(
            f"another process has kept the store locked for {BUSY_SECONDS} seconds; this was not written",
            hint="try again; if it goes on, see which process holds it with `fazm-memory doctor`",
        )
    if "readonly" in text or "read-only" in text or "unable to open" in text or "permission" in text:
        return StoreReadOnly(
            f"{path} cannot be written: {error}",
            hint="check the folder's permissions and owner; what was recorded before is untouched",
        )
    if "not a database" in text:
        return StoreDamaged(
            f"the first page of {path} is damaged, or this is not its key; nothing was changed and no new"
            " store was made",
            hint=f"if the key folder was moved or restored, put the right one back; else {RECOVER_HINT}",
        )
    if "constraint" in text:
        return Conflict(
            f"the store has that already ({error}); this was not written",
            hint="nothing is damaged: look at what is there under that name",
        )
    if "malformed" in text or "corrupt" in text or "hmac" in text:
        return StoreDamaged(
            f"{path} has damaged pages ({error}); nothing was changed and no new store was made",
            hint=RECOVER_HINT,
        )
    if "disk i/o" in text:
        return StoreDamaged(
            f"the disk gave an error while reading or writing {path} ({error}); nothing was acknowledged",
            hint=f"check the disk, then {RECOVER_HINT}",
        )
    return StoreDamaged(f"the store answered: {error}", hint=RECOVER_HINT)
