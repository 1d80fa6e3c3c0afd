"""The files that an agent needs to resume a session.

This module says where they belong, and copies and writes them.

A path is stored below a named folder of the agent, because that folder is elsewhere on another machine.
Claude Code also names a project's folder after its path, which may be another one there.

A conversation can be written as a session of another agent, in that agent's own format. Claude Code 2.1.197
and Codex 0.166.0 resume what is written here. Every line that carries something over begins with a mark, by
which our readers know that it is recorded already.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import re
import shlex
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid5

from fazm_memory.agents.antigravity import antigravity_folder
from fazm_memory.agents.base import Places, RecordFile, config_folder, openclaw_home
from fazm_memory.agents.fields import digest, moment, moment_ms, record_of
from fazm_memory.agents.goose import goose_folder
from fazm_memory.agents.opencode import opencode_folder
from fazm_memory.agents.sqlite_file import BUSY_SECONDS, read_only
from fazm_memory.clock import iso, to_datetime
from fazm_memory.errors import Conflict
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import move_folders, open_regular
from fazm_memory.records import dataclass

# Rows of a shared database
#
# A copy is a list of lines, one row each, in the order in which rows can be inserted. All lines are read in
# one transaction, so they fit together. Rows of other sessions are neither copied nor changed. A missing
# database is not created here, because only the agent knows its tables.

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


def stamps_of(path: Path, agent: str) -> dict[str, str]:
    """The sessions of a database. A stamp changes when rows of its session change."""
    with read_only(path) as connection:
        connection.text_factory = bytes
        rows = connection.execute(ROW_DATABASES[agent].stamps).fetchall()
    named = ((row[0].decode("utf-8", "replace"), row) for row in rows if isinstance(row[0], bytes))
    return {name: digest(repr(row)) for name, row in named}


def snapshot(path: Path) -> bytes:
    """A database as a file in one consistent state.

    The agent may write to it meanwhile.
    """
    with read_only(path) as connection, closing(sqlite3.connect(":memory:")) as copy:
        connection.execute("COMMIT")
        connection.backup(copy)
        return copy.serialize()


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


# Files

CLAUDE, CODEX, HOME = "claude", "codex", "home"
COWORK = "claude-cowork"
OWN_FOLDERS = ("copilot", "cline")  # agents with a folder for each session, all of which a resume needs
PROJECTS = "projects"
NATIVE_SUFFIXES = (".jsonl", ".json")
OWN_DATABASE = "store.db"  # Cursor's CLI has a database for each session
CONVERSATIONS = "conversations"  # Antigravity's folder with a database for each session, which a resume needs
# Below an agent's folder: what it stores for a session beside the transcript and the folder named like it.
BESIDE = {
    CLAUDE: ("todos/{id}*.json", "tasks/{id}/**/*", "session-env/{id}/**/*"),
    "qwen": ("todos/{id}*.json",),
}
SHARED_NAMES = frozenset({"session_index.jsonl", "history.jsonl"})  # lists of all sessions


@dataclass(frozen=True)
class NativeFile:
    """A file of a session.

    `path` is below the folder `root`, which is at `origin` on this machine.

    Rows of a database that many sessions share are one file for each session. Its `stamp` changes with them.
    """

    agent: str
    session: str
    root: str
    path: str
    origin: str
    stamp: str = ""

    @property
    def absolute(self) -> Path:
        return Path(self.origin, self.path.removesuffix(ROWS) if self.is_rows else self.path)

    @property
    def is_rows(self) -> bool:
        return is_rows(self.root, self.path)

    @property
    def is_database(self) -> bool:
        return not self.is_rows and self.path.endswith(".db")

    @property
    def name(self) -> str:
        """What identifies the file within its session.

        Codex moves a rollout when it archives the session.
        """
        return Path(self.path).name if self.root == CODEX else self.path


def agent_roots(places: Places) -> dict[str, Path]:
    """The folders of the agents by name."""
    return {
        CLAUDE: config_folder("claude-code", places),
        CODEX: config_folder("codex", places),
        **{agent: config_folder(agent, places) for agent in (*OWN_FOLDERS, "qwen")},
        HOME: places.home,
        # After the home, so that only rows are named by these folders.
        "hermes": config_folder("hermes", places),
        "goose": goose_folder(places),
        "opencode": opencode_folder(places),
        "openclaw": openclaw_home(places),
    }


# Where sessions are stored below each folder. Other files there are settings and notes that agents obey.
SESSION_FILES = {
    CLAUDE: lazy_regex(
        r"projects/[^/]+/(?:[^/]+\.jsonl|(?!memory/)[^/]+/.+)|todos/[^/]+\.json|tasks/[^/]+/.+"
    ),
    CODEX: lazy_regex(r"(?:archived_)?sessions/(?:.+/)?rollout-[^/]+\.jsonl"),
    HOME: lazy_regex(
        r"\.\w+/(?:.+/)?(?:chats|subagents|sessions|session-state|agent-transcripts)/.+\.jsonl?"
        r"|(?:Library/Application Support|\.config)/Claude/local-agent-mode-sessions/(?:.+/)?local_[^/]+"
        r"/\.claude/projects/[^/]+/(?:[^/]+\.jsonl|(?!memory/)[^/]+/.+)"
        r"|\.cursor/chats/[^/]+/[^/]+/store\.db"
        r"|\.gemini/antigravity-cli/(?:brain/[^/]+/(?:.+/)?[^/]+\.jsonl|conversations/[^/]+\.db)"
    ),
    "copilot": lazy_regex(r"session-state/[^/]+/(?:.+/)?[^/]+\.(?:jsonl?|ya?ml|md)"),
    "cline": lazy_regex(r"sessions/[^/]+/[^/]+\.json"),
    "qwen": lazy_regex(r"projects/[^/]+/(?:chats|subagents)/.+\.jsonl|todos/[^/]+\.json"),
    "hermes": lazy_regex(r"(?:profiles/[^/]+/)?state\.db\.rows"),
    "goose": lazy_regex(r"sessions\.db\.rows"),
    "opencode": lazy_regex(r"opencode\.db\.rows"),
    "openclaw": lazy_regex(r"agents/[^/]+/agent/openclaw-agent\.sqlite\.rows"),
}


def is_rows(root: str, path: str) -> bool:
    """Whether a copy has the rows of a session, not a file."""
    return root in ROW_DATABASES and path.endswith(ROWS)


def is_row_database(record: RecordFile) -> bool:
    """Whether a record is a database of many sessions, of which rows can be copied."""
    return record.agent in ROW_DATABASES and record.path.suffix in (".db", ".sqlite")


def is_session_file(root: str, path: str) -> bool:
    """Whether a file of another machine may be restored.

    It must be a session and not a setting of the agent.
    """
    pattern = SESSION_FILES.get(root)
    return pattern is not None and pattern.fullmatch(path) is not None


def session_files(record: RecordFile, places: Places) -> Iterator[NativeFile]:
    """The record and the other files of its session."""
    if is_row_database(record):
        yield from _row_files(record, places)
        return
    own_database = record.agent == "cursor" and record.path.name == OWN_DATABASE
    suffixed = record.path.suffix in NATIVE_SUFFIXES and record.path.name not in SHARED_NAMES
    roots = agent_roots(places).items()
    found = next(((root, folder) for root, folder in roots if record.path.is_relative_to(folder)), None)
    if found is None or not (suffixed or own_database):
        return
    root, folder = found
    paths = [record.path]
    like_claude = root == CLAUDE and record.path.parent.parent == folder / PROJECTS
    if record.path.stem == record.session and (like_claude or record.agent == COWORK):
        own = record.path.with_suffix("")
        paths += [path for path in own.rglob("*") if path.suffix != ".lock"]
    if record.agent == COWORK:
        # local_ID/.claude/projects/FOLDER/SESSION.jsonl; the app lists the session by local_ID.json.
        folders = (each for each in record.path.parents if each.name.startswith("local_"))
        paths += [Path(f"{each}.json") for each in folders]
    if root != CLAUDE or record.path.stem == record.session:
        for pattern in BESIDE.get(root, ()):
            paths += folder.glob(pattern.format(id=record.session))
    if root in OWN_FOLDERS and record.path.parent.name == record.session:
        paths += [path for path in record.path.parent.rglob("*") if path.suffix not in (".lock", ".tmp")]
    if own_database:
        paths += record.path.parent.glob("*.json")
    if record.agent == "antigravity":
        paths.append(antigravity_folder(places).with_name(CONVERSATIONS) / f"{record.session}.db")
    for path in sorted(dict.fromkeys(paths)):
        if path == record.path or (path.is_file() and not path.is_symlink()):
            relative = path.relative_to(folder).as_posix()
            yield NativeFile(record.agent, record.session, root, relative, str(folder))


def _row_files(record: RecordFile, places: Places) -> Iterator[NativeFile]:
    folder = agent_roots(places)[record.agent]
    if record.path.is_relative_to(folder):
        path = f"{record.path.relative_to(folder).as_posix()}{ROWS}"
        for session, stamp in stamps_of(record.path, record.agent).items():
            yield NativeFile(record.agent, session, record.agent, path, str(folder), stamp)


def project_folder(workspace: str) -> str:
    """The name that Claude Code gives to the folder of a project."""
    return re.sub(r"[^A-Za-z0-9]", "-", workspace)


def moved_path(root: str, path: str, before: str | None, after: str | None) -> str:
    """The path below `root` after the workspace was moved from `before` to `after`.

    If it is not known where it was, the folder of the project is the one that the path names.
    """
    parts = path.split("/")
    if after is None or before == after:
        return path
    project, chats = (
        root == CLAUDE and parts[0] == PROJECTS,
        root == HOME and parts[:2] == [".cursor", "chats"],
    )
    if project and len(parts) > 2 and (before is None or parts[1] == project_folder(before)):
        parts[1] = project_folder(after)
    if chats and len(parts) > 3 and (before is None or parts[2] == _hashed(before)):
        parts[2] = _hashed(after)
    return "/".join(parts)


def _hashed(workspace: str) -> str:
    """The name that Cursor's CLI gives to the folder of a project."""
    return hashlib.md5(workspace.encode(), usedforsecurity=False).hexdigest()


