"""A memory to recall from: a façade on a store of its own, with a clock that is set by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.clock import parse_time
from fazm_memory.config import Config
from fazm_memory.events.event import Draft


class ClockedMemory(Memory):
    """A memory whose clock is wherever the test puts it."""

    def __init__(self, home: Path) -> None:
        self.moment = parse_time("2026-11-15T09:00:00+00:00")
        super().__init__(Config(home=home, user_home=home, key="file"), lambda: self.moment)

    def at(self, time: str) -> ClockedMemory:
        self.moment = parse_time(time)
        return self

    def say(
        self, session: str, kind: str, *, workspace: str = "/w", agent: str = "fazm", **payload: Any
    ) -> None:
        """Record one thing; the session is opened in the workspace when it is new."""
        about = {"agent": agent, "workspace": workspace, "agent_session_id": session}
        opening = Draft(session, "session.open", about, agent=agent)
        source, actor = payload.pop("source", "record"), payload.pop("actor", None)
        reply = Draft(
            session, kind, payload, agent=agent, actor=actor, source=source, trust=payload.pop("trust", None)
        )
        drafts = [reply] if self.store.sessions.by_key(session, agent) else [opening, reply]
        for result in self.sessions.record(drafts):
            assert result.error is None, result.error


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClockedMemory]:
    monkeypatch.setenv("TZ", "UTC")
    made = ClockedMemory(tmp_path / "home")
    yield made
    made.close()
