"""A memory for tests of the verbs: a store of its own, a clock that moves a second with every look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.events.event import Draft

START = 1_794_733_200_000_000  # 2026-11-15, nine in the morning UTC
SECOND = 1_000_000


class Ticking:
    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        self.at += SECOND
        return self.at


class MemoryFixture(Memory):
    """`say` records as the agent does, through the `record` protocol's door."""

    now: Ticking

    def __init__(self, home: Path) -> None:
        super().__init__(Config(home=home, user_home=home.parent / "user", key="file"), Ticking())

    def begin(self, workspace: str = "/w", **more: Any) -> str:
        return str(self.sessions.open("fazm", workspace=workspace, source="record", **more)["id"])

    def say(self, session: str, kind: str, **payload: Any) -> int:
        """Record one thing; its position."""
        envelope = {name: payload.pop(name) for name in ("source", "at", "trust") if name in payload}
        results = self.sessions.record([Draft(session, kind, payload, **envelope)])[0]
        assert results.appended is not None, results.error
        return results.appended.seq

    def act(self, session: str, tool: str, given: Any = None, **more: Any) -> int:
        return self.say(session, "action", tool=tool, input=given, **more)

    def renamed(self, session: str, before: str, after: str) -> int:
        files = [{"path": after, "change": "renamed", "from": before}]
        return self.act(session, "Bash", {"command": f"mv {before} {after}"}, files=files)
