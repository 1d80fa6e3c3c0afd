"""OpenClaw: the reader of its databases and of older versions' files.

Both hold the same events. A command that failed has `isError: false`: the exit code is in the details.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

import zstandard

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, openclaw_home, record_file
from fazm_memory.agents.fields import ident, mapping, moment, record_of, sequence, text, whole
from fazm_memory.agents.session_drafts import (
    CallEnd,
    SessionDrafts,
    TakesRecords,
    block_text,
    exit_code,
    read_lines,
)
from fazm_memory.agents.sqlite_file import DatabaseDrafts, database_file, read_database
from fazm_memory.agents.tool_calls import plain_tool_name
from fazm_memory.lazy import lazy_regex

NAME = "openclaw"
DATABASE = "openclaw-agent.sqlite"
LARGEST = 64 << 20
EVENT = ("session_id", "seq", "event_json", "event_zstd")
EXIT = lazy_regex(r"\n*\(?Command exited with code (-?\d{1,9})\)?\s*\Z")
NOISE = frozenset(
    {"custom", "custom_message", "model_change", "thinking_level_change", "label", "leaf", "session_info"}
)
OLD_FILES = lazy_regex(r"[A-Za-z0-9_-]+\.jsonl")  # no checkpoints, deleted ones and backups


def take_event(drafts: SessionDrafts, event: Mapping[str, Any], key: str) -> None:
    """Turn an event into drafts."""
    kind, at = text(event.get("type")), moment(event.get("timestamp"))
    key = ident(event.get("id")) or key
    if kind == "session":
        drafts.describe(workspace=text(event.get("cwd")), parent=ident(event.get("parentSession")))
        drafts.at = at
    elif kind == "message":
        _message(drafts, mapping(event.get("message")), key, at)
    elif kind in ("compaction", "branch_summary"):
        drafts.compacted(text(event.get("summary")), key, at)
    elif kind == "reset":
        drafts.compacted("", key, at)
    elif kind not in NOISE:
        drafts.unread(kind, event, key)


def _message(drafts: SessionDrafts, message: Mapping[str, Any], key: str, at: int | None) -> None:
    role, content = text(message.get("role")), message.get("content")
    if role == "user":
        drafts.prompt(block_text(content), key, at)
    elif role == "assistant":
        drafts.message(block_text(content), key, at)
        for number, block in enumerate(map(mapping, sequence(content))):
            if block.get("type") == "toolCall":
                call_id = ident(block.get("id")) or f"{key}:{number}"
                drafts.call(call_id, text(block.get("name")), block.get("arguments"), at)
        spent = mapping(message.get("usage"))
        values = {
            "input": spent.get("input"),
            "output": spent.get("output"),
            "cached": spent.get("cacheRead"),
            "written": spent.get("cacheWrite"),
        }
        drafts.usage(values, message.get("model"), key, at, cached_in_input=False)
    elif role == "toolResult":
        end = _end(message)
        drafts.result(ident(message.get("toolCallId")), end, key, at, text(message.get("toolName")))
    elif role not in ("bashExecution", "custom", "branchSummary", "compactionSummary"):
        drafts.unread(f"message/{role}", message, key)


def _end(message: Mapping[str, Any]) -> CallEnd:
    details, output = mapping(message.get("details")), block_text(message.get("content"))
    tail, created = EXIT.search(output), details.get("created")
    code = whole(details.get("exitCode"))
    new = created if isinstance(created, bool) else None
    if new is None and "diff" in details and plain_tool_name(text(message.get("toolName"))) == "write":
        new = False
    return CallEnd(
        output=output[: tail.start()] if tail else output,
        failed=message.get("isError") is True,
        error=text(details.get("error")),
        code=code if code is not None else exit_code(tail),
        created=new,
        duration_ms=whole(details.get("durationMs")),
    )


class OpenClawEvents(DatabaseDrafts):
    """Turns rows into drafts."""

    def __init__(self, agent: str, carry: Mapping[str, Any], home: str | None) -> None:
        super().__init__(agent, carry, home)
        self.generation = text(carry.get("generation"))

    def carry(self) -> dict[str, Any]:
        return super().carry() | {"generation": self.generation}

    def read_on(self, connection: sqlite3.Connection, limit: int) -> None:
        generation = _generation(connection)
        if generation != self.generation:
            # A rewrite may use row ids again. Events keep their ids, so nothing is recorded twice.
            self.row = self.row if not self.generation else 0
            self.generation = generation
        for row in self.rows(connection, "transcript_events", EVENT, limit):
            name, event = ident(row["session_id"]), _event(row)
            if not name or event is None:
                self.bad += 1
                continue
            take_event(self.of(name)[0], event, f"seq-{row['seq']}")


def _generation(connection: sqlite3.Connection) -> str:
    """What changes when OpenClaw rewrites a transcript."""
    try:
        query = "SELECT count(*), total(generation) FROM transcript_rewrite_watermarks"
        count, total = connection.execute(query).fetchone()
    except sqlite3.OperationalError as error:
        if "no such" not in str(error):
            raise
        return "none"
    return f"{count}:{total:.0f}"


def _event(row: Mapping[str, Any]) -> dict[str, Any] | None:
    if isinstance(row["event_json"], str):
        return record_of(row["event_json"])
    packed = row["event_zstd"]
    try:
        whole_event = zstandard.ZstdDecompressor().decompress(packed, max_output_size=LARGEST)
    except (zstandard.ZstdError, TypeError):
        return None
    return record_of(whole_event)


class OpenClawLines(TakesRecords):
    """Turns lines of older versions into drafts."""

    def take(self, record: Mapping[str, Any]) -> None:
        take_event(self, record, f"line-{self.lines}")


class OpenClaw:
    """Reads databases and older files. `home` is the folder of `~` in commands."""

    name = NAME
    version = 1

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = openclaw_home(places) / "agents"
        for folder in sorted(root.glob("*")):
            found = list(database_file(NAME, folder / "agent" / DATABASE, DATABASE))
            yield from found
            if found:
                continue  # older files were taken over into the database
            for path in sorted(folder.glob("sessions/*.jsonl")):
                if OLD_FILES.fullmatch(path.name):
                    yield from record_file(NAME, path, path.stem)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        if record.path.suffix == ".jsonl":
            lines = OpenClawLines(NAME, record.session, cursor.carry, self.home)
            return read_lines(record, cursor, limit, lines)
        drafts = OpenClawEvents(NAME, cursor.carry, self.home)
        return read_database(record, cursor, drafts, lambda connection: drafts.read_on(connection, limit))
