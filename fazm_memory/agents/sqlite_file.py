"""Reading databases of agents row by row, without changing them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fazm_memory.agents.base import Chunk, Cursor, RecordFile
from fazm_memory.agents.fields import mapping
from fazm_memory.agents.session_drafts import SessionDrafts
from fazm_memory.paths import open_regular

BUSY_SECONDS = 2.0
MOST_ROWS = 2000
MOST_SESSIONS = 200


def database_stats(path: Path) -> list[os.stat_result]:
    """The stats of the database and of its log, if that is not empty."""
    found = [path.stat()]
    try:
        log = path.with_name(f"{path.name}-wal").stat()
    except FileNotFoundError:
        return found
    return [*found, log] if log.st_size else found


def database_file(agent: str, path: Path, session: str) -> Iterator[RecordFile]:
    """The database as a record file, if it is there."""
    try:
        found = database_stats(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    size, newest = sum(stat.st_size for stat in found), max(stat.st_mtime for stat in found)
    yield RecordFile(agent, path, session, size, newest)


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading, in one consistent state.

    A reader would create a log and an index. So a database without a log is opened as immutable. A pipe or a
    device in its place raises `OSError`: SQLite would wait for it for ever.
    """
    open_regular(path).close()
    at_rest = len(database_stats(path)) == 1
    address = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if at_rest else ''}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    # Without this, one text that is no UTF-8 would make the whole database unreadable.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


def snapshot(path: Path) -> bytes:
    """A database as a file in one consistent state.

    The agent may write to it meanwhile.
    """
    with read_only(path) as connection, closing(sqlite3.connect(":memory:")) as copy:
        connection.execute("COMMIT")
        connection.backup(copy)
        return copy.serialize()


def rows_of(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], where: str, values: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """Rows of a table. A column that this version of the agent does not have is None."""
    there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    if not there:
        raise sqlite3.DatabaseError(f"no table {table}")
    names = [name if name in there or name == "rowid" else f"NULL AS {name}" for name in columns]
    for row in connection.execute(f"SELECT {', '.join(names)} FROM {table} {where}", values):
        yield dict(zip(columns, row, strict=True))


class DatabaseDrafts:
    """Drafts of all sessions of a database. `row` is the last row that was read."""

    def __init__(self, agent: str, carry: Mapping[str, Any], home: str | None) -> None:
        self.agent = agent
        self.home = home
        self.row: int = carry.get("row") or 0
        self.last = self.row  # of the database
        self.before = mapping(carry.get("sessions"))
        self.sessions: dict[str, SessionDrafts] = {}
        self.drafts: list[Any] = []
        self.unknown: dict[str, int] = {}
        self.bad = 0

    def of(self, session: str) -> tuple[SessionDrafts, bool]:
        """The drafts of a session, and whether this chunk meets it for the first time."""
        found = self.sessions.get(session)
        if found is not None:
            return found, False
        found = SessionDrafts(self.agent, session, mapping(self.before.get(session)), self.home)
        found.drafts, found.unknown = self.drafts, self.unknown
        self.sessions[session] = found
        return found, True

    def rows(
        self, connection: sqlite3.Connection, table: str, columns: Sequence[str], limit: int
    ) -> Iterator[dict[str, Any]]:
        """The next rows. A database that was made anew is read from its start."""
        last = connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0
        self.row = 0 if last < self.row else self.row
        self.last = last
        taken = 0
        where = "WHERE rowid > ? ORDER BY rowid LIMIT ?"
        for row in rows_of(connection, table, ("rowid", *columns), where, (self.row, MOST_ROWS)):
            if taken >= limit:
                break
            self.row = row["rowid"]
            taken += sum(len(value) for value in row.values() if isinstance(value, (str, bytes)))
            yield row

    def carry(self) -> dict[str, Any]:
        states = {name: drafts.carry() for name, drafts in self.sessions.items()}
        others = {name: value for name, value in self.before.items() if name not in states}
        return {"row": self.row, "sessions": dict(list((others | states).items())[-MOST_SESSIONS:])}


def unreadable(error: sqlite3.DatabaseError, cursor: Cursor) -> Chunk:
    """What a reader answers about a database that is busy, damaged or not its agent's."""
    if isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error)):
        return Chunk((), cursor, waiting=True)
    return Chunk((), cursor, bad=1, trouble=f"The database cannot be read: {error}.")


def read_database(
    record: RecordFile,
    cursor: Cursor,
    drafts: DatabaseDrafts,
    read_on: Callable[[sqlite3.Connection], None],
) -> Chunk:
    """The next chunk of a database. `read_on` reads rows into `drafts`."""
    try:
        with read_only(record.path) as connection:
            read_on(connection)
    except sqlite3.DatabaseError as error:
        return unreadable(error, cursor)
    more = drafts.row < drafts.last
    if not more:
        for session in drafts.sessions.values():
            session.finish()
    after = Cursor(0, drafts.carry())
    return Chunk(tuple(drafts.drafts), after, more, drafts.unknown, drafts.bad)
