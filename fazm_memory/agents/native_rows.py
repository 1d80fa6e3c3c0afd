"""Sessions of agents that share one database: copy the rows of a session, and put them back.

A copy is a list of lines, one row each, in the order in which rows can be inserted. All lines are read in
one transaction, so they fit together. Rows of other sessions are neither copied nor changed. A missing
database is not created here, because only the agent knows its tables.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

from fazm_memory.agents.fields import digest, moment_ms
from fazm_memory.agents.sqlite_file import BUSY_SECONDS, read_only
from fazm_memory.clock import iso
from fazm_memory.errors import Conflict
from fazm_memory.records import dataclass

ROWS = ".rows"  # added to the name of the database in the path of a copy
BYTES = "$bytes"


@dataclass(frozen=True)
class RowTable:
    """A table with rows of a session. `where` selects them, its parameter is the agent's id of the session.

    `time` is an expression for milliseconds. `numbered`: the column `id` only counts, so a row gets another
    number where its own is taken.
    """

    name: str
    where: str
    time: str = "NULL"
    numbered: bool = False
    shared: bool = False  # rows that other sessions use too: added if missing, never deleted


@dataclass(frozen=True)
class RowDatabase:
    """Where an agent stores sessions. `stamps` selects each session's id, and values that change with it."""

    stamps: str
    tables: tuple[RowTable, ...]


# A session of opencode and the sessions of its subagents.
_FAMILY = (
    "(WITH RECURSIVE family(id) AS (SELECT ?1 UNION SELECT session.id FROM session JOIN family"
    " ON session.parent_id = family.id) SELECT id FROM family)"
)
ROW_DATABASES: dict[str, RowDatabase] = {
    "hermes": RowDatabase(
        "SELECT s.id, s.*, count(m.id), max(m.id), total(length(m.content)), total(m.active),"
        " total(m.compacted) FROM sessions s LEFT JOIN messages m ON m.session_id = s.id GROUP BY s.id",
        (
            RowTable("sessions", "id = ?1"),
            RowTable("messages", "session_id = ?1", "timestamp * 1000", numbered=True),
        ),
    ),
    "goose": RowDatabase(
        "SELECT s.id, s.*, count(m.id), max(m.id), total(length(m.content_json)) FROM sessions s"
        " LEFT JOIN messages m ON m.session_id = s.id GROUP BY s.id",
        (
            RowTable("sessions", "id = ?1"),
            RowTable("messages", "session_id = ?1", "created_timestamp * 1000", numbered=True),
        ),
    ),
    "opencode": RowDatabase(
        "SELECT s.id, s.*, (SELECT max(time_updated) FROM session c WHERE c.parent_id = s.id),"
        " (SELECT count(*) || ' ' || max(time_updated) FROM part WHERE session_id = s.id) FROM session s"
        " WHERE s.parent_id IS NULL OR s.parent_id NOT IN (SELECT id FROM session)",
        (
            RowTable("project", f"id IN (SELECT project_id FROM session WHERE id IN {_FAMILY})", shared=True),
            RowTable("session", f"id IN {_FAMILY}"),
            RowTable("message", f"session_id IN {_FAMILY}", "time_created"),
            RowTable("part", f"session_id IN {_FAMILY}", "time_created"),
            RowTable("todo", f"session_id IN {_FAMILY}"),
        ),
    ),
}


def stamps_of(path: Path, agent: str) -> dict[str, str]:
    """The sessions of a database. A stamp changes when rows of its session change."""
    with read_only(path) as connection:
        rows = connection.execute(ROW_DATABASES[agent].stamps).fetchall()
    return {row[0]: digest(repr(row)) for row in rows if isinstance(row[0], str)}


def snapshot(path: Path) -> bytes:
    """A database as a file, in one consistent state, also while the agent writes to it."""
    with read_only(path) as connection, closing(sqlite3.connect(":memory:")) as copy:
        connection.execute("COMMIT")
        connection.backup(copy)
        return copy.serialize()


def session_rows(path: Path, agent: str, session: str) -> bytes:
    """The rows of a session as lines. Empty if it is not there."""
    with read_only(path) as connection:
        return b"".join(_lines(connection, agent, session))


