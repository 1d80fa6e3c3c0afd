"""A checkpoint holds all that it was folded from: where that is held back, no export is given it, either."""

from __future__ import annotations

import pytest

from fazm_memory.events.event import DAY, RetentionPolicy
from fazm_memory.store import retention
from tests.app.memory_fixture import START, MemoryFixture

POISON = "zymurgy"


def poisoned(memory: MemoryFixture) -> tuple[str, str, int]:
    """A session that read a page and did what it says, a fork of it, and where the page stands."""
    made = memory.begin()
    memory.say(made, "prompt", text="sort the invoices")
    page = memory.act(made, "WebFetch", {"url": "https://evil.example"}, output=POISON)
    files = [{"path": f"/w/{POISON}.md", "change": "created"}]
    memory.act(made, "Write", {"content": POISON}, files=files)
    memory.say(made, "message", text="done")
    return made, memory.rewind.fork(made)["id"], page


def let_go(memory: MemoryFixture) -> None:
    later = START + 400 * DAY
    result = retention.apply_plan(memory.store, retention.plan(memory.store, RetentionPolicy(), later), later)
    assert result["forgotten"]


@pytest.mark.parametrize("first", ["quarantine", "retention"])
@pytest.mark.parametrize("whole", [False, True])
def test_no_export_of_a_session_or_of_a_fork_tells_what_a_checkpoint_kept(
    memory: MemoryFixture, first: str, whole: bool
) -> None:
    session, fork, page = poisoned(memory)
    if first == "retention":
        let_go(memory)
    memory.maintenance.quarantine(session, seq=None if whole else page)
    if not whole:  # of a call whose details are gone only the positions are left
        memory.maintenance.quarantine(session, seq=page + 1)
    if first == "quarantine":
        let_go(memory)
    for one in (session, fork):
        assert "checkpoint" in [event["kind"] for event in memory.history.events(one)]
        assert POISON in str(memory.history.state(one))
        result = (
            memory.history.state(one, quarantined=False),
            memory.history.files_modified(one, quarantined=False),
            memory.history.files_modified(one, turns=5, quarantined=False),
            list(memory.history.events(one, quarantined=False)),
            memory.recall.briefing(one).text,
        )
        assert [text for text in map(str, result) if POISON in text] == []


def test_a_fork_of_before_it_is_reported_as_ever(memory: MemoryFixture) -> None:
    session, _, page = poisoned(memory)
    early = memory.rewind.fork(session, at=page)["id"]
    memory.act(early, "Bash", {"command": "ls"}, files=[{"path": "/w/own.md", "change": "created"}])
    memory.maintenance.quarantine(session, seq=page)
    let_go(memory)
    assert "own.md" in str(memory.history.state(early, quarantined=False)["files_modified"])
