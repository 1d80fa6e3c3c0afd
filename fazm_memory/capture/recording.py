"""Whether we record: a small file that every door looks at, so that a pause holds without the database.

While paused nothing is captured. The gap itself is recorded when the pause ends, whether somebody ended it or
its time ran out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from fazm_memory.errors import ConfigError
from fazm_memory.model.clock import iso, parse
from fazm_memory.private import write_private

FILE = "recording-paused.json"


@dataclass(frozen=True)
class Pause:
    """A pause from `since`, until a moment or until somebody resumes."""

    since: int
    until: int | None = None

    def over(self, now: int) -> bool:
        return self.until is not None and now >= self.until

    def to_json(self) -> dict[str, str | None]:
        return {"since": iso(self.since), "until": None if self.until is None else iso(self.until)}


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
