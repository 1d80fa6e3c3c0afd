"""Goose: the reader of its database, and of the files that older versions wrote.

A compaction inserts rows again, under the same ids.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, record_file
from fazm_memory.agents.fields import digest, ident, mapping, moment_ms, record_of, sequence, text
from fazm_memory.agents.session_drafts import (
    CallEnd,
    SessionDrafts,
    TakesRecords,
    block_text,
    exit_code,
    read_lines,
)
from fazm_memory.agents.sqlite_file import DatabaseDrafts, database_file, read_database, rows_of
from fazm_memory.lazy import lazy_regex

NAME = "goose"
MESSAGE = ("message_id", "session_id", "role", "content_json", "created_timestamp", "metadata_json")
SESSION = ("name", "working_dir", "model_config_json")
EXIT = lazy_regex(r"(?:exit(?:ed)?(?: with)?(?: exit)? (?:code|status):?) (-?\d{1,9})", re.IGNORECASE)
NOISE = frozenset(
    {"thinking", "redactedThinking", "image", "frontendToolRequest", "toolConfirmationRequest", "reasoning",
     "systemNotification", "actionRequired"}
)  # fmt: skip


class GooseMessages(DatabaseDrafts):
    """Turns rows into drafts."""

    def read_on(self, connection: sqlite3.Connection, limit: int) -> None:
        for row in self.rows(connection, "messages", MESSAGE, limit):
            name = ident(row["session_id"])
            blocks = mapping(record_of(f'{{"list":{text(row["content_json"])}}}')).get("list")
            if not name or not isinstance(blocks, list):
                self.bad += 1
                continue
            drafts, new = self.of(name)
            if new:
                _describe(drafts, connection)
            self._message(drafts, row, [mapping(block) for block in blocks])

    def _message(self, drafts: SessionDrafts, row: Mapping[str, Any], blocks: list[dict[str, Any]]) -> None:
        seconds = row["created_timestamp"]
        # A row that is inserted again has another row id, so that is no key.
        key = ident(row["message_id"]) or f"{seconds}:{digest(text(row['content_json']))}"
        about = mapping(record_of(text(row["metadata_json"])))
        take_message(drafts, text(row["role"]), blocks, about, key, _moment(seconds))


class GooseLines(TakesRecords):
    """Turns lines of older versions into drafts. The first describes the session."""

    def take(self, record: Mapping[str, Any]) -> None:
        if "role" not in record:
            self.describe(workspace=text(record.get("working_dir")), title=text(record.get("description")))
            return
        key, at = ident(record.get("id")) or f"line-{self.lines}", _moment(record.get("created"))
        blocks = [mapping(block) for block in sequence(record.get("content"))]
        take_message(self, text(record.get("role")), blocks, mapping(record.get("metadata")), key, at)


def take_message(
    drafts: SessionDrafts,
    role: str,
    blocks: list[dict[str, Any]],
    about: Mapping[str, Any],
    key: str,
    at: int | None,
) -> None:
    """Turn a message into drafts."""
    words = block_text(blocks)
    if about.get("userVisible") is False:
        if about.get("agentVisible") is not False and words:
            drafts.compacted(words, key, at)  # a summary, which only the model reads
    elif role == "user":
        drafts.prompt(words, key, at)
    else:
        drafts.message(words, key, at)
    for number, block in enumerate(blocks):
        _block(drafts, block, f"{key}:{number}", at)


def _block(drafts: SessionDrafts, block: Mapping[str, Any], key: str, at: int | None) -> None:
    kind = text(block.get("type"))
    if kind == "toolRequest":
        call = mapping(mapping(block.get("toolCall")).get("value"))
        drafts.call(ident(block.get("id")) or key, text(call.get("name")), call.get("arguments"), at)
    elif kind == "toolResponse":
        drafts.result(ident(block.get("id")), _end(mapping(block.get("toolResult"))), key, at)
    elif kind in ("contextLengthExceeded", "summarizationRequested"):
        drafts.compacted("", key, at)
    elif kind != "text" and kind not in NOISE:
        drafts.unread(f"block/{kind}", block, key)


def _moment(seconds: Any) -> int | None:
    return moment_ms(seconds * 1000) if isinstance(seconds, (int, float)) else None


def _end(result: Mapping[str, Any]) -> CallEnd:
    value = result.get("value")
    content = value if isinstance(value, list) else mapping(value).get("content")
    output, error = block_text(sequence(content)), text(result.get("error"))
    failed = result.get("status") == "error" or mapping(value).get("isError") is True
    code = exit_code(EXIT.search((error or output)[-300:])) if failed else None
    return CallEnd(output or (error if failed else ""), failed, error, code)


def _describe(drafts: SessionDrafts, connection: sqlite3.Connection) -> None:
    row = next(rows_of(connection, "sessions", SESSION, "WHERE id = ?", (drafts.session,)), None)
    if row is not None:
        model = mapping(record_of(text(row["model_config_json"]))).get("model_name")
        drafts.describe(workspace=text(row["working_dir"]), title=text(row["name"]), model=ident(model))


class Goose:
    """Reads the database, or older files. `home` is the folder of `~` in commands."""

    name = NAME
    version = 1

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        folder = goose_folder(places)
        found = list(database_file(NAME, folder / "sessions.db", "sessions.db"))
        yield from found
        if found:
            return  # older files were taken over into the database
        for path in sorted(folder.glob("*.jsonl")):
            yield from record_file(NAME, path, path.stem)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        if record.path.suffix == ".jsonl":
            return read_lines(
                record, cursor, limit, GooseLines(NAME, record.session, cursor.carry, self.home)
            )
        drafts = GooseMessages(NAME, cursor.carry, self.home)
        return read_database(record, cursor, drafts, lambda connection: drafts.read_on(connection, limit))


def goose_folder(places: Places) -> Path:
    data = Path(places.env.get("XDG_DATA_HOME") or places.home / ".local" / "share")
    return data / NAME / "sessions"
