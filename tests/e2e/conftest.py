"""Fixtures that hand a test a real client with a scripted model behind it. See README.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.clients.codex import Codex
from tests.e2e.clients.gate import Gate
from tests.e2e.clients.installed import ClientMissing, claude_binary, codex_binary
from tests.e2e.clients.network import Room

_ISOLATION = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def room(request: pytest.FixtureRequest) -> Iterator[Room]:
    made = Room()
    if hasattr(request.config, "workeroutput"):
        request.config.workeroutput["isolation"] = made.describe()
    else:
        request.config.stash[_ISOLATION] = made.describe()
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


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker says of its network."""
    if isolation := getattr(node, "workeroutput", {}).get("isolation"):
        node.config.stash[_ISOLATION] = isolation


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """At the end, since `-q` hides the header: whether the clients had a network."""
    if isolation := config.stash.get(_ISOLATION, None):
        terminalreporter.write_line(f"e2e: {isolation}")
