"""Counting anew: after a rewind, a fork or forgetting a session's row says what its state says.

Counts go up with every event, which is right as long as a session only goes on. A rewind leaves some of them
behind, a fork begins with its parent's, and what is forgotten is gone from both. Open questions are always
counted by the state: an answer may name none of them, or one that is answered already.
"""

from __future__ import annotations

from fazm_memory.errors import NotFound, StoreDamaged, StoreNewer
from fazm_memory.log.snapshots import Snapshots
from fazm_memory.log.writer import UPDATE_HEAD, Writer


def recount(writer: Writer, snapshots: Snapshots) -> None:
    """Count the sessions that this writer has moved elsewhere. In its transaction, when all is written."""
    for number in writer.changed | writer.asked:
        head = writer.heads[number]
        try:
            state = snapshots.state_at(number, head.id, head.head)
        except (NotFound, StoreDamaged, StoreNewer):
            continue  # a parent that is not here, or a past that is damaged, which `verify` tells
        head.questions = len(state.questions)
        if number in writer.changed:
            counted = [state.counts.get(name, 0) for name in ("actions", "failures", "files_modified")]
            head.actions, head.failures, head.files_modified = counted
        writer.db.execute(UPDATE_HEAD, head.counts())
