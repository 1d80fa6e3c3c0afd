"""Counting anew: after a rewind or a fork a session's row says what its state says.

Counts go up with every event, which is right as long as a session only goes on. A rewind leaves some of them
behind, and a fork begins with its parent's.
"""

from __future__ import annotations

from fazm_memory.errors import NotFound, StoreDamaged, StoreNewer
from fazm_memory.log.eventlog import Writer
from fazm_memory.log.snapshots import Snapshots
from fazm_memory.model.events import Event

UPDATE_COUNTS = "UPDATE session SET actions=?, failures=?, files_modified=?, questions=? WHERE n=?"


def recount(writer: Writer, snapshots: Snapshots) -> None:
    """Count the sessions that this writer has moved elsewhere. In its transaction, when all is written."""
    for number, events in writer.events.items():
        if not any(map(_moved, events)):
            continue
        head = writer.heads[number]
        try:
            state = snapshots.state_at(number, head.id, head.head)
        except (NotFound, StoreDamaged, StoreNewer):
            continue  # a parent that is not here, or a past that is damaged, which `verify` tells
        counted = [state.counts.get(name, 0) for name in ("actions", "failures", "files_modified")]
        head.actions, head.failures, head.files_modified = counted
        head.questions = len(state.questions)
        writer.db.execute(UPDATE_COUNTS, (*counted, head.questions, number))


def _moved(event: Event) -> bool:
    if event.payload is None:
        return False
    return event.kind == "rewind" or (event.kind == "session.open" and event.payload.parent is not None)
