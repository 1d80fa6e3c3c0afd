"""A memory of one's own for the tests of the menu bar, with a clock that stands still until moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.events.event import Draft

NOON = 1_790_000_000_000_000


class Clock:
    def __init__(self) -> None:
        self.at = NOON

    def __call__(self) -> int:
        self.at += 1000
        return self.at


class MenuEnv:
    """A user, their memory, and agents that work for them."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.user = folder / "user"
        self.user.mkdir()
        self.config = Config(folder / "home", self.user, key="file")
        self.memory = Memory(self.config, self.clock)

    def work(self, session: str = "s1", title: str = "Rename the invoices", **more: Any) -> str:
        """An agent's session with a prompt and an action; our id of it."""
        given = {"agent": "claude-code", "title": title, "workspace": str(self.user), **more}
        results = self.memory.sessions.record(
            [
                Draft(session, "session.open", given, agent=given["agent"]),
                Draft(session, "prompt", {"text": title}, agent=given["agent"]),
                Draft(
                    session, "action", {"tool": "Bash", "input": {"command": "mv a b"}}, agent=given["agent"]
                ),
            ]
        )
        assert [one.error for one in results] == [None] * 3
        assert results[0].appended is not None
        return results[0].appended.session


@pytest.fixture
def env(tmp_path: Path) -> Iterator[MenuEnv]:
    made = MenuEnv(tmp_path)
    yield made
    made.memory.close()
