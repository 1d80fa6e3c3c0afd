"""Doubt within a turn: what an agent does after it read something of doubtful origin may come from there.

The trust of a call is that of its own output and stays so. But whoever looks at it, or at the files it
changed, should know what came before: the state keeps the latest doubtful calls, each with how far its turn
reached, and whatever was begun between is said to have followed it. When the user speaks again that is over:
from then on the agent acts on the user's word.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.model.builder import Builder, short
from fazm_memory.model.events import Event
from fazm_memory.model.state import BOUNDS

NAMED = 8  # files that a doubtful call is told with: the latest


def note(b: Builder, event: Event, began: int) -> None:
    """A call has brought back something doubtful. `began` is where it was begun, if that was told."""
    b.doubts[event.seq] = {"began": began, "until": None}
    if len(b.doubts) > BOUNDS["doubts"]:  # not counted as left out: no state tells them
        del b.doubts[next(iter(b.doubts))]


def turned(b: Builder, event: Event) -> None:
    """The next turn has begun: nothing from here on follows what was read before."""
    for seq, one in b.doubts.items():
        if one["until"] is None:
            b.doubts[seq] = one | {"until": event.seq}


def source(b: Builder, place: int) -> int | None:
    """The latest doubtful call that what was begun at a position may come from; at its own, itself."""
    for seq in reversed(b.doubts):
        one = b.doubts[seq]
        if place == one["began"] or (seq < place and (one["until"] is None or place < one["until"])):
            return int(seq)
    return None


def led_to(b: Builder, seq: int | None, by: Event, file: str | None = None) -> None:
    """Say of a doubtful call what followed it: one more call or, when it is named, a changed file."""
    told = None if seq is None else b.untrusted.get(seq)
    if told is None:  # nothing doubtful, or so long ago that the state has let go of it
        return
    known: dict[str, Any] = told.get("led_to") or {"calls": 0, "changes": 0, "files": []}
    files = known["files"]
    if file is not None:
        name = short(file)
        files = [*(one for one in files if one != name), name][-NAMED:]
    b.untrusted[seq] = told | {
        "led_to": {
            "calls": known["calls"] + (file is None),
            "changes": known["changes"] + (file is not None),
            "files": files,
            "last_seq": by.seq,
        }
    }
