"""Qwen Code: the reader of its chats.

Hooks add their text to prompts as further parts, and to the end of results. A command that failed has the
status "success": its exit code is in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, record_file
from fazm_memory.agents.fields import ident, mapping, moment, sequence, text, tokens
from fazm_memory.agents.session_drafts import CallEnd, TakesRecords, exit_code, read_lines
from fazm_memory.lazy import lazy_regex

NAME = "qwen"
LEDGER = ".ledger.jsonl"  # beside a chat: which prompts have ended
SHELL = lazy_regex(r"Command: .*?\nDirectory: [^\n]*\n(?:Output|Stdout): ", re.DOTALL)
SHELL_END = lazy_regex(
    r"\nError: (?P<error>.*?)\nExit Code: (?P<code>\S+)\nSignal: (?P<signal>\S+)", re.DOTALL
)
NOISE = frozenset(
    {
        "ui_telemetry", "attribution_snapshot", "slash_command", "at_command", "rewind", "notification",
        "file_history_snapshot", "session_start", "cron",
    }
)  # fmt: skip
CONTEXT_PREFIX = ("<system-reminder>", "<session_context>")


class QwenChat(TakesRecords):
    """Turns records into drafts."""

    def take(self, record: Mapping[str, Any]) -> None:
        kind, key = text(record.get("type")), ident(record.get("uuid")) or f"line-{self.lines}"
        at = moment(record.get("timestamp"))
        fork = mapping(record.get("forkedFrom"))
        parent = ident(fork.get("sessionId"))
        self.describe(workspace=text(record.get("cwd")), parent=parent, model=ident(record.get("model")))
        if parent:
            return  # a copy of the parent's record
        parts = [mapping(part) for part in sequence(mapping(record.get("message")).get("parts"))]
        if kind == "user":
            # After a resume a reminder may stand before the user's words. Later parts are what hooks added.
            texts = (text(part.get("text")) for part in parts)
            words = next((words for words in texts if words and not words.startswith(CONTEXT_PREFIX)), "")
            if words and not record.get("subtype"):
                self.prompt(words, key, at)
        elif kind == "assistant":
            self._assistant(record, parts, key, at)
        elif kind == "tool_result":
            self._results(record, parts, key, at)
        elif kind == "system":
            self._system(record, key, at)
        else:
            self.unread(kind, record, key)

    def _assistant(
        self, record: Mapping[str, Any], parts: list[dict[str, Any]], key: str, at: int | None
    ) -> None:
        self.message("\n".join(text(part.get("text")) for part in parts if not part.get("thought")), key, at)
        for number, part in enumerate(parts):
            if "functionCall" in part:
                call = mapping(part["functionCall"])
                self.call(
                    ident(call.get("id")) or f"{key}:{number}", text(call.get("name")), call.get("args"), at
                )
        spent = mapping(record.get("usageMetadata"))
        values = {
            "input": spent.get("promptTokenCount"),
            "output": tokens(spent.get("candidatesTokenCount")) + tokens(spent.get("thoughtsTokenCount")),
            "cached": spent.get("cachedContentTokenCount"),
        }
        self.usage(values, record.get("model"), key, at, cached_in_input=True)

    def _results(
        self, record: Mapping[str, Any], parts: list[dict[str, Any]], key: str, at: int | None
    ) -> None:
        about = mapping(record.get("toolCallResult"))
        answers = [mapping(part["functionResponse"]) for part in parts if "functionResponse" in part]
        for number, answer in enumerate(answers or [{}]):
            call_id = ident(answer.get("id")) or ident(about.get("callId"))
            end = _end(mapping(answer.get("response")), about)
            self.result(call_id, end, f"{key}:{number}", at, text(answer.get("name")))

    def _system(self, record: Mapping[str, Any], key: str, at: int | None) -> None:
        subtype, about = text(record.get("subtype")), mapping(record.get("systemPayload"))
        if subtype == "custom_title":
            self.describe(title=text(about.get("customTitle")) or text(about.get("title")))
        elif subtype == "chat_compression":
            history = [mapping(turn) for turn in sequence(about.get("compressedHistory"))]
            first = next((sequence(turn.get("parts")) for turn in history), [])
            self.compacted("\n".join(text(mapping(part).get("text")) for part in first), key, at)
        elif subtype not in NOISE:
            self.unread(f"system/{subtype}", record, key)


def _end(response: Mapping[str, Any], about: Mapping[str, Any]) -> CallEnd:
    output, error, status = text(response.get("output")), text(response.get("error")), about.get("status")
    shown = about.get("resultDisplay")
    code, outcome = None, "interrupted" if status == "cancelled" else ""
    if (head := SHELL.match(output)) is not None:
        ends = list(SHELL_END.finditer(output, head.end() - 1))
        if ends:
            tail = ends[-1]
            code = exit_code(re.fullmatch(r"(-?\d{1,9})", tail["code"]))
            if tail["signal"] not in ("0", "(none)"):
                outcome = outcome or "interrupted"
            said = tail["error"]
            output = output[head.end() : tail.start()]
            output = "" if output == "(empty)" else output
            error = "" if said == "(none)" else said
    display = mapping(shown)
    plain = text(shown) or text(display.get("result"))
    if head is None and plain and output.startswith(plain):
        output = plain  # without the text that hooks added
    created = None
    if "fileDiff" in display:
        created = not display.get("originalContent") and "new file" in output[:200]
    failed = status == "error" or (bool(error) and not output and code is None)
    return CallEnd(
        output=output or (error if failed else ""),
        failed=failed,
        error=error,
        code=code,
        created=created,
        outcome=outcome,
        about=display,
    )


class Qwen:
    """Reads chats. `home` is the folder of `~` in commands."""

    name = NAME
    version = 2

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = qwen_home(places) / "projects"
        chats = (*sorted(root.glob("*/chats/*.jsonl")), *sorted(root.glob("*/chats/archive/*.jsonl")))
        for path in chats:
            if not path.name.endswith(LEDGER):
                yield from record_file(NAME, path, path.stem)
        for path in sorted(root.glob("*/subagents/*/agent-*.jsonl")):
            yield from record_file(NAME, path, path.parent.name)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        subagent = record.path.stem if record.path.stem.startswith("agent-") else None
        drafts = QwenChat(NAME, record.session, cursor.carry, self.home, subagent)
        return read_lines(record, cursor, limit, drafts)


def qwen_home(places: Places) -> Path:
    """The folder with chats: `QWEN_RUNTIME_DIR`, else the folder of the configuration."""
    own = places.env.get("QWEN_RUNTIME_DIR") or places.env.get("QWEN_HOME")
    return Path(own) if own else places.home / ".qwen"
