"""What followed an event in its turn: what the agent said after it, what it did, and the files that changed.

A call follows an event when it was begun after it: one that ran beside it cannot come from it. A call has
several events (begun, ended, amended), and they go together, whichever turn the later ones were told in; so
do the changes that were seen on disk and name it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from fazm_memory.model.events import Event
from fazm_memory.model.late import call_of
from fazm_memory.model.trust import RANK

# What an agent makes of what it read. What a compaction left of it is its word, too.
WORDS = frozenset({"decision", "fact", "pending", "handoff", "message", "evicted"})
CALLS = frozenset({"action", "action.start", "action.amend"})


@dataclass(frozen=True)
class Followed:
    """The event with what belongs to it, and what followed: positions, in order."""

    itself: tuple[int, ...]
    words: tuple[int, ...] = ()
    calls: tuple[tuple[int, ...], ...] = ()  # each with all of its events
    files: tuple[int, ...] = ()  # changes and listings

    @property
    def seqs(self) -> list[int]:
        return sorted({*self.itself, *self.words, *self.files, *(seq for call in self.calls for seq in call)})

    def within(self, kept: Collection[int]) -> Followed:
        """Only what is at these positions."""
        itself, words, files, *calls = (
            tuple(seq for seq in some if seq in kept)
            for some in (self.itself, self.words, self.files, *self.calls)
        )
        return Followed(itself, words, tuple(call for call in calls if call), files)


def followed(events: Iterable[Event], seq: int, end: int, *, calls: bool) -> Followed:
    """What followed the event at `seq`, in a turn that ends before `end`.

    `events` are those of the turn from its beginning, and those after it among which late ones may be. With
    `calls` what was done is told, too; else only what was said.
    """
    itself, words, files = {seq}, [], []
    told: dict[str, list[int]] = {}  # call id → where it was told of
    taken: dict[object, list[int]] = {}  # call id, or the position of one without → its events
    places: set[int] = set()  # of the calls: what was seen on disk names one
    paths: set[str] = set()
    own: str | None = None
    for event in events:
        call = _call(event)
        parts = [] if call is None else told.setdefault(call, [])
        parts.append(event.seq)
        first = parts[0]
        if event.seq == seq:
            own = call
            itself |= {*parts}
            places |= itself
        elif event.kind in CALLS and call is not None and call == own and event.seq > seq:
            itself.add(event.seq)
        elif event.seq < seq:
            continue
        elif event.kind in WORDS:
            if event.seq < end and RANK.get(event.trust, 0) <= RANK["agent"]:
                words.append(event.seq)
        elif not calls:
            continue
        elif event.kind in CALLS:
            if first > seq and (event.seq < end or call in taken):
                taken.setdefault(event.seq if call is None else call, []).append(event.seq)
                places.add(event.seq)
                paths |= {touch.path for touch in getattr(event.payload, "files", ())}
        elif _changed(event, end, places, paths):
            files.append(event.seq)
    return Followed(
        tuple(sorted(itself)), tuple(words), tuple(tuple(one) for one in taken.values()), tuple(files)
    )


def _call(event: Event) -> str | None:
    """The id of the call that an event belongs to."""
    return getattr(event.payload, "call_id", None) if event.kind in CALLS else None


def _changed(event: Event, end: int, places: set[int], paths: set[str]) -> bool:
    """Whether an event tells what these calls did to files, or which they saw."""
    if event.kind == "seen":  # told beside the call that listed them
        return event.seq < end
    if event.kind != "file" or event.payload is None or event.payload.by == "person":
        return False
    by = call_of(event)
    if by is not None:
        return by in places
    return event.seq < end and (event.payload.by == "agent" or event.payload.path in paths)
