"""A made-up history of Claude Code: the same transcripts every time, as large as one likes.

Sessions of about two megabytes, three a day, back from yesterday: prompts, answers, edits, reads and shell
commands with outputs from one line to hundreds. What is in them is invented; their shape is the client's.
"""

from __future__ import annotations

import json
import os
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

SESSION = 2_000_000
A_DAY = 3
WORKSPACES = 20
WORDS = (
    "invoice", "scan", "report", "photo", "draft", "final", "budget", "march", "april", "rename", "move",
    "folder", "archive", "client", "ledger", "notes", "meeting", "receipt", "travel", "hotel", "train",
    "ticket", "letter", "contract", "offer", "order", "delivery", "return", "parcel", "signed",
)  # fmt: skip
OUTPUT_LINES = (1, 1, 2, 5, 20, 60, 200)


@dataclass(frozen=True)
class History:
    """What was written: how much, and which files are of yesterday."""

    bytes: int
    files: int
    yesterday: tuple[Path, ...]


def write_history(
    home: Path, size: int, now: datetime, tell: Callable[[int], None] = lambda done: None
) -> History:
    """Write about `size` bytes of transcripts into a user's home; the newest are of the day before `now`."""
    made, number = 0, 0
    yesterday: list[Path] = []
    while made < size:
        began = now.replace(hour=9, minute=0, second=0, microsecond=0) - timedelta(days=1 + number // A_DAY)
        session = _Session(number, began + timedelta(hours=3 * (number % A_DAY)))
        path = home / ".claude" / "projects" / session.cwd.replace("/", "-") / f"{session.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        made += session.write(path, min(SESSION, size - made))
        if number < A_DAY:
            yesterday.append(path)
        number += 1
        tell(made)
    return History(made, number, tuple(yesterday))


class _Session:
    """One session, made from its number alone."""

    def __init__(self, number: int, began: datetime) -> None:
        self.random = random.Random(number)
        self.id = str(self._uuid())
        self.cwd = f"/Users/dana/work/{WORDS[number % WORKSPACES]}"
        self.at = began
        self.parent: str | None = None
        self.prompt = ""
        self.calls = 0

    def write(self, path: Path, size: int) -> int:
        written = 0
        with path.open("w", encoding="utf-8") as file:
            while written < size:
                for record in self._step():
                    line = json.dumps(record, separators=(",", ":")) + "\n"
                    file.write(line)
                    written += len(line)
        stamp = self.at.timestamp()
        os.utime(path, (stamp, stamp))
        return written

    def _step(self) -> Iterator[dict[str, Any]]:
        """One call with its result, and every tenth time a new prompt before it."""
        if self.calls % 10 == 0:
            self.prompt = str(self._uuid())
            said = {"role": "user", "content": self._words(20)}
            yield self._record("user", promptId=self.prompt, message=said)
        self.calls += 1
        answer, call_id = f"msg_{self.random.getrandbits(80):x}", f"toolu_{self.random.getrandbits(96):x}"
        if self.calls % 3 == 0:
            yield self._answer(answer, {"type": "text", "text": self._words(60)})
        tool, given, result = self._call()
        yield self._answer(answer, {"type": "tool_use", "id": call_id, "name": tool, "input": given})
        block = {"type": "tool_result", "tool_use_id": call_id, "content": result}
        told = {"stdout": result, "stderr": "", "interrupted": False} if tool == "Bash" else {"type": "text"}
        message = {"role": "user", "content": [block]}
        yield self._record("user", promptId=self.prompt, message=message, toolUseResult=told)

    def _call(self) -> tuple[str, dict[str, Any], str]:
        path = f"{self.cwd}/{self._words(2).replace(' ', '-')}-{self.calls}.txt"
        output = "\n".join(self._words(12) for _ in range(self.random.choice(OUTPUT_LINES)))
        if self.calls % 4 == 0:
            given = {"file_path": path, "old_string": self._words(30), "new_string": self._words(30)}
            return "Edit", given, f"The file {path} has been updated successfully."
        if self.calls % 4 == 1:
            return "Read", {"file_path": path}, output
        command = f"mkdir -p sorted && mv {path} sorted/2026-03_{self.calls}.txt && cat sorted/list.txt"
        return "Bash", {"command": command, "description": "Sort"}, output

    def _answer(self, name: str, block: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 1200 + self.calls, "output_tokens": 90, "cache_read_input_tokens": 900}
        message = {
            "id": name,
            "role": "assistant",
            "model": "claude-made-up",
            "content": [block],
            "usage": usage,
        }
        return self._record("assistant", message=message)

    def _record(self, kind: str, **fields: Any) -> dict[str, Any]:
        self.at += timedelta(seconds=2)
        name = str(self._uuid())
        about = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": "2.1.197",
            "gitBranch": "main",
            "type": kind,
        }
        self.parent = name
        return {**about, **fields, "uuid": name, "timestamp": self.at.isoformat(timespec="milliseconds")}

    def _words(self, count: int) -> str:
        return " ".join(self.random.choices(WORDS, k=count))

    def _uuid(self) -> uuid.UUID:
        return uuid.UUID(int=self.random.getrandbits(128), version=4)
