"""A time ahead of the clock is kept as it was told, and makes no session the latest for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.capture.draft import Draft
from fazm_memory.capture.watched import watched_roots
from fazm_memory.config import Config
from fazm_memory.log import retain
from fazm_memory.log.ahead import AHEAD
from fazm_memory.log.recover import recover
from fazm_memory.memory import Memory
from fazm_memory.model.clock import iso, parse
from fazm_memory.model.retention import DAY, Policy
from tests.log.wrecks import database, flip
from tests.scribe import T0
from tests.verbs.bundles import machines

MINUTE = 60_000_000
FAR = parse("2999-01-01T00:00:00+00:00")


class Desk:
    """A memory whose clock is set by hand."""

    def __init__(self, home: Path) -> None:
        self.clock = T0
        self.memory = Memory(Config(home=home, user_home=home.parent, key="file"), lambda: self.clock)

    def tell(self, key: str, at: int | None = None, **more: Any) -> None:
        self.clock += MINUTE
        draft = Draft(key, "action", {"tool": "Bash", "input": {"command": "ls"}, **more}, agent="a", at=at)
        (told,) = self.memory.record([draft])
        assert told.error is None

    def last(self, key: str) -> int:
        row = self.memory.store.sessions.by_key(key, None)
        assert row is not None
        return row.last_at

    def order(self) -> list[str | None]:
        return [one["agent_session_id"] for one in self.memory.sessions()]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "home")
    yield made
    made.memory.close()


def test_a_time_ahead_of_the_clock_counts_as_of_when_it_was_told(desk: Desk) -> None:
    desk.tell("far")
    desk.tell("far", at=FAR)
    assert desk.last("far") == desk.clock
    desk.tell("near")
    assert desk.order() == ["near", "far"]
    desk.tell("far")
    assert desk.order() == ["far", "near"]


def test_the_event_keeps_the_time_it_was_told_with(desk: Desk) -> None:
    desk.tell("far", at=FAR)
    (session,) = desk.memory.sessions()
    assert [one["at"] for one in desk.memory.events(session["id"])] == [iso(FAR), iso(FAR)]
    assert desk.memory.verify().clean


def test_a_session_that_begins_ahead_of_the_clock_begins_now(desk: Desk) -> None:
    desk.tell("far", at=FAR)
    (session,) = desk.memory.sessions()
    assert (session["opened_at"], session["last_at"]) == (iso(desk.clock), iso(desk.clock))


def test_a_day_ahead_is_another_machines_clock_and_believed(desk: Desk) -> None:
    desk.tell("near", at=T0 + MINUTE + AHEAD)
    assert desk.last("near") == T0 + MINUTE + AHEAD


def test_after_the_clock_was_wrong_a_session_comes_back_with_its_next_event(desk: Desk) -> None:
    desk.clock = FAR
    desk.tell("far")
    desk.clock = T0
    desk.tell("near")
    assert desk.order() == ["far", "near"]
    desk.tell("far")
    assert desk.last("far") == desk.clock
    desk.tell("near")
    assert desk.order() == ["near", "far"]


def test_what_waits_to_be_taken_in_says_the_same(desk: Desk) -> None:
    for _ in range(3):
        desk.tell("far")
    desk.tell("far", at=FAR)
    desk.tell("far", at=FAR + MINUTE)
    before = desk.last("far")
    assert before == desk.clock
    desk.memory.store.index_all()
    assert desk.last("far") == before


def test_a_source_is_not_last_heard_of_in_a_time_to_come(desk: Desk) -> None:
    desk.tell("far", at=FAR)
    assert desk.memory.store.follower.sources()["record"][0] == desk.clock
    desk.memory.store.index_all()
    assert desk.memory.store.follower.sources()["record"][0] == desk.clock
    desk.tell("near")
    desk.memory.store.index_all()
    assert desk.memory.store.follower.sources()["record"][0] == desk.clock


def test_its_details_grow_old_like_any_other(desk: Desk) -> None:
    desk.tell("far", at=FAR)
    made = retain.plan(desk.memory.store, Policy(), desk.clock + 400 * DAY)
    assert made.to_json()["events"] == 1


def test_its_folder_is_not_watched_for_ever(desk: Desk, tmp_path: Path) -> None:
    desk.memory.open_session("a", key="far", workspace=str(tmp_path))
    desk.tell("far", at=FAR)
    rows = desk.memory.store.sessions.listing()
    now = desk.clock + 30 * DAY
    assert watched_roots(rows, now=now, user_home="/nobody", platform="linux") == []


def test_a_recovery_does_not_bring_it_back(desk: Desk) -> None:
    desk.tell("far")
    last = desk.clock
    desk.tell("far", at=FAR)
    home = desk.memory.config.home
    desk.memory.close()
    flip(database(home), 1)  # whose copy is beside the key: nothing is lost
    told = recover(home, key="file", now=desk.clock + DAY, stamp="then")
    assert (told.needed, told.lost) == (True, 0)
    assert desk.last("far") == last


def test_a_bundle_does_not_bring_it_either(desk: Desk, tmp_path: Path) -> None:
    desk.clock = FAR
    desk.tell("far")
    (session,) = desk.memory.sessions()
    desk.memory.export_bundle(session["id"], tmp_path / "far.bundle")
    with machines(tmp_path) as machine:
        here = machine("dana")
        here.import_bundle(tmp_path / "far.bundle", mine=True)
        (row,) = here.store.sessions.listing()
        assert row.last_at == here.now()
        assert retain.plan(here.store, Policy(), here.now() + 400 * DAY).to_json()["events"] == 1
        here.export_bundle(session["id"], tmp_path / "again.bundle")
    sizes = {(tmp_path / name).stat().st_size for name in ("far.bundle", "again.bundle")}
    assert len(sizes) == 1, "what is moved on is what came"
