"""Cursor: readers of its transcripts and of the databases of CLI and IDE.

A transcript has no results, times or ids: calls are recorded as they were asked for, and files as inferred.
The CLI also writes a database with results. If a session has both, the database is read. The IDE's database
is read for the chats that have neither.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, record_file
from fazm_memory.agents.fields import ident, mapping, moment, moment_ms, record_of, sequence, text, whole
from fazm_memory.agents.session_drafts import (
    CallEnd,
    SessionDrafts,
    TakesRecords,
    arguments_of,
    block_text,
    exit_code,
    read_lines,
)
from fazm_memory.agents.sqlite_file import (
    MOST_ROWS,
    MOST_SESSIONS,
    DatabaseDrafts,
    database_file,
    read_database,
)
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import open_regular

# The database of the IDE
#
# The table `cursorDiskKV` has a row for each chat, which lists its messages in order, and one for each
# message. A row that changes gets a new row id. So the cursor is a row id, and a chat is looked through
# again from its first message that was not complete.

DATABASE = "state.vscdb"
CHAT, MESSAGE = "composerData:", "bubbleId:"
USER, ASSISTANT = 1, 2
RUNNING = frozenset({"loading", "pending", "running", "generating", "streaming"})
STOPPED = frozenset({"cancelled", "canceled", "aborted"})


def ide_folders(places: Places) -> list[Path]:
    """Where the database may be: on macOS, and on Linux."""
    users = (places.home / "Library" / "Application Support", places.home / ".config")
    return [folder / "Cursor" / "User" / "globalStorage" for folder in users]


def ide_files(agent: str, places: Places) -> Iterator[RecordFile]:
    for folder in ide_folders(places):
        yield from database_file(agent, folder / DATABASE, DATABASE)


class CursorChats(DatabaseDrafts):
    """Turns chats into drafts.

    Chats in `elsewhere` are read from another record of Cursor.
    """

    def __init__(
        self, agent: str, carry: Mapping[str, Any], home: str | None, elsewhere: Collection[str]
    ) -> None:
        super().__init__(agent, carry, home)
        self.elsewhere = elsewhere
        # chat → how many of its messages were read, and the id of the last one
        self.read: dict[str, list[Any]] = {
            chat: list(sequence(values)) for chat, values in mapping(carry.get("read")).items()
        }
        self.changed: dict[str, None] = dict.fromkeys(map(text, sequence(carry.get("changed"))))

    def carry(self) -> dict[str, Any]:
        return super().carry() | {
            "read": dict(list(self.read.items())[-MOST_SESSIONS:]),
            "changed": list(self.changed),
        }

    def read_on(self, connection: sqlite3.Connection, limit: int) -> None:
        last = connection.execute("SELECT max(rowid) FROM cursorDiskKV").fetchone()[0] or 0
        self.row = 0 if last < self.row else self.row
        if not self.changed:
            self._find_changed(connection)
        taken = 0
        while self.changed and taken < limit:
            chat = next(iter(self.changed))
            del self.changed[chat]
            taken += self._chat(connection, chat)
        self.last = max(last, self.row + bool(self.changed))

    def _find_changed(self, connection: sqlite3.Connection) -> None:
        query = "SELECT rowid, key FROM cursorDiskKV WHERE rowid > ? ORDER BY rowid LIMIT ?"
        for row, key in connection.execute(query, (self.row, MOST_ROWS)):
            self.row = row
            if isinstance(key, str) and key.startswith((CHAT, MESSAGE)):
                chat = ident(key.split(":")[1])
                if chat and chat not in self.elsewhere:
                    self.changed[chat] = None

    def _chat(self, connection: sqlite3.Connection, chat: str) -> int:
        """Read the new messages of a chat. Returns their size."""
        about, size = _value(connection, f"{CHAT}{chat}")
        if about is None:
            return size  # messages may be stored before their chat
        headers = [
            ident(mapping(one).get("bubbleId")) for one in sequence(about.get("fullConversationHeadersOnly"))
        ]
        count, before = [*self.read.get(chat, []), 0, ""][:2]
        count = whole(count) or 0
        if count > len(headers) or (count and headers[count - 1] != before):
            count = 0  # messages were taken back; those that are recorded are not recorded again
        drafts, _ = self.of(chat)
        drafts.describe(
            workspace=_folder(about), title=text(about.get("name")),
            model=ident(mapping(about.get("modelConfig")).get("modelName")),
        )  # fmt: skip
        if drafts.at is None:
            drafts.at = moment_ms(about.get("createdAt"))
        for number, name in enumerate(headers[count:], count):
            message, length = _value(connection, f"{MESSAGE}{chat}:{name}")
            size += length
            last = number + 1 == len(headers)
            if last and (message is None or _is_running(about, message)):
                break
            if message is not None:
                _message(drafts, message, name)
            count, before = number + 1, name
        self.read.pop(chat, None)
        self.read[chat] = [count, before]
        return size


def _value(connection: sqlite3.Connection, key: str) -> tuple[dict[str, Any] | None, int]:
    """A value of the table, which is JSON, and its size."""
    row = connection.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
    value = row[0] if row is not None else None
    if not isinstance(value, (str, bytes)):
        return None, 0
    return record_of(value), len(value)


def _folder(about: Mapping[str, Any]) -> str:
    where = mapping(mapping(about.get("workspaceIdentifier")).get("uri"))
    return text(where.get("fsPath")) or text(where.get("path"))


def _is_running(about: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Whether the last message of a chat is still being written."""
    call = mapping(message.get("toolFormerData"))
    return text(call.get("status")) in RUNNING or (
        message.get("type") == ASSISTANT and text(about.get("status")) in RUNNING
    )


