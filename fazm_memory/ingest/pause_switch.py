"""Whether recording is paused: a small file that every source checks, without the database.

While paused nothing is recorded. The gap itself is recorded when the pause ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fazm_memory.clock import iso, parse_time
from fazm_memory.errors import ConfigError, RecordingPaused
from fazm_memory.events import Draft
from fazm_memory.paths import PAUSE_FILE, write_private
from fazm_memory.records import dataclass

# Pauses are recorded in a background session of our own.
COMPANION_SESSION = "companion"
COMPANION_AGENT = "fazm-memory"


def companion_opening() -> Draft:
    """The opening of that session. It comes before each event there; repeating it changes nothing."""
    payload = {"agent": COMPANION_AGENT, "title": "The companion's own log", "background": True}
    return Draft(COMPANION_SESSION, "session.open", payload, agent=COMPANION_AGENT, source="companion")


@dataclass(frozen=True)
class Pause:
    """A pause from `since` until a time, or until it is ended."""

    since: int
    until: int | None = None

    def over(self, now: int) -> bool:
        return self.until is not None and now >= self.until

    def to_json(self) -> dict[str, str | None]:
        return {"since": iso(self.since), "until": None if self.until is None else iso(self.until)}


class PauseSwitch:
    """Pauses and resumes recording. `record` writes the gap to the log when a pause ends."""

    def __init__(
        self, home: Path, now: Callable[[], int], record: Callable[[Sequence[Draft]], object]
    ) -> None:
        self.home = home
        self.now = now
        self.record = record

    def status(self) -> dict[str, Any]:
        pause = read_pause(self.home)
        if pause is not None and pause.over(self.now()):
            self._end(pause, pause.until or self.now())
            pause = None
        if pause is None:
            return {"recording": True, "paused_since": None, "paused_until": None}
        values = pause.to_json()
        return {"recording": False, "paused_since": values["since"], "paused_until": values["until"]}

    def check(self) -> None:
        """Raise RecordingPaused while recording is paused."""
        status = self.status()
        if not status["recording"]:
            until = f"until {status['paused_until']}" if status["paused_until"] else "until you resume it"
            raise RecordingPaused(
                f"Recording is paused since {status['paused_since']}, {until}. Nothing was recorded.",
                hint="`fazm-memory recording resume` continues recording",
            )

    def pause(self, duration: int | None) -> dict[str, Any]:
        """A second pause moves the end and keeps the beginning."""
        now = self.now()
        known = None if self.status()["recording"] else read_pause(self.home)
        since = now if known is None else known.since
        write_pause(self.home, Pause(since, None if duration is None else now + duration))
        return self.status()

    def resume(self) -> dict[str, Any]:
        try:
            pause = read_pause(self.home)
        except ConfigError:
            pause = Pause(since=self.now())
        if pause is not None:
            self._end(pause, self.now())
        return self.status()

    def _end(self, pause: Pause, until: int) -> None:
        """Record the gap, then end the pause. After a crash in between recording stays paused."""
        payload = {"what": "paused", "since": iso(pause.since), "until": iso(until)}
        key = f"gap:paused:{pause.since}"
        self.record(
            [
                companion_opening(),
                Draft(COMPANION_SESSION, "gap", payload, agent=COMPANION_AGENT, source="companion", key=key),
            ]
        )
        clear_pause(self.home)


def read_pause(home: Path) -> Pause | None:
    """The stored pause, which may be over, or None."""
    try:
        raw = json.loads((home / PAUSE_FILE).read_text(encoding="utf-8"))
        return Pause(parse_time(raw["since"]), None if raw["until"] is None else parse_time(raw["until"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        # An unreadable file still means that somebody paused, so nothing is recorded.
        raise ConfigError(
            f"{home / PAUSE_FILE} cannot be read ({error}). Nothing is recorded.",
            hint="`fazm-memory recording resume` repairs it",
        ) from None


def write_pause(home: Path, pause: Pause) -> None:
    write_private(home / PAUSE_FILE, json.dumps(pause.to_json()).encode())


def clear_pause(home: Path) -> None:
    (home / PAUSE_FILE).unlink(missing_ok=True)
