"""Times that are claimed, and clocks that are wrong.

Looked for: what sorts or ranks by time (listing, search, facts, context), what expires by time, every way in
(record, transcripts, bundles), events dated far back in a live session, and a clock that was ahead or behind
for a while, when events were recorded and when retention ran.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fazm_memory.events.event import DAY, Draft
from fazm_memory.store.store import Store
from tests.app.memory_fixture import START, MemoryFixture
from tests.store.schemas.make import old_store

YEAR = 365 * DAY
AHEAD = START + 10 * YEAR


def details(memory: MemoryFixture, session: str) -> list[str]:
    """The outputs of a session's calls that are still stored."""
    events = memory.history.events(session, kind="action")
    return [event["payload"]["output"] for event in events if event["payload"] is not None]


def act(memory: MemoryFixture, session: str, output: str, **more: Any) -> None:
    memory.act(session, "Bash", {"command": f"echo {output}"}, output=output, **more)


@pytest.mark.parametrize("source", ["record", "transcript", "hook"])
def test_a_time_in_the_future_is_noted_and_not_believed(memory: MemoryFixture, source: str) -> None:
    session = memory.begin()
    act(memory, session, "x", at=AHEAD, source=source)
    act(memory, session, "y")
    claim, plain = memory.history.events(session, kind="action")
    assert claim["claimed_at"].startswith("2036-")
    assert claim["at"].startswith("2026-11-15")
    assert "claimed_at" not in plain
    assert memory.maintenance.verify().clean


def test_a_time_in_the_past_is_shown_with_when_it_arrived(memory: MemoryFixture) -> None:
    session = memory.begin()
    act(memory, session, "x", at=START - YEAR)
    act(memory, session, "y")
    act(memory, session, "z", at=START - YEAR)
    early, plain, late = memory.history.events(session, kind="action")
    assert (early["at"][:4], early["received_at"][:10]) == ("2025", "2026-11-15")
    assert "received_at" not in plain
    assert early["received_at"] < late["received_at"]
    shown = memory.timeline.event_details(session, early["seq"])["event"]
    assert shown["received_at"] == early["received_at"]


def test_a_session_from_the_future_is_not_the_latest_for_ever(memory: MemoryFixture) -> None:
    drafts = [
        Draft("f", "session.open", {"agent": "fazm"}, agent="fazm", at=AHEAD, source="record"),
        Draft("f", "prompt", {"text": "future words"}, agent="fazm", at=AHEAD, source="record"),
    ]
    future = memory.sessions.record(drafts)[0].appended
    assert future is not None
    own = memory.begin()
    memory.say(own, "prompt", text="present words", source="hook")
    listed = memory.sessions.listing()
    assert [row["id"] for row in listed] == [own, future.session]
    assert all(row["opened_at"].startswith("2026-") and row["last_at"].startswith("2026-") for row in listed)
    assert [hit["session"] for hit in memory.recall.search("words")] == [own, future.session]
    assert "present words" in memory.recall.context().text


def test_a_fact_from_the_future_gives_way_to_the_next_one(memory: MemoryFixture) -> None:
    session = memory.begin()
    memory.say(session, "fact", key="port", value=1, at=AHEAD)
    memory.say(session, "fact", key="port", value=2)
    assert [fact["value"] for fact in memory.recall.facts() if fact["key"] == "port"][:1] == [2]


def test_what_is_dated_in_the_future_expires_like_the_rest(memory: MemoryFixture) -> None:
    session = memory.begin()
    act(memory, session, "future", at=AHEAD)
    act(memory, session, "present")
    memory.now.at += 200 * DAY
    act(memory, session, "fresh")
    memory.maintenance.retain()
    assert details(memory, session) == ["fresh"]


def test_what_is_dated_far_back_counts_from_its_arrival(memory: MemoryFixture) -> None:
    session = memory.begin()
    memory.now.at += 200 * DAY
    act(memory, session, "imported late", at=START + DAY, source="transcript")
    memory.maintenance.retain()
    assert details(memory, session) == ["imported late"]
    memory.now.at += 200 * DAY
    memory.maintenance.retain()
    assert details(memory, session) == []


