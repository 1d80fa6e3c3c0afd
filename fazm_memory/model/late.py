"""Changes seen on disk come late: the watcher waits for the call they belong to, and the next turn may begin.

Such an event stands where it was written down, and names the position of its call. Whoever reads by turns or
by steps goes by that. Only the watcher's word counts: an agent could otherwise date its changes back.
"""

from __future__ import annotations

from collections.abc import Iterable

from fazm_memory.model.events import Event
from fazm_memory.model.payloads import Action, ActionStart, FileChange

LATE = 1000  # events after a position among which late ones are looked for


def call_of(event: Event) -> int | None:
    """The position of the call that made a change seen on disk."""
    seen = event.payload
    if not isinstance(seen, FileChange) or event.source != "files" or seen.call is None:
        return None
    return seen.call if 0 <= seen.call < event.seq else None


def place_of(event: Event) -> int:
    """Where an event belongs: at its call, or where it stands."""
    call = call_of(event)
    return event.seq if call is None else call


def made_by_calls(events: Iterable[Event]) -> dict[int, list[FileChange]]:
    """What was seen on disk of each call, by the position where the call ended."""
    begun: dict[str, int] = {}  # call id → where it began
    ended: dict[int, int] = {}  # where a call began → where it ended
    found: dict[int, list[FileChange]] = {}
    for event in events:
        if isinstance(event.payload, ActionStart) and event.payload.call_id:
            begun[event.payload.call_id] = event.seq
        elif isinstance(event.payload, Action) and event.payload.call_id in begun:
            ended[begun[event.payload.call_id]] = event.seq
        elif (call := call_of(event)) is not None:
            found.setdefault(call, []).append(event.payload)
    made: dict[int, list[FileChange]] = {}
    for call, changes in found.items():
        made.setdefault(ended.get(call, call), []).extend(changes)
    return made
