"""What came of taking records in: counted, with the reasons of all that was not taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fazm_memory.capture.recorder import Recorded

REASON = 120


@dataclass
class Tally:
    """`known` was told before; `unknown` kinds were kept as they are; `troubles` are files, each with why."""

    files: int = 0
    bytes: int = 0
    events: int = 0
    known: int = 0
    bad: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    troubles: dict[str, str] = field(default_factory=dict)
    sessions: set[str] = field(default_factory=set)  # those of which something new was told

    def add(self, other: Tally) -> None:
        for name in ("files", "bytes", "events", "known", "bad"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.unknown.update(other.unknown)
        self.refused.update(other.refused)
        self.troubles.update(other.troubles)
        self.sessions |= other.sessions

    def count(self, results: Iterable[Recorded]) -> None:
        for result in results:
            if result.error is not None:
                self.refused[result.error.message[:REASON]] += 1
            elif result.appended is not None:
                if result.appended.duplicate:
                    self.known += 1
                    continue
                self.events += 1
                self.sessions.add(result.appended.session)

    def to_json(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "bytes": self.bytes,
            "events": self.events,
            "known": self.known,
            "sessions": len(self.sessions),
            "bad_lines": self.bad,
            "unknown": dict(self.unknown),
            "refused": dict(self.refused),
            "troubles": self.troubles,
        }
