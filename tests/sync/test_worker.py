"""The companion's sync thread: a round after a change, fewer looks when idle, longer waits after errors."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from fazm_memory.app import sync
from fazm_memory.app.sync import SyncWorker
from tests.sync.machines import Machine, Machines
from tests.sync.test_replication import work


def worker(machine: Machine, arrived: Callable[[list[str]], None], reports: list[str]) -> SyncWorker:
    return SyncWorker(machine.config, machine.now, report=reports.append, arrived=arrived)


def test_a_step_syncs_and_names_the_sessions_that_arrived(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    machines.settle()
    session = work(mini)
    arrived: list[str] = []
    reports: list[str] = []
    assert worker(mini, arrived.extend, reports).step(mini) == sync.SOON
    assert worker(laptop, arrived.extend, reports).step(laptop) == sync.SOON
    assert (arrived, reports) == ([session], [])


def test_a_machine_that_joins_is_announced_on_the_others(machines: Machines) -> None:
    mini = machines.add("mini")
    machines.add("laptop")
    reports: list[str] = []
    steps = worker(mini, list.clear, reports)
    steps.step(mini)
    steps.step(mini)
    assert len(reports) == 1
    assert "“laptop” joined the vault" in reports[0]


def test_an_idle_machine_looks_less_and_less_often(machines: Machines) -> None:
    mini = machines.add("mini")
    steps = worker(mini, list.clear, [])
    waits = [steps.step(mini) for _ in range(12)]
    assert waits == sorted(waits)
    assert waits[-1] == sync.LATE


def test_errors_are_reported_once_and_waited_for_longer_each_time(machines: Machines) -> None:
    mini = machines.add("mini")
    reports: list[str] = []
    steps = worker(mini, list.clear, reports)
    aside = machines.folder.with_name("unplugged")
    shutil.move(machines.folder, aside)
    waits = [steps.step(mini) for _ in range(10)]
    assert waits[:3] == [5.0, 10.0, 20.0]
    assert waits[-1] == sync.LONGEST_RETRY
    assert len(reports) == 1
    assert "not there" in str(mini.status()["sync"]["error"])
    shutil.move(aside, machines.folder)
    assert steps.step(mini) < 60
    assert len(reports) == 2
    assert mini.status()["sync"]["error"] is None


def test_a_companion_that_ends_does_not_wait_for_a_long_round(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    machines.settle()
    for number in range(3):
        work(mini, f"task {number}")
        mini.sync.round()
    steps = worker(laptop, list.clear, [])
    steps.stop_soon()
    with pytest.raises(sync.Stopping):
        steps.step(laptop)
    assert len(laptop.sessions.listing()) == 1
    laptop.sync.round()
    assert laptop.states() == mini.states()


def test_a_paused_recording_uploads_nothing(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini)
    mini.recording.pause()
    worker(mini, list.clear, []).step(mini)
    assert laptop.sync.round()["imported"] == 0


def test_a_machine_without_a_vault_is_left_alone(machines: Machines) -> None:
    alone = Machine(machines.root, "alone")
    assert worker(alone, list.clear, []).step(alone) == sync.NOT_SYNCED
    assert alone.status()["sync"] is None
    assert not (alone.store.path.parent / "sync.db").exists()
    alone.close()
