"""Cline CLI: the reader of its messages.

The file is written anew with each message. So the reader remembers the ids of the messages it has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, cline_data, damaged, record_file
from fazm_memory.agents.fields import ident, mapping, moment_ms, record_of, sequence, text
from fazm_memory.agents.session_drafts import CallEnd, SessionDrafts, block_text, exit_code
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import read_regular

NAME = "cline"
MESSAGES = ".messages.json"
MOST_READ = 5000
INPUT = lazy_regex(r"<user_input(?: [^<>]{0,200})?>(.*?)</user_input>", re.DOTALL)
EXIT = lazy_regex(r"Command exited with code (-?\d{1,9})")
EXIT_HEAD = lazy_regex(r"\A\[Command exited with code -?\d{1,9}\]\n*(?:\[stderr\]\n)?")
BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "image", "file", "tool_use", "tool_result"})


class ClineMessages(SessionDrafts):
    """Turns messages into drafts."""

    def __init__(self, record: RecordFile, carry: Mapping[str, Any], home: str | None) -> None:
        subagent = record.path.name.removesuffix(MESSAGES)
        super().__init__(NAME, record.session, carry, home, subagent if subagent != record.session else None)
        self.read_ids: dict[str, None] = dict.fromkeys(map(text, sequence(carry.get("read"))))

    def carry(self) -> dict[str, Any]:
        return super().carry() | {"read": list(self.read_ids)[-MOST_READ:]}

    def take(self, message: Mapping[str, Any], number: int) -> None:
        key = ident(message.get("id")) or f"message-{number}"
        if key in self.read_ids:
            return
        self.read_ids[key] = None
        at, content, role = moment_ms(message.get("ts")), message.get("content"), message.get("role")
        if mapping(message.get("metadata")).get("displayRole") == "system":
            return  # text of hooks
        if role == "user":
            words = block_text(content)
            self.prompt("\n".join(INPUT.findall(words)) or words, key, at)
        elif role == "assistant":
            self.message(block_text(content), key, at)
        for place, block in enumerate(map(mapping, sequence(content))):
            self._block(block, f"{key}:{place}", at)
        spent, model = mapping(message.get("metrics")), mapping(message.get("modelInfo")).get("id")
        values = {
            "input": spent.get("inputTokens"),
            "output": spent.get("outputTokens"),
            "cached": spent.get("cacheReadTokens"),
            "written": spent.get("cacheWriteTokens"),
        }
        self.usage(values, model, key, at, cached_in_input=False)

    def _block(self, block: Mapping[str, Any], key: str, at: int | None) -> None:
        kind = text(block.get("type"))
        if kind == "tool_use":
            self.call(ident(block.get("id")) or key, text(block.get("name")), block.get("input"), at)
        elif kind == "tool_result":
            call_id = ident(block.get("tool_use_id"))
            name = text(block.get("name"))
            if name == "editor" and call_id in self.calls:
                # The same tool writes a file whole or replaces a part of it.
                whole_file = "old_text" not in mapping(self.calls[call_id][1])
                self.result(call_id, _end(block, edits=not whole_file), key, at, name)
            else:
                self.result(call_id, _end(block), key, at, name)
        elif kind not in BLOCKS:
            self.unread(f"block/{kind}", block, key)


def _end(block: Mapping[str, Any], edits: bool = False) -> CallEnd:
    content = block.get("content")
    if isinstance(content, str):
        answer = record_of(content)
        answers = [answer] if answer is not None and "result" in answer else []
    else:
        answers = [mapping(one) for one in sequence(content) if "result" in mapping(one)]
    if not answers:
        return CallEnd(block_text(content), block.get("is_error") is True)
    output = "\n".join(filter(None, (EXIT_HEAD.sub("", text(one.get("result"))) for one in answers)))
    error = "\n".join(filter(None, (text(one.get("error")) for one in answers)))
    failed = any(one.get("success") is False for one in answers)
    code = exit_code(EXIT.search(error))
    created = False if edits else "created" in output[:100] or None
    said = output if code is not None else error
    return CallEnd(output or error, failed, said, code, created)


class Cline:
    """Reads messages. `home` is the folder of `~` in commands."""

    name = NAME
    version = 1

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = cline_data(places) / "sessions"
        found = sorted(root.glob(f"*/*{MESSAGES}"), key=lambda path: (path.name.startswith("agent_"), path))
        for path in found:
            yield from record_file(NAME, path, path.parent.name)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        stored = record_of(read_regular(record.path))
        if stored is None:  # being written, or damaged
            return damaged(record, cursor)
        drafts = ClineMessages(record, cursor.carry, self.home)
        about = _about(record)
        drafts.describe(
            workspace=text(about.get("cwd")),
            title=text(mapping(about.get("metadata")).get("title")),
            model=ident(about.get("model")),
        )
        for number, message in enumerate(map(mapping, sequence(stored.get("messages")))):
            drafts.take(message, number)
        drafts.finish()
        return Chunk(tuple(drafts.drafts), Cursor(0, drafts.carry()), unknown=drafts.unknown)


def _about(record: RecordFile) -> dict[str, Any]:
    """What the file of the session says about it."""
    try:
        return record_of(read_regular(record.path.with_name(f"{record.session}.json"))) or {}
    except OSError:
        return {}