def _lines(connection: sqlite3.Connection, agent: str, session: str) -> Iterator[bytes]:
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    for table in ROW_DATABASES[agent].tables:
        if not _columns(connection, table.name):
            continue  # this version of the agent has no such table
        query = f"SELECT {table.time}, * FROM {table.name} WHERE {table.where} ORDER BY rowid"
        found = connection.execute(query, (session,))
        names = [column[0] for column in found.description][1:]
        for time, *values in found:
            at = moment_ms(round(time)) if isinstance(time, (int, float)) else None
            about = {"timestamp": iso(at, UTC)} if at is not None else {}
            row = dict(zip(names, map(_packed, values), strict=True))
            yield json.dumps({"table": table.name, **about, "row": row}).encode() + b"\n"


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def _packed(value: Any) -> Any:
    return {BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        return base64.b64decode(value.get(BYTES, ""))
    return value


def restored_rows_state(path: Path, agent: str, session: str, copy: bytes) -> str:
    """What putting a copy back would do: write, same, replace (rows are missing there) or conflict."""
    if not path.is_file() or path.is_symlink():
        raise Conflict(
            f"{path} is not there. Nothing was changed.", hint=f"start {agent} once, it creates its database"
        )
    try:
        there = session_rows(path, agent, session)
    except sqlite3.DatabaseError as error:
        raise Conflict(f"{path} cannot be read: {error}. Nothing was changed.") from error
    if there == copy:
        return "same"
    shared = {table.name for table in ROW_DATABASES[agent].tables if table.shared}
    own = {line for line in there.splitlines() if json.loads(line)["table"] not in shared}
    if not own:
        return "write"
    return "replace" if own <= set(copy.splitlines()) else "conflict"


def restore_rows(path: Path, agent: str, session: str, copy: bytes) -> None:
    """Put the rows of a session back, in one transaction. Rows of it that are there are replaced."""
    tables = {table.name: table for table in ROW_DATABASES[agent].tables}
    address = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with closing(
            sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        ) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for table in reversed(tables.values()):
                if not table.shared and _columns(connection, table.name):
                    connection.execute(f"DELETE FROM {table.name} WHERE {table.where}", (session,))
            before = _counts(connection, tables)
            for line in copy.splitlines():
                record = json.loads(line)
                _insert(connection, tables[record["table"]], record["row"])
            _check_only(connection, tables, session, before)
            connection.execute("COMMIT")
    except (sqlite3.Error, KeyError) as error:
        raise Conflict(f"{path} was not changed: {error}.", hint=f"close {agent} and try again") from error


def _counts(connection: sqlite3.Connection, tables: Mapping[str, RowTable]) -> dict[str, int]:
    """How many rows each table has."""
    known = [name for name in tables if _columns(connection, name)]
    return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in known}


def _check_only(
    connection: sqlite3.Connection, tables: Mapping[str, RowTable], session: str, before: dict[str, int]
) -> None:
    """Raise if rows of another session were added: a copy may come from another machine."""
    for name, count in _counts(connection, tables).items():
        query = f"SELECT count(*) FROM {name} WHERE {tables[name].where}"
        own = connection.execute(query, (session,)).fetchone()[0]
        if not tables[name].shared and count - before[name] != own:
            raise Conflict(f"The copy has rows of another session in {name}. Nothing was changed.")


def _insert(connection: sqlite3.Connection, table: RowTable, row: dict[str, Any]) -> None:
    there = _columns(connection, table.name)
    values = {name: _unpacked(value) for name, value in row.items()}
    if missing := [name for name in values if name not in there and values[name] is not None]:
        raise Conflict(
            f"The table {table.name} has no column {missing[0]}. Nothing was changed.",
            hint="the copy was made with another version of the agent",
        )
    values = {name: value for name, value in values.items() if name in there}
    if table.numbered:
        taken = connection.execute(f"SELECT 1 FROM {table.name} WHERE id = ?", (values.get("id"),)).fetchone()
        if taken is not None:
            del values["id"]
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("CAST(? AS TEXT)" if _is_odd(value) else "?" for value in values.values())
    verb = "INSERT OR IGNORE" if table.shared else "INSERT"
    stored = [
        value.encode("utf-8", "surrogateescape") if _is_odd(value) else value for value in values.values()
    ]
    connection.execute(f"{verb} INTO {table.name} ({names}) VALUES ({marks})", stored)


def _is_odd(value: Any) -> bool:
    """Whether a text is not valid UTF-8."""
    return isinstance(value, str) and not value.isascii() and any("\udc80" <= c <= "\udcff" for c in value)
