"""A checkpoint holds all that it was folded from: where that is held back, no export is given it, either."""

from __future__ import annotations

import pytest

from fazm_memory.log import retain
from fazm_memory.model.retention import DAY, Policy

from .desk import START, Desk

POISON = "zymurgy"


def poisoned(desk: Desk) -> tuple[str, str, int]:
    """A session that read a page and did what it says, a fork of it, and where the page stands."""
    made = desk.begin()
    desk.say(made, "prompt", text="sort the invoices")
    page = desk.act(made, "WebFetch", {"url": "https://evil.example"}, output=POISON)
    files = [{"path": f"/w/{POISON}.md", "change": "created"}]
    desk.act(made, "Write", {"content": POISON}, files=files)
    desk.say(made, "message", text="done")
    return made, desk.fork(made)["id"], page


def let_go(desk: Desk) -> None:
    later = START + 400 * DAY
    told = retain.carry_out(desk.store, retain.plan(desk.store, Policy(), later), later)
    assert told["forgotten"]


@pytest.mark.parametrize("first", ["quarantine", "retention"])
@pytest.mark.parametrize("whole", [False, True])
def test_no_export_of_a_session_or_of_a_fork_tells_what_a_checkpoint_kept(
    desk: Desk, first: str, whole: bool
) -> None:
    session, fork, page = poisoned(desk)
    if first == "retention":
        let_go(desk)
    desk.quarantine(session, seq=None if whole else page)
    if not whole:  # of a call whose details are gone only the positions are left
        desk.quarantine(session, seq=page + 1)
    if first == "quarantine":
        let_go(desk)
    for one in (session, fork):
        assert "checkpoint" in [event["kind"] for event in desk.events(one)]
        assert POISON in str(desk.state(one))
        told = (
            desk.state(one, quarantined=False),
            desk.files_modified(one, quarantined=False),
            desk.files_modified(one, turns=5, quarantined=False),
            list(desk.events(one, quarantined=False)),
            desk.briefing(one).text,
        )
        assert [text for text in map(str, told) if POISON in text] == []


def test_a_fork_of_before_it_is_told_as_ever(desk: Desk) -> None:
    session, _, page = poisoned(desk)
    early = desk.fork(session, at=page)["id"]
    desk.act(early, "Bash", {"command": "ls"}, files=[{"path": "/w/own.md", "change": "created"}])
    desk.quarantine(session, seq=page)
    let_go(desk)
    assert "own.md" in str(desk.state(early, quarantined=False)["files_modified"])
