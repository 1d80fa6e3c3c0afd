"""An agent whose records are drafts already, one JSON object per line: the engine without any format."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, complete_lines
from fazm_memory.events.event import Draft

NAME = "plain"


@dataclass
class PlainAgent:
    """`<home>/records/**/<session>[.part].jsonl`; the carry counts the lines it has read."""

    name: str = NAME
    version: int = 1
    reads: list[tuple[str, int]] = field(default_factory=list)

    def find(self, places: Places) -> Iterator[RecordFile]:
        for path in sorted((places.home / "records").rglob("*.jsonl")):
            stat = path.stat()
            yield RecordFile(self.name, path, path.name.split(".")[0], stat.st_size, stat.st_mtime)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        self.reads.append((record.path.name, cursor.offset))
        lines = complete_lines(record.path, cursor.offset, limit, quiet=record.quiet)
        drafts = []
        for line in lines.lines:
            results = json.loads(line)
            if "agent" in results:
                results["agent"] = self.name
            about = {name: results.pop(name) for name in ("kind", "at", "key") if name in results}
            drafts.append(
                Draft(record.session, payload=results, agent=self.name, source="transcript", **about)
            )
        count = cursor.carry.get("lines", 0) + len(lines.lines)
        waiting = lines.rest and not record.quiet
        return Chunk(tuple(drafts), Cursor(lines.offset, {"lines": count}), lines.more, waiting=waiting)


def line(kind: str, at: int, key: str, **payload: Any) -> str:
    return json.dumps({"kind": kind, "at": at, "key": key, **payload}) + "\n"


def opening(session: str, at: int, **payload: Any) -> str:
    return line("session.open", at, f"{session}:open", agent=NAME, agent_session_id=session, **payload)


def act(at: int, key: str, command: str = "ls") -> str:
    return line("action", at, key, tool="Bash", input={"command": command}, call_id=key)


def written(path: Path, *lines: str, mtime: float | None = None) -> Path:
    """Append lines to a record file; `mtime` says when that was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(lines)
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return path
