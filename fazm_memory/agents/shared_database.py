"""The rows of a session in a database that all sessions of an agent share.

A copy is a list of lines, one row each, in the order in which rows can be inserted. All lines are read in
one transaction, so they fit together. Rows of other sessions are neither copied nor changed. A missing
database is not created here, because only the agent knows its tables.
"""

from __future__ import annotations

import base64
import errno
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import RecordFile
from fazm_memory.agents.fields import digest, moment, moment_ms, record_of
from fazm_memory.agents.sqlite_file import BUSY_SECONDS, read_only
from fazm_memory.clock import iso
from fazm_memory.errors import Conflict
from fazm_memory.paths import move_folders, open_regular
from fazm_memory.records import dataclass

ROWS = ".rows"  # added to the name of the database in the path of a copy
BYTES = "$bytes"
LARGEST = 1 << 30  # bytes of a copy
HARMLESS = ("sessionId", "updatedAt", "sessionStartedAt")


@dataclass(frozen=True)
class RowTable:
    """A table with rows of a session.

    `where` selects them, its parameter is the agent's id of the session.

    `numbered`: the column `id` only counts, so a row gets another number where its own is taken.
    """

    name: str
    where: str
    time: str = ""  # the column that says when a row was written: milliseconds, seconds or text
    seconds: bool = False
    numbered: bool = False
    shared: bool = False  # rows that other sessions use too: added if missing, never deleted
    folders: tuple[str, ...] = ()  # columns that name the folder of the session
    rights: tuple[str, ...] = ()  # columns that run or allow something: not taken from another machine
    settings: str = ""  # a column of JSON with such settings, of which only HARMLESS is taken
    triggered: tuple[str, ...] = ()  # columns that a trigger of the agent changes in a new row


@dataclass(frozen=True)
class RowDatabase:
    """Where an agent stores sessions.

    `stamps` selects each session's id, and values that change with it.

    The first table that is not shared has one row for the session itself.
    """

    stamps: str
    tables: tuple[RowTable, ...]

    @property
    def main(self) -> str:
        return next(table.name for table in self.tables if not table.shared)


