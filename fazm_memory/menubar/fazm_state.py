"""What Fazm does at this moment, from its own answers.

Fazm is asked only while it runs, and at most every 30 seconds. One that does not answer is left alone until
it is started again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fazm_memory.agents import FazmWindow
from fazm_memory.records import dataclass

EVERY = 30_000_000  # microseconds
MOST_FAILURES = 2


@dataclass(frozen=True)
class FazmState:
    """Its open windows, and the titles of those that work. `answers` is false if it does not say."""

    answers: bool = True
    windows: int = 0
    busy: tuple[str, ...] = ()


class FazmMonitor:
    """Asks with `windows`, which returns None if Fazm does not answer. Not for the main thread."""

    def __init__(self, windows: Callable[[], Sequence[FazmWindow] | None]) -> None:
        self._windows = windows
        self._process: int | None = None
        self._asked: int | None = None
        self._failures = 0
        self._state: FazmState | None = None

    def look(self, process: int | None, now: int) -> FazmState | None:
        """The state of Fazm's process, or None if it does not run."""
        if process != self._process:
            self._process, self._asked, self._failures = process, None, 0
        if process is None:
            return None
        due = self._asked is None or not 0 <= now - self._asked < EVERY
        if due and self._failures < MOST_FAILURES:
            self._asked = now
            found = self._windows()
            self._failures = self._failures + 1 if found is None else 0
            self._state = FazmState(answers=False) if found is None else _state(found)
        return self._state


def _state(windows: Sequence[FazmWindow]) -> FazmState:
    return FazmState(True, len(windows), tuple(window.title for window in windows if window.busy))
