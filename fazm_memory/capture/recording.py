"""Whether we record: a small file that every door looks at, so that a pause holds without the database.

While paused nothing is captured. The gap itself is recorded when the pause ends, whether somebody ended it or
its time ran out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fazm_memory.capture.draft import Draft
from fazm_memory.errors import ConfigError, RecordingPaused
from fazm_memory.model.clock import iso, parse
from fazm_memory.private import write_private

FILE = "recording-paused.json"
# What happens to recording itself is recorded too, in a background session of our own.
COMPANION = "companion"
COMPANION_AGENT = "fazm-memory"


def companion_opening() -> Draft:
    """The opening of that session. Told again it changes nothing: whoever writes there tells it first."""
    payload = {"agent": COMPANION_AGENT, "title": "The companion's own log", "background": True}
    return Draft(COMPANION, "session.open", payload, agent=COMPANION_AGENT, source="companion")


@dataclass(frozen=True)
class Pause:
    """A pause from `since`, until a moment or until somebody resumes."""

    since: int
    until: int | None = None

    def over(self, now: int) -> bool:
        return self.until is not None and now >= self.until

    def to_json(self) -> dict[str, str | None]:
        return {"since": iso(self.since), "until": None if self.until is None else iso(self.until)}


class Switch:
    """Recording or not. `record` is how the gap gets into the log when a pause ends."""

    def __init__(
        self, home: Path, now: Callable[[], int], record: Callable[[Sequence[Draft]], object]
    ) -> None:
        self.home = home
        self.now = now
        self.record = record

    def status(self) -> dict[str, Any]:
        pause = read(self.home)
        if pause is not None and pause.over(self.now()):
            self._end(pause, pause.until or self.now())
            pause = None
        if pause is None:
            return {"recording": True, "paused_since": None, "paused_until": None}
        told = pause.to_json()
        return {"recording": False, "paused_since": told["since"], "paused_until": told["until"]}

    def check(self) -> None:
        """Nothing, or RecordingPaused with since and until when."""
        status = self.status()
        if not status["recording"]:
            until = f"until {status['paused_until']}" if status["paused_until"] else "until you resume it"
            raise RecordingPaused(
                f"recording is paused since {status['paused_since']}, {until}; nothing was recorded",
                hint="`fazm-memory recording resume` goes on",
            )

    def pause(self, duration: int | None) -> dict[str, Any]:
        """A second pause moves the end and keeps the beginning."""
        now = self.now()
        known = None if self.status()["recording"] else read(self.home)
        since = now if known is None else known.since
        write(self.home, Pause(since, None if duration is None else now + duration))
        return self.status()

    def resume(self) -> dict[str, Any]:
        try:
            pause = read(self.home)
        except ConfigError:
            pause = Pause(since=self.now())
        if pause is not None:
            self._end(pause, self.now())
        return self.status()

    def _end(self, pause: Pause, until: int) -> None:
        """Record the gap, then lift the pause: in this order a crash between leaves us paused, not lying."""
        payload = {"what": "paused", "since": iso(pause.since), "until": iso(until)}
        key = f"gap:paused:{pause.since}"
        self.record(
            [
                companion_opening(),
                Draft(COMPANION, "gap", payload, agent=COMPANION_AGENT, source="companion", key=key),
            ]
        )
        clear(self.home)


def read(home: Path) -> Pause | None:
    """The pause that was asked for, if any; it may be over by now."""
    try:
        raw = json.loads((home / FILE).read_text(encoding="utf-8"))
        return Pause(parse(raw["since"]), None if raw["until"] is None else parse(raw["until"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        # Unreadable means somebody meant to pause: stay silent rather than record against their will.
        raise ConfigError(
            f"{home / FILE} cannot be read ({error}), so nothing is recorded",
            hint="`fazm-memory recording resume` sets it right",
        ) from None


def write(home: Path, pause: Pause) -> None:
    write_private(home / FILE, json.dumps(pause.to_json()).encode())


def clear(home: Path) -> None:
    (home / FILE).unlink(missing_ok=True)
