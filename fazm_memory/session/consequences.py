"""What followed an event: the agent's statements, calls and file changes in the rest of its turn.

A call follows an event when it began after it. The events of one call (start, end, amendment) belong
together, and so do the changes on disk that name the call, whichever turn they were recorded in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fazm_memory.events import TRUST_RANK, Action, ActionStart, Event, FileChange, call_position
from fazm_memory.records import dataclass

DEFERRED_WINDOW = 1000  # events after a position that are searched for deferred file events
STATEMENT_KINDS = frozenset({"decision", "fact", "pending", "handoff", "message", "evicted"})
CALL_KINDS = frozenset({"action", "action.start", "action.amend"})


def disk_changes_by_call(events: Iterable[Event]) -> dict[int, list[FileChange]]:
    """The changes on disk of each call, by the position where the call ended."""
    started: dict[str, int] = {}  # call id → position of its start
    ended: dict[int, int] = {}  # position of the start → position of the end
    by_start: dict[int, list[FileChange]] = {}
    for event in events:
        if isinstance(event.payload, ActionStart) and event.payload.call_id:
            started[event.payload.call_id] = event.seq
        elif isinstance(event.payload, Action) and event.payload.call_id in started:
            ended[started[event.payload.call_id]] = event.seq
        elif (call := call_position(event)) is not None:
            by_start.setdefault(call, []).append(event.payload)
    by_end: dict[int, list[FileChange]] = {}
    for call, changes in by_start.items():
        by_end.setdefault(ended.get(call, call), []).extend(changes)
    return by_end


@dataclass(frozen=True)
class Consequences:
    """Positions of an event with its own parts, and of what followed it."""

    itself: tuple[int, ...]
    words: tuple[int, ...] = ()
    calls: tuple[tuple[int, ...], ...] = ()  # all events of each call
    files: tuple[int, ...] = ()  # changes and listings

    @property
    def seqs(self) -> list[int]:
        return sorted({*self.itself, *self.words, *self.files, *(seq for call in self.calls for seq in call)})

    def within(self, seqs: Collection[int]) -> Consequences:
        """Only what is at these positions."""
        itself, words, files, *calls = (
            tuple(seq for seq in part if seq in seqs)
            for part in (self.itself, self.words, self.files, *self.calls)
        )
        return Consequences(itself, words, tuple(call for call in calls if call), files)


def consequences_of(events: Iterable[Event], seq: int, end: int, *, calls: bool) -> Consequences:
    """What followed the event at `seq`, in a turn that ends before `end`.

    `events` begin with the turn and go on after it, because deferred events may follow. Without `calls` only
    the agent's statements count.
    """
    itself, words, files = {seq}, [], []
    positions: dict[str, list[int]] = {}  # call id → its events
    following: dict[object, list[int]] = {}  # call id, or the position of a call without one → its events
    call_seqs: set[int] = set()  # a change on disk names one of these
    paths: set[str] = set()
    own_call: str | None = None
    for event in events:
        call = getattr(event.payload, "call_id", None) if event.kind in CALL_KINDS else None
        parts = [] if call is None else positions.setdefault(call, [])
        parts.append(event.seq)
        if event.seq == seq:
            own_call = call
            itself |= {*parts}
            call_seqs |= itself
        elif event.kind in CALL_KINDS and call is not None and call == own_call and event.seq > seq:
            itself.add(event.seq)
        elif event.seq < seq:
            continue
        elif event.kind in STATEMENT_KINDS:
            if event.seq < end and TRUST_RANK.get(event.trust, 0) <= TRUST_RANK["agent"]:
                words.append(event.seq)
        elif not calls:
            continue
        elif event.kind in CALL_KINDS:
            if parts[0] > seq and (event.seq < end or call in following):
                following.setdefault(event.seq if call is None else call, []).append(event.seq)
                call_seqs.add(event.seq)
                paths |= {touch.path for touch in getattr(event.payload, "files", ())}
        elif _is_effect(event, end, call_seqs, paths):
            files.append(event.seq)
    return Consequences(
        tuple(sorted(itself)), tuple(words), tuple(tuple(seqs) for seqs in following.values()), tuple(files)
    )


def _is_effect(event: Event, end: int, call_seqs: set[int], paths: set[str]) -> bool:
    """Whether a file event or a listing comes from one of these calls."""
    if event.kind == "seen":
        return event.seq < end
    if event.kind != "file" or event.payload is None or event.payload.by == "person":
        return False
    call = call_position(event)
    if call is not None:
        return call in call_seqs
    return event.seq < end and (event.payload.by == "agent" or event.payload.path in paths)