# A session of opencode and the sessions of its subagents.
_FAMILY = (
    "(WITH RECURSIVE family(id) AS (SELECT ?1 UNION SELECT session.id FROM session JOIN family"
    " ON session.parent_id = family.id) SELECT id FROM family)"
)
_OF_FAMILY = f"session_id IN {_FAMILY}"
_ROOTS = (
    "WITH RECURSIVE tree(root, id) AS (SELECT id, id FROM session WHERE parent_id IS NULL OR parent_id NOT IN"
    " (SELECT id FROM session) UNION SELECT tree.root, session.id FROM session JOIN tree"
    " ON session.parent_id = tree.id)"
)
ROW_DATABASES: dict[str, RowDatabase] = {
    "hermes": RowDatabase(
        "SELECT s.id, s.*, count(m.id), max(m.id), total(length(m.content)), total(m.active),"
        " total(m.compacted) FROM sessions s LEFT JOIN messages m ON m.session_id = s.id GROUP BY s.id",
        (
            RowTable("sessions", "id = ?1", "started_at", seconds=True, folders=("cwd", "git_repo_root")),
            RowTable("messages", "session_id = ?1", "timestamp", seconds=True, numbered=True),
            RowTable("session_model_usage", "session_id = ?1", "first_seen", seconds=True),
        ),
    ),
    "goose": RowDatabase(
        "SELECT s.id, s.*, count(m.id), max(m.id), total(length(m.content_json)) FROM sessions s"
        " LEFT JOIN messages m ON m.session_id = s.id GROUP BY s.id",
        (
            RowTable("sessions", "id = ?1", "created_at", folders=("working_dir",)),
            RowTable("messages", "session_id = ?1", "created_timestamp", seconds=True, numbered=True),
        ),
    ),
    "opencode": RowDatabase(
        f"{_ROOTS} SELECT t.root, r.*, max(s.time_updated),"
        " total((SELECT count(*) FROM message m WHERE m.session_id = s.id)),"
        " max((SELECT max(time_updated) FROM message m WHERE m.session_id = s.id)),"
        " total((SELECT count(*) FROM part p WHERE p.session_id = s.id)),"
        " max((SELECT max(time_updated) FROM part p WHERE p.session_id = s.id)), count(*)"
        " FROM tree t JOIN session r ON r.id = t.root JOIN session s ON s.id = t.id GROUP BY t.root",
        (
            RowTable(
                "project",
                f"id IN (SELECT project_id FROM session WHERE id IN {_FAMILY})",
                shared=True,
                folders=("worktree",),
                rights=("commands",),
            ),
            RowTable(
                "session",
                f"id IN {_FAMILY}",
                "time_created",
                folders=("directory", "path"),
                rights=("permission", "share_url"),
            ),
            RowTable("message", _OF_FAMILY, "time_created"),
            RowTable("part", _OF_FAMILY, "time_created"),
            RowTable("todo", _OF_FAMILY, "time_created"),
            RowTable("session_message", _OF_FAMILY, "time_created"),
            RowTable("session_input", _OF_FAMILY, "time_created"),
            RowTable("session_context_epoch", _OF_FAMILY),
        ),
    ),
    "openclaw": RowDatabase(
        "SELECT w.session_id, w.*, count(e.seq), max(e.seq), total(e.created_at),"
        " (SELECT generation FROM transcript_rewrite_watermarks g WHERE g.session_id = w.session_id)"
        " FROM session_windows w LEFT JOIN transcript_events e ON e.session_id = w.session_id"
        " GROUP BY w.session_id",
        (
            RowTable(
                "session_nodes",
                "session_key IN (SELECT session_key FROM session_windows WHERE session_id = ?1)",
                shared=True,
                settings="entry_json",
                triggered=("entry_valid",),  # OpenClaw refuses all sessions if it is not set for one
            ),
            RowTable("session_windows", "session_id = ?1", "created_at"),
            RowTable("transcript_events", "session_id = ?1", "created_at"),
            RowTable("transcript_event_identities", "session_id = ?1", "created_at"),
            RowTable("session_transcript_index_state", "session_id = ?1"),
            RowTable("session_transcript_active_events", "session_id = ?1"),
            RowTable("transcript_rewrite_watermarks", "session_id = ?1"),
        ),
    ),
}


def is_rows(root: str, path: str) -> bool:
    """Whether a copy has the rows of a session, not a file."""
    return root in ROW_DATABASES and path.endswith(ROWS)


def is_row_database(record: RecordFile) -> bool:
    """Whether a record is a database of many sessions, of which rows can be copied."""
    return record.agent in ROW_DATABASES and record.path.suffix in (".db", ".sqlite")


def stamps_of(path: Path, agent: str) -> dict[str, str]:
    """The sessions of a database. A stamp changes when rows of its session change."""
    with read_only(path) as connection:
        connection.text_factory = bytes
        rows = connection.execute(ROW_DATABASES[agent].stamps).fetchall()
    named = ((row[0].decode("utf-8", "replace"), row) for row in rows if isinstance(row[0], bytes))
    return {name: digest(repr(row)) for name, row in named}


def session_rows(path: Path, agent: str, session: str) -> bytes:
    """The rows of a session as lines.

    Empty if it is not there. `OSError` if they are too large.
    """
    lines, size = [], 0
    with read_only(path) as connection:
        for line in _lines(connection, agent, session):
            lines.append(line)
            size += len(line)
            if size > LARGEST:
                raise OSError(errno.EFBIG, f"a session larger than {LARGEST >> 20} MiB is not copied")
    return b"".join(lines)


def _lines(connection: sqlite3.Connection, agent: str, session: str) -> Iterator[bytes]:
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    for table in ROW_DATABASES[agent].tables:
        if not _columns(connection, table.name):
            continue  # this version of the agent has no such table
        found = connection.execute(
            f"SELECT * FROM {table.name} WHERE {table.where} ORDER BY rowid", (session,)
        )
        names = [column[0] for column in found.description]
        for values in found:
            row = dict(zip(names, values, strict=True))
            yield _line(table, {name: _packed(value) for name, value in row.items()})


