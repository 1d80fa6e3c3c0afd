"""The desk: what a desktop source tells becomes spans in the log, and nothing while recording is paused.

The source lives on the thread its system demands and is only told to begin, to end and what to leave alone.
What it tells waits in a queue until the companion, which alone writes, takes it: a screen never waits for a
disk. How things stand (watching or not, and whether the permission is missing) lies in a small file, so that
every surface can say it.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fazm_memory.capture import desk_state
from fazm_memory.capture.desk_state import DeskState
from fazm_memory.capture.desktop import Away, Back, DesktopSource, Observation
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.exclusions import Exclusions
from fazm_memory.capture.recording import companion_opening
from fazm_memory.capture.scrub import Scrubber
from fazm_memory.capture.spans import SpanMerger

if TYPE_CHECKING:
    from fazm_memory.capture.recorder import Recorded

PERMISSION = "permission missing"
MOST = 100_000  # observations waiting for a store that cannot be written; then the oldest are let go

OnMain = Callable[[Callable[[], None]], None]


class Desk:
    """`on_main` runs a function on the source's thread, sooner or later; `exclusions` says what holds now."""

    def __init__(
        self,
        source: DesktopSource,
        scrubber: Scrubber,
        record: Callable[[Sequence[Draft]], list[Recorded]],
        now: Callable[[], int],
        *,
        home: Path,
        exclusions: Callable[[], Exclusions],
        on_main: OnMain = lambda work: work(),
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.source, self.record, self.now, self.home = source, record, now, home
        self.exclusions, self.on_main, self.wake = exclusions, on_main, wake
        self._merger = SpanMerger(scrubber)
        self._told: queue.SimpleQueue[Observation] = queue.SimpleQueue()
        self._waiting: list[Draft] = []
        self._excluded: Exclusions | None = None
        self._began: int | None = None  # when the source was last told to begin; None while it rests
        self._permitted = True
        self._written: DeskState | None = None

    # -- in the source's thread --------------------------------------------------------------------------

    def told(self, one: Observation) -> None:
        if self._told.qsize() < MOST:
            self._told.put(one)
        if isinstance(one, (Away, Back)):  # rare, and to be shown at once
            self.wake()

    # -- in the companion's ------------------------------------------------------------------------------

    def tick(self) -> None:
        """Recording goes on: record what was seen. ConfigError when nobody can say what to leave alone."""
        excluded = self.exclusions()
        if self._began is None:
            self._begin(excluded)
        elif excluded != self._excluded:
            self._leave_alone(excluded)
        for one in self._arrived():
            self._waiting += self._merger.take(one)
        self._tell()
        self._write_state()

    def rest(self, since: int | None = None) -> None:
        """Recording is paused since then: nothing is looked at, and what was seen until then waits."""
        if self._began is None:
            self._empty()
            return
        at = self.now() if since is None else since
        for one in self._arrived():
            if one.at < at:
                self._waiting += self._merger.take(one)
        self._waiting += self._merger.close(at)
        self._began = None
        self.on_main(self.source.stop)
        self._write_state()

    def stop(self, *, recording: bool = True) -> None:
        """Tell what is still open, and end."""
        if self._began is not None:
            self.rest()
        if recording:
            self._tell()
        desk_state.clear(self.home)
        self._written = None

    # -- inside ------------------------------------------------------------------------------------------

    def _begin(self, excluded: Exclusions) -> None:
        self._empty()  # what was seen before we were asked to look
        self._began, self._excluded, self._permitted = self.now(), excluded, True

        def begin() -> None:
            self.source.leave_alone(excluded)
            self.source.start(self.told)

        self.on_main(begin)

    def _leave_alone(self, excluded: Exclusions) -> None:
        self._excluded = excluded
        self.on_main(lambda: self.source.leave_alone(excluded))

    def _arrived(self) -> list[Observation]:
        arrived = []
        while not self._told.empty():
            one = self._told.get()
            if self._began is None or one.at < self._began:
                continue
            if isinstance(one, (Away, Back)) and one.why == PERMISSION:
                self._permitted = isinstance(one, Back)
            arrived.append(one)
        return arrived

    def _empty(self) -> None:
        while not self._told.empty():
            self._told.get()

    def _tell(self) -> None:
        """Record what waits; it waits on when the store cannot be written."""
        excluded = self._excluded or Exclusions()
        # An app excluded a moment ago may still have a span that was open then.
        kept = [one for one in self._waiting if not _excluded(one, excluded)]
        if kept:
            for result in self.record([companion_opening(), *kept]):
                if result.error is not None:
                    raise result.error
        self._waiting.clear()

    def _write_state(self) -> None:
        state = DeskState(self._began is not None, self._permitted)
        if state != self._written:
            desk_state.write(self.home, state)
            self._written = state


def _excluded(draft: Draft, excluded: Exclusions) -> bool:
    return draft.kind == "app" and excluded.app(draft.payload["app"], draft.payload.get("bundle"))