def test_a_clock_that_was_behind_makes_nothing_old(memory: MemoryFixture) -> None:
    session = memory.begin()
    act(memory, session, "before")
    right = memory.now.at
    memory.now.at -= 6 * YEAR
    act(memory, session, "while behind")
    other = memory.begin()
    act(memory, other, "of a new session")
    assert memory.maintenance.retain()["events"] == 0
    memory.now.at = right + DAY
    assert memory.maintenance.retain()["events"] == 0
    assert details(memory, session) == ["before", "while behind"]
    assert details(memory, other) == ["of a new session"]


def test_a_clock_that_was_ahead_makes_nothing_old_and_nothing_eternal(memory: MemoryFixture) -> None:
    session = memory.begin()
    act(memory, session, "before")
    right = memory.now.at
    memory.now.at += 6 * YEAR
    act(memory, session, "while ahead")
    memory.now.at = right + DAY
    assert memory.maintenance.retain()["events"] == 0
    act(memory, session, "after")
    memory.now.at = right + 170 * DAY
    assert memory.maintenance.retain()["events"] == 0
    memory.now.at = right + 190 * DAY
    memory.maintenance.retain()
    assert details(memory, session) == []


def test_daily_retention_announces_again_after_a_leap_and_goes_on_after_a_wrong_one(
    memory: MemoryFixture,
) -> None:
    session = memory.begin()
    act(memory, session, "x")
    assert memory.maintenance.retain_daily() is None
    right = memory.now.at
    memory.now.at += 20 * YEAR  # the clock is wrong
    announced = memory.maintenance.retain_daily()
    assert announced is not None
    assert "will be deleted" in announced
    memory.now.at = right + 2 * DAY
    assert memory.maintenance.retain_daily() is None
    assert memory.maintenance.announced_retention() is None
    assert details(memory, session) == ["x"]
    said = []
    for _ in range(12):
        memory.now.at += 20 * DAY
        said.append(memory.maintenance.retain_daily())
    assert details(memory, session) == []
    assert sum(text is not None for text in said) >= 1


def test_a_bundle_from_the_future_is_not_believed_and_known_again(
    memory: MemoryFixture, tmp_path: Path
) -> None:
    other = MemoryFixture(tmp_path / "other")
    other.now.at = AHEAD
    session = other.begin()
    act(other, session, "x")
    other.bundles.export(session, tmp_path / "b.fazm")
    other.close()
    assert memory.bundles.import_(tmp_path / "b.fazm", mine=True)["added"] == 2
    assert memory.sessions.listing()[0]["last_at"].startswith("2026-")
    again = memory.bundles.import_(tmp_path / "b.fazm", mine=True)
    assert (again["added"], again["known"]) == (0, 2)


@pytest.mark.parametrize(("sessions", "believed"), [(1, False), (0, True)])
def test_a_store_with_future_times_is_put_right_unless_its_clock_is(
    tmp_path: Path, sessions: int, believed: bool
) -> None:
    """One session of two in the future is a claim. All of them: then the clock is behind."""
    home = tmp_path / "home"
    old_store(home, 9)
    _ahead(home, more=sessions)
    store = Store(home, key="file")
    last = store.db.execute("SELECT max(last_at) FROM session").fetchone()[0]
    claims = store.db.execute("SELECT count(*) FROM claimed").fetchone()[0]
    store.close()
    assert (last > 4_000_000_000_000_000, claims == 0) == (believed, believed)


def _ahead(home: Path, more: int) -> None:
    from fazm_memory.store.keys import load
    from fazm_memory.store.store import DATABASE, STORE_FOLDER
    from tests.store.schemas.make import opened

    keys = load(home / "keys", store_exists=True)
    connection = opened(home / STORE_FOLDER / DATABASE, keys.database)
    connection.execute("UPDATE session SET last_at=4102444800000000")
    connection.execute("UPDATE event SET at=4102444800000000")
    connection.execute("DELETE FROM waiting")
    for number in range(more):
        connection.execute(
            "INSERT INTO session (n, id, agent, lifecycle, opened_at, last_at, mac)"
            " VALUES (?, ?, 'a', 'open', 1, 1, x'00')",
            (100 + number, f"other{number}"),
        )
    connection.close()
