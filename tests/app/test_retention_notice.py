"""Before retention deletes anything for the first time, it says so a week ahead."""

from __future__ import annotations

from fazm_memory.events.event import DAY
from tests.app.memory_fixture import MemoryFixture


def test_the_first_clean_up_is_announced_a_week_ahead(memory: MemoryFixture) -> None:
    session = memory.begin()
    memory.act(session, "Bash", {"command": "ls"}, output="x" * 100)
    assert memory.maintenance.retain_daily() is None
    memory.now.at += 200 * DAY
    notice = memory.maintenance.retain_daily()
    assert notice is not None
    assert "details of 1 event of 1 session" in notice
    announced = memory.status()["retention"]
    assert announced["events"] == 1
    assert abs(announced["due_at"] - memory.now.at - 7 * DAY) < DAY
    assert memory.maintenance.retain(dry_run=True)["events"] == 1


def test_it_is_done_when_the_week_is_over_and_then_day_by_day(memory: MemoryFixture) -> None:
    session = memory.begin()
    memory.act(session, "Bash", {"command": "ls"}, output="x" * 100)
    memory.now.at += 200 * DAY
    memory.maintenance.retain_daily()
    memory.now.at += 8 * DAY
    assert memory.maintenance.retain_daily() == "Retention deleted details of 1 event."
    assert memory.status()["retention"] is None
    memory.act(session, "Bash", {"command": "pwd"}, output="x" * 100)
    said = []
    for _ in range(10):
        memory.now.at += 20 * DAY
        said.append(memory.maintenance.retain_daily())
    assert [text for text in said if text] == ["Retention deleted details of 1 event."]
