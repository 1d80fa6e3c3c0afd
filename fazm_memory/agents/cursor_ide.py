"""Cursor's IDE: the reader of the database in which it stores its chats.

The table `cursorDiskKV` has a row for each chat, which lists its messages in order, and one for each message.
A row that changes gets a new row id. So the cursor is a row id, and a chat is looked through again from its
first message that was not complete.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import Places, RecordFile
from fazm_memory.agents.fields import ident, mapping, moment, moment_ms, record_of, sequence, text, whole
from fazm_memory.agents.session_drafts import CallEnd, SessionDrafts, arguments_of
from fazm_memory.agents.sqlite_file import MOST_ROWS, MOST_SESSIONS, DatabaseDrafts, database_file

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
    """Turns chats into drafts. Chats in `elsewhere` are read from another record of Cursor."""

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
            drafts.act(text(call.get("name")), given, _end(call), call_id, f"{key}:call", at)
        spent = mapping(message.get("tokenCount"))
        values = {"input": spent.get("inputTokens"), "output": spent.get("outputTokens")}
        model = mapping(message.get("modelInfo")).get("modelName")
        drafts.usage(values, model, key, at, cached_in_input=False)
    else:
        drafts.unread(f"bubble/{kind}", message, key)


def _end(call: Mapping[str, Any]) -> CallEnd:
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
