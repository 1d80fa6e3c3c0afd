"""Hermes: the reader of its database.

`content` is what the user wrote, `api_content` also has what hooks added. The content of a result is JSON
with the exit code. A row that was rewound or summarized stays recorded: it happened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, hermes_home
from fazm_memory.agents.fields import ident, mapping, moment_ms, record_of, sequence, text, whole
from fazm_memory.agents.session_drafts import CallEnd, SessionDrafts, arguments_of, block_text
from fazm_memory.agents.sqlite_file import DatabaseDrafts, database_file, read_database, rows_of

NAME = "hermes"
MESSAGE = ("id", "session_id", "role", "content", "tool_calls", "tool_call_id", "tool_name", "timestamp")
SESSION = ("model", "parent_session_id", "cwd", "title")


class HermesMessages(DatabaseDrafts):
    """Turns rows into drafts."""

    def read_on(self, connection: sqlite3.Connection, limit: int) -> None:
        for row in self.rows(connection, "messages", MESSAGE, limit):
            name = ident(row["session_id"])
            if not name:
                self.bad += 1
                continue
            drafts, new = self.of(name)
            if new:
                _describe(drafts, connection)
            self._message(drafts, row)

    def _message(self, drafts: SessionDrafts, row: Mapping[str, Any]) -> None:
        key, role, content = f"m{row['rowid']}", row["role"], text(row["content"])
        seconds = row["timestamp"]
        at = moment_ms(seconds * 1000) if isinstance(seconds, (int, float)) else None
        if role == "user":
            drafts.prompt(_words(content), key, at)
        elif role == "assistant":
            drafts.message(_words(content), key, at)
            for number, call in enumerate(map(mapping, _list(row["tool_calls"]))):
                named = mapping(call.get("function"))
                call_id = ident(call.get("id")) or f"{key}:{number}"
                drafts.call(call_id, text(named.get("name")), arguments_of(named.get("arguments")), at)
        elif role == "tool":
            call_id = ident(row["tool_call_id"])
            if call_id or content:
                drafts.result(call_id, _end(content), key, at, text(row["tool_name"]))
        elif role not in ("system", "session_meta"):
            drafts.unread(f"role/{text(role)}", {"role": role, "content": content}, key)


def _describe(drafts: SessionDrafts, connection: sqlite3.Connection) -> None:
    try:
        row = next(rows_of(connection, "sessions", SESSION, "WHERE id = ?", (drafts.session,)), None)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        row = None  # an older version without this table
    if row is not None:
        drafts.describe(
            workspace=text(row["cwd"]),
            title=text(row["title"]),
            model=ident(row["model"]),
            parent=ident(row["parent_session_id"]),
        )


def _list(value: Any) -> list[Any]:
    """A list that is stored as JSON."""
    found = record_of(f'{{"list":{value}}}') if isinstance(value, str) and value else None
    return sequence(mapping(found).get("list"))


def _words(content: str) -> str:
    """The text of a message. With pictures it is a list of parts."""
    parts = _list(content) if content.startswith("[{") else []
    return block_text(parts) if parts else content


def _end(content: str) -> CallEnd:
    values = record_of(content) if content.startswith("{") else None
    if values is None:
        return CallEnd(content)
    error, output = text(values.get("error")), text(values.get("output"))
    failed = bool(error) or values.get("success") is False
    return CallEnd(
        output=output if "output" in values else (error if failed else content),
        failed=failed,
        error=error,
        code=whole(values.get("exit_code")),
    )


class Hermes:
    """Reads the databases of all profiles. `home` is the folder of `~` in commands."""

    name = NAME
    version = 1

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = hermes_home(places)
        for path in [root / "state.db", *sorted(root.glob("profiles/*/state.db"))]:
            yield from database_file(NAME, path, path.name)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        drafts = HermesMessages(NAME, cursor.carry, self.home)
        return read_database(record, cursor, drafts, lambda connection: drafts.read_on(connection, limit))
