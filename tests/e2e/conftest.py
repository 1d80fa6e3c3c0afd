"""Fixtures that hand a test a real client with a scripted model behind it. See README.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.clients.client import Client
from tests.e2e.clients.cline import Cline
from tests.e2e.clients.codex import Codex
from tests.e2e.clients.copilot import Copilot
from tests.e2e.clients.gate import Gate
from tests.e2e.clients.hermes import Hermes
from tests.e2e.clients.installed import (
    ClientMissing,
    claude_binary,
    cline_binary,
    codex_binary,
    copilot_binary,
    hermes_binary,
    opencode_binary,
    qwen_binary,
)
from tests.e2e.clients.network import Room
from tests.e2e.clients.opencode import Opencode
from tests.e2e.clients.qwen import Qwen

AnyClient = TypeVar("AnyClient", bound=Client)
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
    yield from _running(Claude, claude_binary, room, tmp_path / "claude")


@pytest.fixture
def codex(room: Room, tmp_path: Path) -> Iterator[Codex]:
    yield from _running(Codex, codex_binary, room, tmp_path / "codex")


@pytest.fixture
def copilot(room: Room, tmp_path: Path) -> Iterator[Copilot]:
    yield from _running(Copilot, copilot_binary, room, tmp_path / "copilot")


@pytest.fixture
def cline(room: Room, tmp_path: Path) -> Iterator[Cline]:
    yield from _running(Cline, cline_binary, room, tmp_path / "cline")


@pytest.fixture
def opencode(room: Room, tmp_path: Path) -> Iterator[Opencode]:
    yield from _running(Opencode, opencode_binary, room, tmp_path / "opencode")


@pytest.fixture
def qwen(room: Room, tmp_path: Path) -> Iterator[Qwen]:
    yield from _running(Qwen, qwen_binary, room, tmp_path / "qwen")


@pytest.fixture
def hermes(room: Room, tmp_path: Path) -> Iterator[Hermes]:
    yield from _running(Hermes, hermes_binary, room, tmp_path / "hermes")


def _running(
    made: type[AnyClient], binary: Callable[[], Path], room: Room, home: Path
) -> Iterator[AnyClient]:
    try:
        client = made(binary(), room, home)
    except ClientMissing as missing:
        pytest.fail(str(missing), pytrace=False)
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
