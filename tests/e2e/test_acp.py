"""An agent of the protocol's own SDK, read over ACP."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.agents.acp import AcpClient
from fazm_memory.app.agents import import_acp
from tests.agents.reading import of_kind
from tests.app.memory_fixture import MemoryFixture

pytestmark = pytest.mark.e2e

AGENT = (sys.executable, str(Path(__file__).with_name("acp_agent.py")))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryFixture]:
    made = MemoryFixture(tmp_path / "memory")
    yield made
    made.close()


def test_sessions_of_the_sdks_agent_are_listed_and_replayed() -> None:
    with AcpClient(AGENT) as client:
        sessions = list(client.sessions())
        drafts = client.load(sessions[0], "/home/dana")
    assert [(one.id, one.title) for one in sessions] == [
        ("first", "The first walk"),
        ("second", "The second walk"),
    ]
    opened = of_kind(drafts, "session.open")
    assert opened == [
        {
            "agent": "birdwatch",
            "agent_session_id": "first",
            "workspace": "/w/birds",
            "title": "The first walk",
        }
    ]
    assert [one["text"] for one in of_kind(drafts, "prompt")] == ["Count the herons."]
    assert [one["text"] for one in of_kind(drafts, "message")] == ["I look.", "Nineteen."]
    assert [(one["tool"], one["outcome"], one["output"]) for one in of_kind(drafts, "action")] == [
        ("bash", "ok", "done"),
        ("read", "error", "no such file"),
    ]


def test_importing_twice_adds_nothing_and_known_sessions_are_left_to_their_records(
    memory: MemoryFixture,
) -> None:
    once = import_acp(memory, AGENT)
    again = import_acp(memory, AGENT)
    assert (once["agent"], once["sessions"], once["troubles"]) == ("birdwatch", 2, {})
    assert (again["events"], again["known"]) == (0, once["events"])
    memory.store.db.execute("UPDATE session SET agent='other' WHERE agent_session_id='first'")
    assert import_acp(memory, AGENT)["skipped"] == 1
