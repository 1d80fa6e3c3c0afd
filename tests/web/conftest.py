"""A store with a little of everything, and the page over it: in process, and on a real port."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.events.event import Draft
from fazm_memory.web.server import InProcessPage, PageServer

NOW = 1_794_750_000_000_000  # 2026-11-15, afternoon in UTC
SECOND = 1_000_000
HOUR = 3600 * SECOND
API = "/api/v1/"


def config(folder: Path) -> Config:
    return Config(
        home=folder / "memory", user_home=folder / "user", key="file",
        environment={"FAZM_MEMORY_HOME": str(folder / "memory"), "HOME": str(folder / "user")},
    )  # fmt: skip


def open_memory(folder: Path) -> Memory:
    return Memory(config(folder), lambda: NOW)


@dataclass
class World:
    """A memory to tell things to, and the ids of its sessions by the agents' own names."""

    folder: Path
    memory: Memory
    at: int = NOW - 2 * HOUR

    def tell(self, session: str, kind: str, by: str = "fazm", /, **payload: Any) -> int:
        """One thing more, a second later; its position."""
        self.at += SECOND
        draft = Draft(session, kind, payload, agent=by, at=self.at, source="hook")
        results = self.memory.sessions.record([draft])[0]
        assert results.error is None, results.error
        assert results.appended is not None
        return results.appended.seq

    def open(self, session: str, **fields: Any) -> None:
        by = fields.setdefault("agent", "fazm")
        self.tell(session, "session.open", by, agent_session_id=session, **fields)

    def id(self, session: str) -> str:
        return self.memory.store.sessions.resolve(session).id


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """One session in which most things happen, and another one."""
    (tmp_path / "user").mkdir()
    work = tmp_path / "work"
    work.mkdir()
    made = World(tmp_path, open_memory(tmp_path))
    made.open("tidy", agent="fazm", title="Tidy the scans", workspace=str(work))
    made.tell("tidy", "prompt", text="Rename the scans")
    made.tell("tidy", "decision", what="dates first", why="they sort")
    made.tell("tidy", "action", tool="Bash", input={"command": "mv a b"}, error="no such file",
              outcome="error", duration_ms=400)  # fmt: skip
    made.tell("tidy", "action", tool="Bash", input={"command": "mv a b"}, output="moved", duration_ms=500,
              files=[{"path": str(work / "b"), "change": "renamed", "from": str(work / "a")}])  # fmt: skip
    made.tell("tidy", "action", tool="WebFetch", input={"url": "https://example.com"}, output="a page")
    made.tell("tidy", "evicted", keys=["file:a"], summary="the first hour")
    made.open("other", agent="codex", title="Something else", workspace="/elsewhere")
    made.tell("other", "prompt", "codex", text="Look around")
    yield made
    made.memory.close()


@dataclass
class Asking:
    """Asks the page's API and hands back what it says."""

    respond: Callable[..., Any]

    def raw(self, method: str, path: str, body: Any = None, /, **params: Any) -> tuple[int, Any]:
        query = f"?{urlencode(params)}" if params else ""
        data = b"" if method == "GET" else json.dumps({} if body is None else body).encode()
        headers = {} if method == "GET" else {"content-type": "application/json"}
        status, _, reply = self.respond(method, f"{API}{path}{query}", headers, data)
        return status, json.loads(reply)

    def get(self, path: str, /, **params: Any) -> Any:
        status, reply = self.raw("GET", path, **params)
        assert status == 200, reply
        return reply

    def post(self, path: str, /, **body: Any) -> Any:
        status, reply = self.raw("POST", path, body)
        assert status == 200, reply
        return reply


@pytest.fixture
def inside(world: World) -> Iterator[InProcessPage]:
    made = InProcessPage(lambda: open_memory(world.folder))
    yield made
    made.close()


@pytest.fixture
def ask(inside: InProcessPage) -> Asking:
    return Asking(inside)


@pytest.fixture
def served(world: World) -> Iterator[PageServer]:
    server = PageServer(lambda: open_memory(world.folder), world.memory.config.home, port=0)
    with server.in_background():
        yield server


def call(served: PageServer, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Any:
    """A response over HTTP, read to its end."""
    connection = HTTPConnection("127.0.0.1", served.port, timeout=30)
    try:
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def bearer(served: PageServer, **more: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {served.token}",
        **{name.replace("_", "-"): v for name, v in more.items()},
    }