def _message(drafts: SessionDrafts, message: Mapping[str, Any], key: str) -> None:
    at = moment(message.get("createdAt")) or moment_ms(message.get("createdAt"))
    kind, call = whole(message.get("type")), mapping(message.get("toolFormerData"))
    if kind == USER:
        drafts.prompt(text(message.get("text")), key, at)
    elif kind == ASSISTANT:
        drafts.message(text(message.get("text")), key, at)
        if call.get("name"):
            call_id = ident(call.get("toolCallId")) or key
            given = arguments_of(call.get("rawArgs")) or arguments_of(call.get("params"))
            drafts.act(text(call.get("name")), given, _chat_end(call), call_id, f"{key}:call", at)
        spent = mapping(message.get("tokenCount"))
        values = {"input": spent.get("inputTokens"), "output": spent.get("outputTokens")}
        model = mapping(message.get("modelInfo")).get("modelName")
        drafts.usage(values, model, key, at, cached_in_input=False)
    else:
        drafts.unread(f"bubble/{kind}", message, key)


def _chat_end(call: Mapping[str, Any]) -> CallEnd:
    """How a call ended. One that still runs while the chat went on was broken off."""
    status, result = text(call.get("status")), text(call.get("result"))
    values = record_of(result) if result.startswith("{") else None
    error = call.get("error")
    said = text(error) or text(mapping(record_of(text(error)) or error).get("message"))
    return CallEnd(
        output=text(mapping(values).get("output")) or result,
        failed=status in ("error", "failed", "rejected") or bool(said),
        error=said or ("rejected by the user" if status == "rejected" else ""),
        code=whole(mapping(values).get("exitCode")),
        outcome="interrupted" if status in RUNNING | STOPPED else "",
        recorded=bool(result or said or status),
    )


# Transcripts and the database of the CLI

NAME = "cursor"
HEAD = 256 << 10
FOLDER = lazy_regex(rb'"(?:working_directory|workingDirectory|cwd)"\s*:\s*"(/[^"\\]{1,1000})"')
QUERY = lazy_regex(r"<user_query>(.*?)</user_query>", re.DOTALL)
CONTEXT = lazy_regex(
    r"<(user_info|timestamp|system_reminder|additional_data|attached_files|open_and_recently_viewed_files)>"
    r".*?</\1>",
    re.DOTALL,
)
EXIT = lazy_regex(r"(?:exit code:?|exited with(?: code)?)\s*(-?\d{1,9})", re.IGNORECASE)
CALLS = ("tool_use", "tool_call", "tool-call")
NOISE = frozenset({"text", "thinking", "reasoning", "redacted-reasoning", "image", "file"})


def typed_words(words: str) -> str:
    """What the user typed, without the context that Cursor adds."""
    found = QUERY.findall(words)
    return "\n".join(found) if found else CONTEXT.sub("", words)


class CursorTranscript(TakesRecords):
    """Turns lines into drafts. Keys are line numbers, because records have no ids."""

    def take(self, record: Mapping[str, Any]) -> None:
        key, role = f"line-{self.lines}", text(record.get("role"))
        content = mapping(record.get("message")).get("content")
        if role == "user":
            self.prompt(typed_words(block_text(content)), key)
        elif role == "assistant":
            self.message(block_text(content), key)
            for number, block in enumerate(map(mapping, sequence(content))):
                self._block(block, f"{key}:{number}")
        elif record.get("type") != "turn_ended":
            self.unread(f"record/{text(record.get('type')) or role}", record, key)

    def _block(self, block: Mapping[str, Any], key: str) -> None:
        kind = text(block.get("type"))
        if kind in CALLS:
            end = CallEnd(recorded=False)
            self.act(text(block.get("name")), block.get("input"), end, f"{self.session}:{key}", key)
        elif kind not in NOISE:
            self.unread(f"block/{kind}", block, key)


