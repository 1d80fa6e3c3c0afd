"""The worker: jobs in their order on one thread, and none that fails keeps the next from being done."""

from __future__ import annotations

import threading

from fazm_memory.app.memory import Memory
from fazm_memory.menubar.commands import Worker
from tests.menubar.conftest import MenuEnv


def test_jobs_are_done_in_order_on_one_thread_and_trouble_is_reported(env: MenuEnv) -> None:
    done: list[object] = []
    troubles: list[Exception] = []
    worker = Worker(lambda: Memory(env.config, env.clock), troubles.append)

    def broken(memory: Memory) -> None:
        raise ValueError("no")

    worker.start()
    for number in range(3):
        worker.do(lambda memory, number=number: done.append((number, threading.current_thread().name)))
        worker.do(broken)
    worker.stop()
    assert done == [(number, "menu bar worker") for number in range(3)]
    assert [str(one) for one in troubles] == ["no"] * 3


def test_one_that_never_began_can_be_stopped(env: MenuEnv) -> None:
    worker = Worker(lambda: env.memory, lambda error: None)
    worker.stop()
    assert [one.name for one in threading.enumerate() if one.name == "menu bar worker"] == []
