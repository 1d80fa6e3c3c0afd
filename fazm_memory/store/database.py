"""The encrypted database: opening, migrations, transactions, errors.

SQLCipher in WAL mode with synchronous=FULL, so that acknowledged data survives a power cut.
The header is checked before and after opening, because a driver without encryption would silently ignore the
key.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.errors import (
    Conflict,
    FazmMemoryError,
    KeyUnavailable,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
    StoreUnsafe,
)
from fazm_memory.paths import exclusive_lock, private_file, private_folder
from fazm_memory.store.schema import STEPS, statements
from fazm_memory.text import plural

if TYPE_CHECKING:
    import zstandard

    from fazm_memory.store.models import OpenDatabase


# Zstandard for stored bytes, safe to call from several threads
#
# A compressor or decompressor of the library must not be used by two threads at once: it would write or
# read wrong bytes. Each thread has its own.

LEVEL = 3


class _OfThread(threading.local):
    """The compressors, by level, and the decompressor of one thread."""

    def __init__(self) -> None:
        self.compressors: dict[int, zstandard.ZstdCompressor] = {}

    def __getattr__(self, name: str) -> Any:
        if name != "decompressor":
            raise AttributeError(name)
        import zstandard  # listings read no payload

        self.decompressor = zstandard.ZstdDecompressor()
        return self.decompressor


_of_thread = _OfThread()


def compress(data: bytes, level: int = LEVEL) -> bytes:
    compressor = _of_thread.compressors.get(level)
    if compressor is None:
        import zstandard

        compressor = _of_thread.compressors[level] = zstandard.ZstdCompressor(level=level)
    return compressor.compress(data)


def decompress(data: bytes, largest: int = 0) -> bytes:
    """The original bytes.

    `largest` is their most, for frames that do not say how long they are.
    """
    return _of_thread.decompressor.decompress(data, max_output_size=largest)


def frame_error() -> type[Exception]:
    """The error of bytes that cannot be decompressed."""
    import zstandard

    return zstandard.ZstdError


# The database

# A fair queue of the processes that want to write to a database.
#
# SQLite lets waiting writers sleep and try again, and whoever wakes at the right moment is next: under load
# one of them may wait for half a minute. Here they stand in line. Two locks on two files make the line: a
# writer takes the first, waits for the second, and then gives the first back. Whoever has just written and
# wants to write again finds the first lock taken by the next writer, and so cannot overtake it. The operating
# system wakes waiting processes in their order and frees the locks of a process that dies.
#
# The queue decides only who is next. SQLite's own lock still protects the database.

LINE_SUFFIX, TURN_SUFFIX = "-line", "-turn"


class WriteQueue:
    """One place in the queue of a database.

    `enter` waits for the turn, `leave` ends it.
    """

    def __init__(self, database: Path) -> None:
        self._files = [database.with_name(database.name + suffix) for suffix in (LINE_SUFFIX, TURN_SUFFIX)]
        self._locks: list[_FileLock] = []

    def enter(self, seconds: float) -> bool:
        """Wait for the turn, at most this long. Returns whether it came."""
        if not self._locks:
            self._locks = [_FileLock(path) for path in self._files]
        line, turn = self._locks
        until = time.monotonic() + seconds
        if not line.take(seconds):
            return False
        try:
            return turn.take(until - time.monotonic())
        finally:
            line.release()

    def leave(self) -> None:
        if self._locks:
            self._locks[1].release()

    def close(self) -> None:
        for lock in self._locks:
            lock.close()
        self._locks = []


class _FileLock:
    """A lock on a file, waited for in the order of the operating system."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self, seconds: float) -> bool:
        if self._descriptor is None:
            self._descriptor = os.open(private_file(self._path), os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return seconds > 0 and self._wait(self._descriptor, seconds)
        return True

    def _wait(self, descriptor: int, seconds: float) -> bool:
        """Wait in another thread, because the operating system's wait has no time limit."""
        waiting = _Waiting(descriptor)
        threading.Thread(target=waiting.run, daemon=True).start()
        try:
            waiting.done.wait(seconds)
        finally:
            if not waiting.keep():
                self._descriptor = None  # the thread still waits with it, and closes it
        return self._descriptor is not None

    def release(self) -> None:
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class _Waiting:
    """One wait for a lock. Either the waiter keeps the lock, or the thread closes it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._guard = threading.Lock()
        self._abandoned = False
        self.done = threading.Event()

    def run(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._guard:
            self.done.set()
            if self._abandoned:
                os.close(self._descriptor)

    def keep(self) -> bool:
        """Keep the lock if it has come. Otherwise leave it to the thread."""
        with self._guard:
            self._abandoned = not self.done.is_set()
            return not self._abandoned


FILE_SUFFIXES = ("", "-wal", "-shm")
OPENED = 1, 128  # length and offset of the lock that every open connection has on the -shm file


def database_files(path: Path) -> list[Path]:
    """The database file, its write-ahead log and its shared-memory file."""
    return [path.with_name(path.name + suffix) for suffix in FILE_SUFFIXES]


def in_use(path: Path) -> bool:
    """Whether another process has it open.

    Asking while this process has it open would drop its locks.
    """
    try:
        with database_files(path)[-1].open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, *OPENED)
    except FileNotFoundError:
        return False
    except (BlockingIOError, PermissionError):
        return True
    return False


PLAINTEXT = b"SQLite format 3\x00"
BUSY_SECONDS: float = 30
LOG_PAGES = 4000  # a larger write-ahead log is copied back less often

RECOVER_HINT = "run `fazm-memory recover`: it sets the damaged store aside and saves all that verifies"


class Database:
    """One connection.

    `execute` takes statements; `peewee` runs queries of the models on it.
    """

    connection: Any = None

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
            raise KeyUnavailable("The database key must be 64 hexadecimal digits.")
        self.path = path
        self.writing = False
        self.read_only = False
        self.queue = WriteQueue(path)
        self.wait_seconds = BUSY_SECONDS  # seconds that a transaction waits for others
        private_folder(path.parent)
        # Two processes must not create or migrate the same store at once.
        with exclusive_lock(path.parent):
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
            raise StoreDamaged(f"There is no store at {path}.", hint="check FAZM_MEMORY_HOME")
        check_header(path)
        self.read_only = not fresh and not can_write(path)
        if not self.read_only:
            private_file(path)
        try:
            with translated_errors(path):
                self.connection = connect(path, key, read_only=self.read_only)
                self.execute("SELECT count(*) FROM sqlite_master").fetchone()
                self.migrated = migrate(self.execute, steps, tell)
            check_header(path)
        except BaseException:
            self.close()
            raise
        if self.read_only:
            return
        for suffix in ("-wal", "-shm"):
            side = path.with_name(path.name + suffix)
            if side.exists():
                side.chmod(0o600)

    @cached_property
    def peewee(self) -> OpenDatabase:
        from fazm_memory.store.models import OpenDatabase  # slow to import

        return OpenDatabase(self.connection)

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
            # A full disk ends the transaction. What follows must not be written outside of it.
            self.connection = EndedConnection(failure)
        return failure

    def transaction(self) -> Transaction:
        """A write transaction.

        BEGIN IMMEDIATE, because a reader that upgrades to a writer fails busy.
        """
        return Transaction(self)

    @contextmanager
    def waiting_at_most(self, seconds: float) -> Iterator[None]:
        """Let transactions of the block fail with StoreBusy after this long a wait."""
        self.execute(f"PRAGMA busy_timeout={round(seconds * 1000)}")
        self.wait_seconds = seconds
        try:
            yield
        finally:
            self.wait_seconds = BUSY_SECONDS
            self.execute(f"PRAGMA busy_timeout={round(BUSY_SECONDS * 1000)}")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One consistent view for several reads."""
        with translated_errors(self.path):
            if self.connection.in_transaction:
                yield
                return
            self.execute("BEGIN")
            try:
                yield
            finally:
                if self.connection.in_transaction:  # a disk error may have ended it
                    self.execute("COMMIT")

    def close(self) -> None:
        self.queue.close()
        self.__dict__.pop("peewee", None)
        if self.connection is not None:
            self.connection.close()


class Transaction:
    """All of a block or none of it.

    A class instead of a generator, because every append uses it.
    """

    def __init__(self, db: Database) -> None:
        self.db = db
        self.connection = db.connection

    def __enter__(self) -> Any:
        nested = self.db.writing or self.connection.in_transaction
        if self.db.read_only:
            raise StoreReadOnly(
                f"{self.db.path} is read-only: it can be read, but nothing can be recorded or changed.",
                hint="check the folder's permissions and owner, or whether its disk is mounted read-only",
            )
        if not nested and not self.db.queue.enter(self.db.wait_seconds):
            raise busy()
        try:
            self.db.execute("BEGIN IMMEDIATE")
            self.db.writing = True
        except BaseException:  # an interrupt may come after BEGIN
            if not nested:
                self._end()
            raise

    def at_end(self) -> None:
        """Hook for work before the commit."""

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
            raise_translated(failure, self.db.path)
            raise
        if error is not None:
            raise_translated(error, self.db.path)

    def _end(self) -> None:
        try:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        finally:
            self.db.connection, self.db.writing = self.connection, False
            self.db.queue.leave()


class EndedConnection:
    """Stands in for a connection whose transaction ended early.

    Every call raises the reason.
    """

    in_transaction = False
    total_changes = -1

    def __init__(self, why: FazmMemoryError) -> None:
        self.why = why

    def execute(self, *_: Any) -> Any:
        raise self.why

    executemany = execute


def connect(path: Path, key: str, *, read_only: bool) -> Any:
    """Open an encrypted database, with our settings."""
    connection = sqlcipher.connect(
        read_only_address(path) if read_only else str(path),
        isolation_level=None,
        check_same_thread=False,
        uri=read_only,
    )
    try:
        connection.execute(f"PRAGMA key=\"x'{key}'\"")
        for name, value in READING_PRAGMAS if read_only else pragmas():
            connection.execute(f"PRAGMA {name} = {value}")
    except BaseException:
        connection.close()
        raise
    return connection


READING_PRAGMAS: list[tuple[str, object]] = [
    ("cipher_log_level", "none"),
    ("cache_size", -32_000),
    ("temp_store", "memory"),
    ("query_only", 1),
]


def can_write(path: Path) -> bool:
    """Whether this process may change the database file and create files beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def read_only_address(path: Path) -> str:
    """The address that opens a database without writing anything.

    No file is created beside it either. A write-ahead log with content belongs to the data, and SQLite reads
    it only with its shared-memory file. Without such a log the file is complete, and nobody changes it.
    """
    _, log, _ = database_files(path)
    complete = not log.exists() or log.stat().st_size == 0
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if complete else ''}"


def pragmas() -> list[tuple[str, object]]:
    chosen: list[tuple[str, object]] = [
        ("cipher_log_level", "none"),  # it would write to stderr, which agents read
        ("busy_timeout", round(BUSY_SECONDS * 1000)),  # the driver's own `timeout` never reaches SQLCipher
        ("journal_mode", "wal"),
        ("wal_autocheckpoint", LOG_PAGES),
        ("synchronous", "full"),
        ("cache_size", -32_000),
        ("temp_store", "memory"),  # a temporary file would be plaintext
        ("journal_size_limit", 64 << 20),
    ]
    if sys.platform == "darwin":  # there a plain fsync does not reach the disk
        chosen += [("fullfsync", 1), ("checkpoint_fullfsync", 1)]
    return chosen


MANY = 50_000  # events from which on a step is announced
SECONDS_PER_EVENT = 30e-6  # of the slowest step


def version_of(execute: Callable[[str], Any]) -> int:
    return int(execute("PRAGMA user_version").fetchone()[0])


def migrate(
    execute: Callable[[str], Any], steps: tuple[str, ...] = STEPS, tell: Callable[[str], None] | None = None
) -> int:
    """Bring the store to the present schema. Return the number of steps taken.

    Each step is one transaction, so a step killed half way has not happened. `tell` gets a note before a
    step that takes noticeable time. A store from a newer program is refused.
    """
    newest = len(steps)
    found = version_of(execute)
    if found > newest:
        raise StoreNewer(
            f"The store has schema {found}. This program knows schemas up to {newest}.",
            hint="update Fazm Memory; the store was not touched",
        )
    taken = 0
    while found < newest:
        execute("BEGIN IMMEDIATE")
        try:
            found = version_of(execute)  # another process may have been faster
            if found < newest:
                if tell is not None and found > 0:
                    _announce(execute, found + 1, newest, tell)
                for statement in statements(steps[found]):
                    execute(statement)
                found += 1
                taken += 1
                execute(f"PRAGMA user_version = {found}")
            execute("COMMIT")
        except BaseException as error:
            try:
                execute("ROLLBACK")
            except FazmMemoryError:  # a full disk has ended the transaction: report that
                raise error from None
            raise
    return taken


def _announce(execute: Callable[[str], Any], step: int, last: int, tell: Callable[[str], None]) -> None:
    # Counting the events themselves would be slow.
    events = int(execute("SELECT coalesce(sum(head), 0) FROM session").fetchone()[0])
    if events >= MANY:
        about = max(1, round(events * SECONDS_PER_EVENT))
        tell(
            f"note: updating the store to a new format, step {step} of {last}, {plural(events, 'event')}."
            f" This may take about {plural(about, 'second')}."
        )


def check_header(path: Path) -> None:
    """Refuse a database that is not encrypted."""
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
            f"{path} is not encrypted. Nothing was written to it.",
            hint="move it away; a new encrypted store is made in its place",
        )


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn errors of the driver into our own."""
    try:
        yield
    except Exception as error:
        raise_translated(error, path)
        raise


def raise_translated(error: BaseException, path: Path) -> None:
    """Raise an error of the driver as one of ours.

    Other errors are left to the caller.
    """
    peewee = sys.modules.get("peewee")  # if it was not imported, it raised nothing
    if isinstance(error, sqlcipher.Error) or (peewee and isinstance(error, peewee.PeeweeException)):
        raise translate(error, path) from error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise StoreFull(f"No space left beside {path}.", hint="free some space, then try again") from error


def busy() -> StoreBusy:
    return StoreBusy(
        f"Another process has locked the store for {BUSY_SECONDS} seconds. This was not written.",
        hint="try again; `fazm-memory doctor` shows which process uses it",
    )


def translate(error: Exception, path: Path) -> FazmMemoryError:
    text = str(error).lower()
    if "full" in text:
        return StoreFull(
            "The disk is full. This was not written. What was acknowledged before is kept.",
            hint="free some space, then send it again",
        )
    if "locked" in text or "busy" in text:
        return busy()
    if "readonly" in text or "read-only" in text or "unable to open" in text or "permission" in text:
        return StoreReadOnly(
            f"{path} cannot be written: {error}",
            hint="check the folder's permissions and owner; what was recorded before is untouched",
        )
    if "not a database" in text:
        return StoreDamaged(
            f"The first page of {path} is damaged, or the key is wrong. Nothing was changed and no new store"
            " was made.",
            hint=f"if the key folder was moved or restored, put the right one back; else {RECOVER_HINT}",
        )
    if "constraint" in text:
        return Conflict(
            f"The store has that already ({error}). This was not written.",
            hint="nothing is damaged: look at what is there under that name",
        )
    if "malformed" in text or "corrupt" in text or "hmac" in text:
        return StoreDamaged(
            f"{path} has damaged pages ({error}). Nothing was changed and no new store was made.",
            hint=RECOVER_HINT,
        )
    if "disk i/o" in text:
        return StoreDamaged(
            f"The disk failed while reading or writing {path} ({error}). Nothing was acknowledged.",
            hint=f"check the disk, then {RECOVER_HINT}",
        )
    return StoreDamaged(f"The database reported: {error}.", hint=RECOVER_HINT)
