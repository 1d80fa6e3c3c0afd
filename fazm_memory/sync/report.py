"""What one round of sync does now, and what it did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fazm_memory.records import dataclass, field
from fazm_memory.sync.state import SyncState


@dataclass
class RoundReport:
    """What one round did.

    `problems` are sentences about objects that were not believed.
    """

    imported: int = 0
    exported: int = 0
    uploads: int = 0  # batches, also those without events: what was forgotten or quarantined, shared files
    forgot: int = 0
    files: int = 0  # contents of file versions that arrived
    transcripts: int = 0  # transcripts that arrived, or grew
    sessions: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)  # names of devices that are new to this one
    problems: list[str] = field(default_factory=list)
    requests: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, list[str]] = field(default_factory=dict)  # exclusions of the other devices

    def to_json(self) -> dict[str, Any]:
        return vars(self)

    def problem(self, text: str) -> None:
        """Name what was not believed, once."""
        if text not in self.problems:
            self.problems.append(text)


class RoundProgress:
    """How far a round is.

    The caller is told the events that were imported and uploaded. Other processes read it in the state.
    """

    def __init__(self, state: SyncState, events: Callable[[], int]) -> None:
        self.state, self._events = state, events
        self.call: Callable[[int], None] = lambda done: None
        self.shown: dict[str, Any] | None = None  # what is stored with the next head
        self.total = 0
        self._done = self._told = 0

    def begin(self, total: int) -> None:
        """Begin to count to this many uploads or events."""
        self._done, self.total = 0, total

    def show(self, doing: str, what: str, count: int) -> None:
        """Count what was received or uploaded."""
        self._done += count
        self.shown = {"doing": doing, "what": what, "done": self._done, "total": self.total}
        if self._done >= self.total:
            self.shown = None
        elif doing == "receiving":
            self.state.set(progress=self.shown)
        self.tell()

    def tell(self) -> None:
        """Tell the caller if there are more events than before."""
        done = self._events()
        if done != self._told:
            self._told = done
            self.call(done)