WRITABLE_AGENTS = ("claude-code", "codex")
CARRIED_FIELD = "fazmMemory"
CARRIED_LINE = b'{"fazmMemory":{"session":"'
WRITTEN_FOR = "0.166.0"  # the version of Codex whose rollouts are written


@dataclass(frozen=True)
class CarriedCall:
    """A tool call.

    `command` is its shell command, if it is one; `text` says what it was.
    """

    id: str
    command: str | None
    text: str
    output: str
    failed: bool


@dataclass(frozen=True)
class CarriedEntry:
    """Something that was said or done, from the event at `seq`.

    `at` is in microseconds.
    """

    role: Literal["user", "assistant"]
    text: str
    at: int
    seq: int
    call: CarriedCall | None = None


@dataclass(frozen=True)
class NativeSession:
    """A session to be written: the agent's id of it, its file and the content."""

    agent: str
    session: str
    path: Path
    content: bytes


def is_carried(line: bytes) -> bool:
    """Whether a line of a transcript was carried over from another session."""
    return line.startswith(CARRIED_LINE)


def shell_command(value: Any) -> str | None:
    """The shell command in the input of a call, or None."""
    given = value if isinstance(value, dict) else {}
    command = given.get("command") or given.get("cmd")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return command[-1] if command[1:2] in (["-c"], ["-lc"]) else shlex.join(command)
    return command if isinstance(command, str) and command.strip() else None


