"""The tour in docs/protocol.md, run call by call: what a developer of an agent asks in the first hour.

Each block belongs to the question above it. Lines go to `record`, to a tool or to the command line of one
store; `=` is a part of the answer. `S` stands for the handle of the session.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.cli.main import main
from fazm_memory.config import Config
from fazm_memory.mcp_server.server import MemoryServer

from .conftest import Asking, Ticking, talk

TEXT = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()
BLOCK = re.compile(r"\*\*(.+?)\*\*[^\n]*\n(?:[^\n`]+\n)*\n```tour\n(.*?)```", re.DOTALL)
BLOCKS = BLOCK.findall(TEXT.partition("## A tour")[2])


def part_of(expected: Any, found: Any) -> bool:
    """Whether the answer has everything that is expected; it may have more fields."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and part_of(value, found[name]) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(part_of(one, other) for one, other in zip(expected, found, strict=True))
        )
    return bool(expected == found)


def with_handle(value: Any, handle: str) -> Any:
    """The value with the handle where it says S."""
    if isinstance(value, dict):
        return {name: with_handle(one, handle) for name, one in value.items()}
    if isinstance(value, list):
        return [with_handle(one, handle) for one in value]
    return handle if value == "S" else value


class Tour:
    """One store with its three doors."""

    def __init__(self, server: MemoryServer, capfd: pytest.CaptureFixture[str], folder: Path) -> None:
        self.server, self.capfd, self.folder = server, capfd, folder
        self.handle = "S"

    def placed(self, line: str) -> str:
        """The line with a folder that exists."""
        return line.replace('"/shop"', json.dumps(str(self.folder / "user" / "shop")))

    def command(self, *arguments: str) -> Any:
        self.capfd.readouterr()
        assert main([*arguments]) == 0, self.capfd.readouterr()
        return json.loads(self.capfd.readouterr().out)

    def record(self, line: str, monkeypatch: pytest.MonkeyPatch) -> Any:
        path = self.folder / "line.json"
        path.write_text(line + "\n")
        with path.open() as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            return self.command("record")

    def tool(self, line: str) -> Any:
        name, _, given = line.partition(" ")

        async def work(ask: Asking) -> dict[str, Any]:
            return await ask(name, **with_handle(json.loads(given), self.handle))

        answer = talk(self.server, work, name="scout")
        if name == "session_open":
            self.handle = str(answer["session"])
        return answer

    def step(self, line: str, monkeypatch: pytest.MonkeyPatch) -> Any:
        line = self.placed(line)
        if line.startswith("record "):
            return self.record(line.removeprefix("record "), monkeypatch)
        if line.startswith("$ fazm-memory "):
            return self.command(*[self.handle if word == "S" else word for word in shlex.split(line)[2:]])
        return self.tool(line)


@pytest.fixture
def tour(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("FAZM_MEMORY_HOME", str(tmp_path / "memory"))
    monkeypatch.setenv("FAZM_MEMORY_KEY", "file")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("TZ", "UTC")
    config = Config(home=tmp_path / "memory", user_home=tmp_path / "user", key="file")
    (tmp_path / "user" / "shop").mkdir(parents=True)
    server = MemoryServer(Memory(config, Ticking()), tools="full")
    yield Tour(server, capfd, tmp_path)
    server.close()


def test_every_question_of_the_mission_is_in_the_tour() -> None:
    asked = " ".join(question for question, _ in BLOCKS)
    for words in (
        "last five turns", "A, then B", "change its mind", "at that moment", "How much is left",
        "outlive the context", "left the context", "unverified input", "Somebody else", "Do it again",
        "and when", "did it learn", "Two agents in one folder",
    ):  # fmt: skip
        assert words in asked
    assert len(BLOCKS) == TEXT.count("```tour")


def test_the_tour_answers_as_it_says(tour: Tour, monkeypatch: pytest.MonkeyPatch) -> None:
    for question, block in BLOCKS:
        lines = block.strip().splitlines()
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            if line.startswith("= "):
                continue
            answer = tour.step(line, monkeypatch)
            if following.startswith("= "):
                expected = with_handle(json.loads(tour.placed(following[2:])), tour.handle)
                assert part_of(expected, answer), (question, line, answer)


def test_the_context_file_exists_as_soon_as_something_is_recorded(tour: Tour) -> None:
    tour.tool('session_open {"workspace": "/w", "title": "first"}')
    assert list((tour.folder / "memory" / "context").glob("*.md"))