def _line(table: RowTable, row: dict[str, Any]) -> bytes:
    """A row as a line.

    Its time says whether it was written while recording was paused.
    """
    at, value = None, row.get(table.time)
    if isinstance(value, (int, float)):
        at = moment_ms(round(value * 1000 if table.seconds else value))
    elif isinstance(value, str):
        at = moment(value) or moment(f"{value}Z")  # SQLite's own form has no zone
    about = {"timestamp": iso(at, UTC)} if at is not None else {}
    return json.dumps({"table": table.name, **about, "row": row}).encode() + b"\n"


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def _packed(value: Any) -> Any:
    return {BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _unpacked(value: Any) -> Any:
    return base64.b64decode(value[BYTES]) if isinstance(value, dict) else value


def placed_rows(agent: str, copy: bytes, before: str | None, after: str | None, *, foreign: bool) -> bytes:
    """A copy as it is put back: with the folder where the session is now.

    `foreign`: another machine made it. Its own rows say which folder it had there, and what would run or
    allow something is left out.
    """
    database = ROW_DATABASES[agent]
    records = list(_records(agent, copy))
    own = next((row for table, row in records if table.name == database.main), None)
    if records and own is None:
        raise Conflict(
            "The session began while recording was paused, so its copy is not complete. Nothing was changed."
        )
    if foreign and own is not None:
        before = next(
            (str(own[name]) for table in database.tables for name in table.folders if own.get(name)), None
        )
    moved = {}
    if before and after and before != after:
        moved = {before: after, before.lstrip("/"): after.lstrip("/")}
    lines = []
    for table, row in records:
        if moved:
            row |= {name: move_folders(row[name], moved) for name in table.folders if row.get(name)}
        if foreign:
            row |= _without_rights(table, row)
        lines.append(_line(table, row))
    return b"".join(lines)


def _records(agent: str, copy: bytes) -> Iterator[tuple[RowTable, dict[str, Any]]]:
    """The rows of a copy, which may come from another machine."""
    tables = {table.name: table for table in ROW_DATABASES[agent].tables}
    for line in copy.splitlines():
        try:
            record = json.loads(line)
            table, row = tables[record["table"]], dict(record["row"])
            for value in row.values():
                _unpacked(value)
        except (ValueError, KeyError, TypeError) as error:
            raise Conflict("The copy has a row that cannot be read. Nothing was changed.") from error
        yield table, row


def _without_rights(table: RowTable, row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row of another machine that are not taken as they are."""
    changed: dict[str, Any] = {name: None for name in table.rights if name in row}
    if table.settings in row:
        entry = record_of(str(row[table.settings])) or {}
        changed[table.settings] = json.dumps({name: entry[name] for name in HARMLESS if name in entry})
    return changed


def restored_rows_state(path: Path, agent: str, session: str, copy: bytes) -> str:
    """What putting a copy back would do: write, same, replace or conflict.

    `replace`: rows of the session are missing there.
    """
    if not path.is_file() or path.is_symlink():
        raise Conflict(
            f"{path} is not there. Nothing was changed.", hint=f"start {agent} once, it creates its database"
        )
    try:
        there = session_rows(path, agent, session)
    except (sqlite3.DatabaseError, OSError) as error:
        raise Conflict(f"{path} cannot be read: {error}. Nothing was changed.") from error
    have, wanted = _own_rows(agent, there), _own_rows(agent, copy)
    if not have:
        return "write"
    if have == wanted:
        return "same"
    return "replace" if set(have) <= set(wanted) else "conflict"


def _own_rows(agent: str, copy: bytes) -> list[str]:
    """The rows of the session alone, without numbers that only count."""
    found = []
    for table, row in _records(agent, copy):
        if table.numbered:
            row.pop("id", None)
        if not table.shared:
            found.append(json.dumps([table.name, row], sort_keys=True))
    return found


def restore_rows(path: Path, agent: str, session: str, copy: bytes) -> None:
    """Put the rows of a session back, in one transaction.

    Rows of it that are there are replaced.
    """
    tables = {table.name: table for table in ROW_DATABASES[agent].tables}
    open_regular(path).close()  # SQLite would wait for a pipe for ever
    address = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with closing(
            sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        ) as connection:
            add_functions(connection)
            connection.execute("BEGIN IMMEDIATE")
            known = {name: table for name, table in tables.items() if _columns(connection, name)}
            for table in reversed(known.values()):
                if not table.shared:
                    connection.execute(f"DELETE FROM {table.name} WHERE {table.where}", (session,))
            before = _others(connection, known, session)
            records = list(_records(agent, copy))
            taken = _taken(connection, records)
            for table, row in records:
                _insert(connection, table, row, numbers=table.name not in taken)
            after = _others(connection, known, session)
            if any(after[name] > count for name, count in before.items()):
                raise Conflict("The copy has rows of another session. Nothing was changed.")
            connection.execute("COMMIT")
    except (sqlite3.Error, KeyError, OverflowError) as error:
        raise Conflict(f"{path} was not changed: {error}.", hint=f"close {agent} and try again") from error


def add_functions(connection: sqlite3.Connection) -> None:
    """Add what the SQLite of this Python is too old for.

    OpenClaw's tables check rows with it.
    """
    if sqlite3.sqlite_version_info < (3, 43):
        connection.create_function("octet_length", 1, _octet_length, deterministic=True)


def _octet_length(value: Any) -> int | None:
    return None if value is None else len(value if isinstance(value, bytes) else str(value).encode())


def _others(connection: sqlite3.Connection, tables: Mapping[str, RowTable], session: str) -> dict[str, int]:
    """How many rows of each table this session has no part in."""
    found = {}
    for name, table in tables.items():
        query = f"SELECT count(*) - count(CASE WHEN {table.where} THEN 1 END) FROM {name}"
        found[name] = connection.execute(query, (session,)).fetchone()[0]
    return found


def _taken(connection: sqlite3.Connection, records: list[tuple[RowTable, dict[str, Any]]]) -> set[str]:
    """The tables in which another session has numbers of these rows.

    There all rows get new numbers.
    """
    found = set()
    for table, row in records:
        if table.numbered and table.name not in found:
            query = f"SELECT 1 FROM {table.name} WHERE id = ?"
            if connection.execute(query, (row.get("id"),)).fetchone() is not None:
                found.add(table.name)
    return found


def _insert(connection: sqlite3.Connection, table: RowTable, row: dict[str, Any], *, numbers: bool) -> None:
    there = _columns(connection, table.name)
    values = {name: _unpacked(value) for name, value in row.items()}
    if missing := [name for name in values if name not in there and values[name] is not None]:
        raise Conflict(
            f"The table {table.name} has no column {missing[0]}. Nothing was changed.",
            hint="the copy was made with another version of the agent",
        )
    values = {name: value for name, value in values.items() if name in there}
    if not numbers:
        values.pop("id", None)
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("CAST(? AS TEXT)" if _is_odd(value) else "?" for value in values.values())
    verb = "INSERT OR IGNORE" if table.shared else "INSERT"
    stored = [
        value.encode("utf-8", "surrogateescape") if _is_odd(value) else value for value in values.values()
    ]
    inserted = connection.execute(f"{verb} INTO {table.name} ({names}) VALUES ({marks})", stored)
    for name in values.keys() & set(table.triggered) if inserted.rowcount else ():
        query = f"UPDATE {table.name} SET {name} = ? WHERE rowid = ?"
        connection.execute(query, (values[name], inserted.lastrowid))


def _is_odd(value: Any) -> bool:
    """Whether a text is not valid UTF-8."""
    return isinstance(value, str) and not value.isascii() and any("\udc80" <= c <= "\udcff" for c in value)