class CursorStore(DatabaseDrafts):
    """Turns blobs that are JSON into drafts.

    The others are the state of Cursor itself.
    """

    def read_on(self, connection: sqlite3.Connection, session: str, limit: int) -> None:
        drafts, _ = self.of(session)
        about = _meta(connection)
        model = text(about.get("lastUsedModel"))
        drafts.describe(
            workspace=text(about.get("workspacePath")), title=text(about.get("name")), model=ident(model)
        )
        if drafts.at is None:
            drafts.at = moment_ms(about.get("createdAt"))
        for row in self.rows(connection, "blobs", ("id", "data"), limit):
            data = row["data"]
            if isinstance(data, str):
                data = data.encode()
            if not isinstance(data, bytes) or not data.startswith(b"{"):
                continue
            message = record_of(data)
            if message is None:
                self.bad += 1
                continue
            self._message(drafts, message, ident(row["id"])[:64] or f"row-{row['rowid']}")

    def _message(self, drafts: SessionDrafts, message: Mapping[str, Any], key: str) -> None:
        at, content = moment_ms(message.get("createdAt")), message.get("content")
        role = text(message.get("role"))
        if role == "user":
            drafts.prompt(typed_words(block_text(content)), key, at)
        elif role == "assistant":
            drafts.message(block_text(content), key, at)
            for number, block in enumerate(map(mapping, sequence(content))):
                if block.get("type") in CALLS:
                    call_id = ident(block.get("toolCallId")) or f"{key}:{number}"
                    drafts.call(call_id, text(block.get("toolName")), block.get("args"), at)
        elif role == "tool":
            for number, block in enumerate(map(mapping, sequence(content))):
                call_id = ident(block.get("toolCallId"))
                drafts.result(call_id, _end(block), f"{key}:{number}", at, text(block.get("toolName")))
        elif role and role != "system":
            drafts.unread(f"role/{role}", message, key)


def _end(block: Mapping[str, Any]) -> CallEnd:
    result = block.get("result")
    output = result if isinstance(result, str) else block_text(sequence(result))
    return CallEnd(output, block.get("isError") is True, code=exit_code(EXIT.match(output.lstrip()[:200])))


def _meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """What the database says about its session: JSON, written as hexadecimal digits."""
    row = connection.execute("SELECT value FROM meta WHERE key = '0'").fetchone()
    value = row[0] if row is not None else None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    try:
        return record_of(bytes.fromhex(text(value))) or {}
    except ValueError:
        return record_of(text(value)) or {}


class CursorAgent:
    """Reads transcripts and databases. `home` is the folder of `~` in commands."""

    name = NAME
    version = 1

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = places.home / ".cursor"
        stores = {path.parent.name: path for path in sorted(root.glob("chats/*/*/store.db"))}
        for session, path in stores.items():
            yield from database_file(NAME, path, session)
        transcripts = root / "projects"
        for path in sorted(transcripts.glob("*/agent-transcripts/*/**/*.jsonl")):
            session = path.relative_to(transcripts).parts[2]
            if session not in stores:
                yield from record_file(NAME, path, session)
        yield from ide_files(NAME, places)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        if record.path.suffix == ".db":
            store = CursorStore(NAME, cursor.carry, self.home)
            return read_database(
                record, cursor, store, lambda connection: store.read_on(connection, record.session, limit)
            )
        if record.path.suffix == ".vscdb":
            chats = CursorChats(NAME, cursor.carry, self.home, self._other_sessions())
            return read_database(record, cursor, chats, lambda connection: chats.read_on(connection, limit))
        subagent = record.path.stem if record.path.parent.name == "subagents" else None
        drafts = CursorTranscript(NAME, record.session, cursor.carry, self.home, subagent)
        drafts.at = moment_ms(record.mtime * 1000)  # records have no times
        if not drafts.cwd:
            drafts.describe(workspace=first_match(record.path, FOLDER))
        return read_lines(record, cursor, limit, drafts)

    def _other_sessions(self) -> set[str]:
        """The sessions with a transcript, or a database of the CLI."""
        root = Path(self.home or "/nowhere") / ".cursor"
        return {
            path.name for name in ("projects/*/agent-transcripts/*", "chats/*/*") for path in root.glob(name)
        }


def first_match(path: Path, pattern: re.Pattern[bytes]) -> str:
    """The first match in the beginning of a file."""
    with open_regular(path) as file:
        found = pattern.search(file.read(HEAD))
    return found[1].decode("utf-8", "replace") if found is not None else ""
