"""When Fazm is asked what it does, and when it is left alone."""

from __future__ import annotations

from fazm_memory.agents import FazmWindow
from fazm_memory.menubar.status import EVERY, FazmMonitor, FazmState


class Fazm:
    def __init__(self) -> None:
        self.asked = 0
        self.answer: list[FazmWindow] | None = [FazmWindow("k1", "Scans", True), FazmWindow("k2", "Mail")]

    def windows(self) -> list[FazmWindow] | None:
        self.asked += 1
        return self.answer


def test_it_is_not_asked_while_it_is_closed() -> None:
    fazm = Fazm()
    assert FazmMonitor(fazm.windows).look(None, 0) is None
    assert fazm.asked == 0


def test_it_is_asked_at_most_every_thirty_seconds() -> None:
    fazm = Fazm()
    monitor = FazmMonitor(fazm.windows)
    for now in (0, EVERY - 1):
        assert monitor.look(7, now) == FazmState(True, 2, ("Scans",))
    assert fazm.asked == 1
    fazm.answer = []
    assert monitor.look(7, EVERY) == FazmState(True, 0)
    assert monitor.look(None, EVERY) is None


def test_one_that_does_not_answer_is_left_alone_until_it_is_started_again() -> None:
    fazm = Fazm()
    fazm.answer = None
    monitor = FazmMonitor(fazm.windows)
    states = [monitor.look(7, number * EVERY) for number in range(5)]
    assert states == [FazmState(answers=False)] * 5
    assert fazm.asked == 2
    fazm.answer = []
    assert monitor.look(8, 0) == FazmState(True, 0)
