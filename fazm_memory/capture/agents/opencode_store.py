"""opencode's database, opened to look and never to touch: sessions, messages and parts as they are now.

Its ids wrap around every two years and its times have no index, so parts are read in the order of their rows.
That order survives everything but the removal of the newest rows, after which SQLite hands their numbers out
again: a mark names the row and what stood there, so that a reader notices.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fazm_memory.capture.agents.fields import digest, ident, mapping, record_of, text, whole

BUSY_SECONDS = 2.0
DEEPEST_NESTING = 10
PARTS = "SELECT rowid, id, message_id, session_id, time_created, data FROM part"


@dataclass(frozen=True)
class Part:
    """A row of the table: `data` as it is stored, to be read when its turn comes."""

    row: int
    mark: str
    id: str
    message: str
    session: str
    made_ms: Any
    data: Any


@dataclass(frozen=True)
class Session:
    id: str
    parent: str
    folder: str
    title: str
    model: str
    made_ms: int
    changed_ms: int


@dataclass(frozen=True)
class Message:
    id: str
    made_ms: int
    data: dict[str, Any]


class Store:
    """One look at the database; sessions and messages are remembered for as long as it lasts."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.sessions: dict[str, Session | None] = {}
        self.message_now = Message("", 0, {})

    def parts_after(self, row: int, limit: int) -> Iterator[Part]:
        rows = self.connection.execute(f"{PARTS} WHERE rowid > ? ORDER BY rowid LIMIT ?", (row, limit))
        return map(_part, rows)

    def part(self, name: str) -> Part | None:
        found = self.connection.execute(f"{PARTS} WHERE id = ?", (name,)).fetchone()
        return _part(found) if found else None

    def stands(self, row: int, mark: str) -> bool:
        """Whether a row still holds the part it held when it was marked."""
        found = self.connection.execute("SELECT id FROM part WHERE rowid = ?", (row,)).fetchone()
        return found is not None and digest(repr(found[0])) == mark

    def message(self, name: str) -> Message:
        """A message; those of neighbouring parts are mostly the same one."""
        if self.message_now.id != name:
            query = "SELECT time_created, data FROM message WHERE id = ?"
            made, data = self.connection.execute(query, (name,)).fetchone() or (0, None)
            self.message_now = Message(name, whole(made) or 0, record_of(text(data)) or {})
        return self.message_now

    def session(self, name: str) -> Session | None:
        if name not in self.sessions:
            query = "SELECT parent_id, directory, title, model, time_created, time_updated FROM session"
            one = self.connection.execute(f"{query} WHERE id = ?", (name,)).fetchone()
            self.sessions[name] = one and Session(
                name,
                ident(one[0]),
                text(one[1]),
                text(one[2]).strip(),
                ident(mapping(record_of(text(one[3]))).get("id")),
                whole(one[4]) or 0,
                whole(one[5]) or 0,
            )
        return self.sessions[name]

    def root(self, name: str) -> Session | None:
        """The session a subagent's session works for; any other is its own root."""
        found = self.session(name)
        for _ in range(DEEPEST_NESTING):
            above = self.session(found.parent) if found is not None and found.parent else None
            if above is None:
                break
            found = above
        return found

    def forked_from(self, session: Session) -> str | None:
        """The session whose messages this one copied. A copy keeps the time at which it was said."""
        query = "SELECT max(time_created) FROM message WHERE session_id = ? AND time_created < ?"
        last = self.connection.execute(query, (session.id, session.made_ms)).fetchone()[0]
        if last is None:
            return None
        query = (
            # In this order: messages are found by their session and time, not by their time alone.
            "SELECT session.id FROM session CROSS JOIN message"
            " ON message.session_id = session.id AND message.time_created = ?"
            " WHERE session.id <> ? AND session.time_created < ? ORDER BY session.time_created DESC LIMIT 1"
        )
        found = self.connection.execute(query, (last, session.id, session.made_ms)).fetchone()
        return ident(found[0]) or None if found else None


def _part(row: tuple[Any, ...]) -> Part:
    return Part(row[0], digest(repr(row[1])), ident(row[1]), ident(row[2]), ident(row[3]), row[4], row[5])


def stats(path: Path) -> list[os.stat_result]:
    """The database and, unless it is empty, the log beside it, in which what is new is found first."""
    found = [path.stat()]
    try:
        log = path.with_name(f"{path.name}-wal").stat()
    except FileNotFoundError:
        return found
    return [*found, log] if log.st_size else found


@contextmanager
def looking(path: Path) -> Iterator[Store]:
    """A look at the database. Without a log beside it nobody is writing, and it is read without a trace.

    Even a reader leaves a log and an index behind where there were none; so a database at rest is opened as
    one that cannot change, and one in use shares what its writer has put there.
    """
    at_rest = len(stats(path)) == 1
    address = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if at_rest else ''}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("BEGIN")  # all that is read is of one moment
        yield Store(connection)
    finally:
        connection.close()