def write_session(
    agent: str,
    session: UUID,
    entries: Sequence[CarriedEntry],
    *,
    source: str,
    workspace: str,
    places: Places,
    now: int,
) -> NativeSession:
    """The entries as a session of `agent`.

    `source` is our id of the session that they come from.
    """
    name = str(session)
    if agent == "claude-code":
        folder = config_folder(agent, places) / PROJECTS / project_folder(workspace)
        records = _claude_records(entries, session, source, workspace)
        return NativeSession(agent, name, folder / f"{name}.jsonl", _json_lines(records))
    began = to_datetime(now)
    folder = config_folder(agent, places) / "sessions" / f"{began:%Y/%m/%d}"
    path = folder / f"rollout-{began:%Y-%m-%dT%H-%M-%S}-{name}.jsonl"
    return NativeSession(
        agent, name, path, _json_lines(_codex_records(entries, name, source, workspace, now))
    )


def _json_lines(records: Iterable[dict[str, Any]]) -> bytes:
    lines = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _time(at: int) -> str:
    seconds, micros = divmod(at, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{micros // 1000:03d}Z"


def _mark(source: str, entry: CarriedEntry) -> dict[str, Any]:
    return {CARRIED_FIELD: {"session": source, "seq": entry.seq}}


def _claude_records(
    entries: Sequence[CarriedEntry], session: UUID, source: str, workspace: str
) -> Iterator[dict[str, Any]]:
    parent: str | None = None
    for number, (entry, role, content) in enumerate(_claude_messages(entries)):
        uuid = str(uuid5(session, str(number)))
        yield {
            **_mark(source, entry),
            "type": role,
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": str(session),
            "timestamp": _time(entry.at),
            "cwd": workspace,
            "isSidechain": False,
            "userType": "external",
            "message": {"role": role, "content": content}
            | (_claude_answer(uuid) if role == "assistant" else {}),
        }
        parent = uuid


def _claude_answer(uuid: str) -> dict[str, Any]:
    """What Claude Code expects in an answer of the model.

    Without it 2.1.197 waits forever.
    """
    usage = {"input_tokens": 0, "output_tokens": 0}
    return {"id": f"msg_{uuid.replace('-', '')[:24]}", "type": "message", "model": "fazm-memory",
            "stop_reason": "end_turn", "usage": usage}  # fmt: skip


def _claude_messages(entries: Sequence[CarriedEntry]) -> Iterator[tuple[CarriedEntry, str, Any]]:
    for entry in entries:
        call = entry.call
        if call is None or call.command is None:
            text = _as_text(entry)
            yield entry, entry.role, text if entry.role == "user" else [{"type": "text", "text": text}]
            continue
        use = {
            "type": "tool_use",
            "id": f"toolu_{call.id}",
            "name": "Bash",
            "input": {"command": call.command},
        }
        yield entry, "assistant", [use]
        result = {"type": "tool_result", "tool_use_id": f"toolu_{call.id}", "content": call.output}
        yield entry, "user", [result | ({"is_error": True} if call.failed else {})]


def _codex_records(
    entries: Sequence[CarriedEntry], session: str, source: str, workspace: str, now: int
) -> Iterator[dict[str, Any]]:
    meta = {
        "id": session, "timestamp": _time(now), "cwd": workspace, "originator": "fazm-memory",
        "cli_version": WRITTEN_FOR, "source": "cli",
    }  # fmt: skip
    yield {"timestamp": _time(now), "type": "session_meta", "payload": meta}
    for entry in entries:
        for kind, payload in _codex_items(entry):
            yield {**_mark(source, entry), "timestamp": _time(entry.at), "type": kind, "payload": payload}


def _codex_items(entry: CarriedEntry) -> Iterator[tuple[str, dict[str, Any]]]:
    call = entry.call
    if call is not None and call.command is not None:
        arguments = json.dumps({"cmd": call.command}, ensure_ascii=False)
        name = f"call_{call.id}"
        yield (
            "response_item",
            {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": name},
        )
        yield "response_item", {"type": "function_call_output", "call_id": name, "output": call.output}
        return
    text = _as_text(entry)
    part, event = ("input_text", "user_message") if entry.role == "user" else ("output_text", "agent_message")
    yield "response_item", {"type": "message", "role": entry.role, "content": [{"type": part, "text": text}]}
    yield "event_msg", {"type": event, "message": text}  # what its screen shows


def _as_text(entry: CarriedEntry) -> str:
    if entry.call is None:
        return entry.text
    return f"{entry.call.text}\nResult: {entry.call.output}" if entry.call.output else entry.call.text
