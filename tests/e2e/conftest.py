"""Fixtures that hand a test a real client with a scripted model behind it. See README.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.clients.codex import Codex
from tests.e2e.clients.gate import Gate
from tests.e2e.clients.installed import ClientMissing, claude_binary, codex_binary
from tests.e2e.clients.network import Room

_ROOM = pytest.StashKey[Room]()


@pytest.fixture(scope="session")
def room(request: pytest.FixtureRequest) -> Iterator[Room]:
    made = Room()
    request.config.stash[_ROOM] = made
    yield made
    made.close()


@pytest.fixture
def claude(room: Room, tmp_path: Path) -> Iterator[Claude]:
    try:
        binary = claude_binary()
    except ClientMissing as missing:
        pytest.fail(str(missing), pytrace=False)
    client = Claude(binary, room, tmp_path / "claude")
    yield client
    client.close()


@pytest.fixture
def codex(room: Room, tmp_path: Path) -> Iterator[Codex]:
    try:
        binary = codex_binary()
    except ClientMissing as missing:
        pytest.fail(str(missing), pytrace=False)
    client = Codex(binary, room, tmp_path / "codex")
    yield client
    client.close()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    made = Gate(tmp_path / "gate")
    yield made
    made.open()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Said at the end rather than in the header: `-q` hides the header, and this must not be hidden."""
    room = config.stash.get(_ROOM, None)
    if room is not None:
        terminalreporter.write_line(f"e2e: {room.describe()}")
