"""Forks whose parent damage has hit: what the chain can prove is put back, the rest stands on its own."""

from __future__ import annotations

from fazm_memory.store.event_log import event_id
from tests.app.memory_fixture import MemoryFixture


def forked(memory: MemoryFixture) -> tuple[str, str]:
    """A session, and a fork of it that asks something."""
    parent = memory.begin()
    memory.say(parent, "decision", what="by month", why="they sort")
    fork = str(memory.rewind.fork(parent)["id"])
    memory.say(fork, "decision", what="by vendor")
    memory.sessions.handoff(fork, note="which vendors?", to="human")
    return parent, fork


def damage(memory: MemoryFixture, session: str, *, events: bool) -> None:
    with memory.store.db.transaction():
        (number,) = memory.store.db.execute("SELECT n FROM session WHERE id=?", (session,)).fetchone()
        memory.store.db.execute("DELETE FROM session WHERE n=?", (number,))
        if events:
            bounds = event_id(number, 0), event_id(number + 1, 0)
            memory.store.db.execute("DELETE FROM event WHERE id >= ? AND id < ?", bounds)


def decisions(memory: MemoryFixture, session: str) -> list[str]:
    return [one["what"] for one in memory.history.state(session)["decisions_made"]]


def test_a_session_whose_row_is_lost_gets_its_name_back_when_a_fork_knows_it(memory: MemoryFixture) -> None:
    parent, fork = forked(memory)
    other = memory.begin()
    memory.say(other, "decision", what="something else")
    damage(memory, parent, events=False)

    assert memory.maintenance.recover()["needed"]

    assert decisions(memory, parent) == ["by month"]
    assert decisions(memory, fork) == ["by month", "by vendor"]
    assert memory.sessions.get(fork)["parent"] == parent
    assert memory.maintenance.verify().clean


def test_a_fork_whose_parent_is_lost_stands_on_its_own_and_says_so(memory: MemoryFixture) -> None:
    parent, fork = forked(memory)
    damage(memory, parent, events=True)

    assert memory.maintenance.recover()["needed"]

    assert decisions(memory, fork) == ["by vendor"]
    assert memory.sessions.get(fork)["parent"] is None
    (result,) = [one["payload"]["note"] for one in memory.history.events(fork) if one["kind"] == "recovered"]
    assert result == f"session {parent[:8]}, from which it was forked, is lost"
    assert [one["session"] for one in memory.status()["open_questions"]] == [fork]
    assert memory.recall.habits() is not None
    assert "by vendor" in memory.recall.context("/w").text
    assert memory.maintenance.verify().clean
