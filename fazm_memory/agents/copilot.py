"""GitHub Copilot CLI: the reader of its session events.

A command that failed still has `success: true`: the exit code decides. The content of a result holds text
that hooks added, the detailed content does not. Subagents write to the file of their session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, copilot_home, record_file
from fazm_memory.agents.fields import ident, mapping, moment, sequence, text, whole
from fazm_memory.agents.session_drafts import CallEnd, TakesRecords, arguments_of, exit_code, read_lines
from fazm_memory.agents.tool_calls import touch
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import read_regular

NAME = "copilot"
EVENTS = "events.jsonl"
SHELL_END = lazy_regex(r"\n?<(?:shellId: \S+ completed|exited) with exit code (-?\d{1,9})>\s*\Z")
HOOK_TEXT = lazy_regex(r'\n\nTool "[^"\n]{1,200}" (?:succeeded|failed)\. Additional guidance from ')
WORKSPACE_NAME = lazy_regex(r"^name: (.+)$", re.MULTILINE)
FILE_EDITS = {"create": "created", "edit": "modified", "delete": "deleted"}
NOISE = (
    "hook.", "system.", "assistant.turn_", "assistant.reasoning", "assistant.intent", "subagent.",
    "session.model_change", "session.info", "session.error", "session.warning", "session.usage_checkpoint",
    "session.auto_mode_resolved", "session.mode_changed", "session.resume", "session.compaction_start",
    "session.title_changed", "session.shutdown", "tool.user_requested", "skill.", "permission.",
)  # fmt: skip


class CopilotEvents(TakesRecords):
    """Turns events into drafts."""

    def take(self, record: Mapping[str, Any]) -> None:
        kind, data = text(record.get("type")), mapping(record.get("data"))
        at, key = moment(record.get("timestamp")), ident(record.get("id")) or f"line-{self.lines}"
        agent = ident(record.get("agentId")) or ident(data.get("parentToolCallId")) or None
        if kind == "session.start":
            about = mapping(data.get("context"))
            self.describe(workspace=text(about.get("cwd")), model=ident(data.get("selectedModel")))
            self.at = moment(data.get("startTime")) or at
        elif kind == "user.message":
            # `source` names who wrote a message that no person typed.
            if agent is None and text(data.get("source")) in ("", "user"):
                self.prompt(text(data.get("content")), key, at)
        elif kind == "assistant.message":
            if agent is None:
                self.message(text(data.get("content")), key, at)
        elif kind == "tool.execution_start":
            call_id = ident(data.get("toolCallId")) or key
            self.call(call_id, text(data.get("toolName")), arguments_of(data.get("arguments")), at, agent)
        elif kind == "tool.execution_complete":
            self.result(ident(data.get("toolCallId")), _end(data), key, at)
        elif kind == "session.usage_record":
            self._usage(mapping(data.get("usage")), key, at)
        elif kind == "session.compaction_complete":
            if data.get("success") is not False:
                self.compacted(text(data.get("summaryContent")), key, at)
        elif kind == "session.truncation":
            self.compacted("", key, at)
        elif kind == "abort":
            self.interrupt(key, at)
        elif not kind.startswith(NOISE):
            self.unread(kind, record, key)

    def _usage(self, spent: Mapping[str, Any], key: str, at: int | None) -> None:
        values = {
            "input": spent.get("inputTokens"),
            "output": spent.get("outputTokens"),
            "cached": spent.get("cacheReadTokens"),
        }
        self.usage(values, spent.get("model"), key, at, cached_in_input=True)


def _end(data: Mapping[str, Any]) -> CallEnd:
    result, edits = mapping(data.get("result")), sequence(data.get("fileEdits"))
    shell = mapping(data.get("shellExecution"))
    content = text(result.get("content"))
    if (hooks := HOOK_TEXT.search(content)) is not None:
        content = content[: hooks.start()]
    if shell or not edits:
        content = text(result.get("detailedContent")) or content
    tail = SHELL_END.search(content)
    code = whole(shell.get("exitCode"))
    error = text(mapping(data.get("error")).get("message"))
    failed = data.get("success") is False
    files = tuple(_edited(mapping(edit)) for edit in edits if text(mapping(edit).get("path")))
    return CallEnd(
        output=(content[: tail.start()] if tail else content) or (error if failed else ""),
        failed=failed,
        error=error,
        code=code if code is not None else exit_code(tail),
        files=files or None,
    )


def _edited(edit: Mapping[str, Any]) -> dict[str, Any]:
    return touch(text(edit.get("path")), FILE_EDITS.get(text(edit.get("kind")), "modified"))


class Copilot:
    """Reads session events. `home` is the folder of `~` in commands."""

    name = NAME
    version = 1

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = copilot_home(places) / "session-state"
        for path in sorted(root.glob(f"*/{EVENTS}")):
            yield from record_file(NAME, path, path.parent.name)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        drafts = CopilotEvents(NAME, record.session, cursor.carry, self.home)
        drafts.describe(title=_title(record.path))
        return read_lines(record, cursor, limit, drafts)


def _title(path: Path) -> str:
    """The name of the session. Copilot does not write it to the events."""
    try:
        about = read_regular(path.with_name("workspace.yaml")).decode("utf-8", "replace")
    except OSError:
        return ""
    found = WORKSPACE_NAME.search(about)
    return found[1].strip().strip("'\"") if found is not None else ""
