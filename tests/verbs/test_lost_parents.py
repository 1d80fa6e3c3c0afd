"""Forks whose parent damage has hit: what the chain can prove is put back, the rest stands on its own."""

from __future__ import annotations

from fazm_memory.log.tables import event_id

from .desk import Desk


def forked(desk: Desk) -> tuple[str, str]:
    """A session, and a fork of it that asks something."""
    parent = desk.begin()
    desk.say(parent, "decision", what="by month", why="they sort")
    fork = str(desk.fork(parent)["id"])
    desk.say(fork, "decision", what="by vendor")
    desk.handoff(fork, note="which vendors?", to="human")
    return parent, fork


def damage(desk: Desk, session: str, *, events: bool) -> None:
    with desk.store.db.transaction():
        (number,) = desk.store.db.execute("SELECT n FROM session WHERE id=?", (session,)).fetchone()
        desk.store.db.execute("DELETE FROM session WHERE n=?", (number,))
        if events:
            bounds = event_id(number, 0), event_id(number + 1, 0)
            desk.store.db.execute("DELETE FROM event WHERE id >= ? AND id < ?", bounds)


def decisions(desk: Desk, session: str) -> list[str]:
    return [one["what"] for one in desk.state(session)["decisions_made"]]


def test_a_session_whose_row_is_lost_gets_its_name_back_when_a_fork_knows_it(desk: Desk) -> None:
    parent, fork = forked(desk)
    other = desk.begin()
    desk.say(other, "decision", what="something else")
    damage(desk, parent, events=False)

    assert desk.recover()["needed"]

    assert decisions(desk, parent) == ["by month"]
    assert decisions(desk, fork) == ["by month", "by vendor"]
    assert desk.session(fork)["parent"] == parent
    assert desk.verify().clean


def test_a_fork_whose_parent_is_lost_stands_on_its_own_and_says_so(desk: Desk) -> None:
    parent, fork = forked(desk)
    damage(desk, parent, events=True)

    assert desk.recover()["needed"]

    assert decisions(desk, fork) == ["by vendor"]
    assert desk.session(fork)["parent"] is None
    (told,) = [one["payload"]["note"] for one in desk.events(fork) if one["kind"] == "recovered"]
    assert told == f"the session {parent[:8]} that it was forked from is lost: it stands on its own"
    assert [one["session"] for one in desk.status()["open_questions"]] == [fork]
    assert desk.habits() is not None
    assert "by vendor" in desk.context("/w").text
    assert desk.verify().clean
