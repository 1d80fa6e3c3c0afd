"""Antigravity CLI: the reader of its transcripts.

Calls and results have no ids: results follow their calls in the same order. The exit code of a command is
only in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, record_file
from fazm_memory.agents.cursor import first_match
from fazm_memory.agents.fields import mapping, moment, record_of, sequence, text, whole
from fazm_memory.agents.session_drafts import CallEnd, TakesRecords, exit_code, read_lines
from fazm_memory.lazy import lazy_regex

NAME = "antigravity"
TRANSCRIPT = "transcript_full.jsonl"
CWD = lazy_regex(rb'"(?:Cwd|DirectoryPath)"\s*:\s*"(?:\\")?(/[^"\\]{1,1000})')
REQUEST = lazy_regex(r"<USER_REQUEST>(.*?)</USER_REQUEST>", re.DOTALL)
ADDED = lazy_regex(r"<(ADDITIONAL_METADATA|USER_SETTINGS_CHANGE)>.*?</\1>", re.DOTALL)
EXIT = lazy_regex(r"(?:exit code|failed with exit code|exited with code):? (-?\d{1,9})", re.IGNORECASE)
OUTPUT = lazy_regex(r"\A.{0,500}?\nOutput:\n", re.DOTALL)
TIMES = lazy_regex(r"\A(?:(?:Created|Completed) At: [^\n]*\n)+")
NOISE = frozenset({"CONVERSATION_HISTORY", "SYSTEM_MESSAGE", "EPHEMERAL_MESSAGE", "KNOWLEDGE_ARTIFACTS"})
# The tools of results whose calls are missing.
RESULTS = {
    "RUN_COMMAND": "run_command",
    "CODE_ACTION": "code_action",
    "VIEW_FILE": "view_file",
    "LIST_DIRECTORY": "list_dir",
    "GREP_SEARCH": "grep_search",
    "FIND": "find",
    "SEARCH_WEB": "search_web",
    "READ_URL_CONTENT": "read_url_content",
    "INVOKE_SUBAGENT": "invoke_subagent",
    "MCP_TOOL": "mcp_tool",
    "BROWSER_SUBAGENT": "browser_subagent",
    "COMMAND_STATUS": "command_status",
    "GENERIC": "generic",
}
FILE_NAMES = ("TargetFile", "AbsolutePath", "FilePath")


class AntigravitySteps(TakesRecords):
    """Turns steps into drafts."""

    def take(self, record: Mapping[str, Any]) -> None:
        kind, at = text(record.get("type")), moment(record.get("created_at"))
        step, content = whole(record.get("step_index")), text(record.get("content"))
        key = f"step-{step}:{kind[:40]}" if step is not None else f"line-{self.lines}"
        if kind == "USER_INPUT":
            self.prompt("\n".join(REQUEST.findall(content)) or ADDED.sub("", content), key, at)
        elif kind == "PLANNER_RESPONSE":
            self.message(content, key, at)
            for number, call in enumerate(map(mapping, sequence(record.get("tool_calls")))):
                self.call(f"{key}:{number}", text(call.get("name")), _arguments(call.get("args")), at)
        elif kind == "CHECKPOINT":
            self.compacted(content, key, at)
        elif kind in RESULTS:
            # The oldest call without a result is the one that this result belongs to.
            call_id = next(iter(self.calls), "")
            self.result(call_id, _end(record, content), key, at, RESULTS[kind])
        elif kind not in NOISE:
            self.unread(kind, record, key)


def _arguments(value: Any) -> dict[str, Any]:
    """The arguments. Each may be written as JSON text once more."""
    found = {}
    for name, one in mapping(value).items():
        inner = record_of(f'{{"value":{one}}}') if isinstance(one, str) and one[:1] == '"' else None
        found[name] = inner["value"] if inner is not None else one
    path = next((found[name] for name in FILE_NAMES if text(found.get(name))), None)
    return found | ({"file_path": path.removeprefix("file://")} if isinstance(path, str) else {})


def _end(record: Mapping[str, Any], content: str) -> CallEnd:
    said = TIMES.sub("", content)
    code = None
    if record.get("type") == "RUN_COMMAND":
        code = exit_code(EXIT.search(said[:500]))
        said = OUTPUT.sub("", said)
    failed = record.get("status") in ("ERROR", "FAILED", "CANCELLED", "CANCELED")
    outcome = "interrupted" if text(record.get("status")).startswith("CANCEL") else ""
    return CallEnd(said, failed, code=code, created="Created file" in said[:200], outcome=outcome)


class Antigravity:
    """Reads transcripts. `home` is the folder of `~` in commands."""

    name = NAME
    version = 1

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = antigravity_folder(places)
        for path in sorted(root.glob(f"*/.system_generated/logs/{TRANSCRIPT}")):
            yield from record_file(NAME, path, path.parents[2].name)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        drafts = AntigravitySteps(NAME, record.session, cursor.carry, self.home)
        if not drafts.cwd:
            drafts.describe(workspace=first_match(record.path, CWD))
        return read_lines(record, cursor, limit, drafts)


def antigravity_folder(places: Places) -> Path:
    return places.home / ".gemini" / "antigravity-cli" / "brain"
