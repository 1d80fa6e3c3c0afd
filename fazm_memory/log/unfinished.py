"""Calls that began and were never told to have ended, in sessions that are not put aside.

Found by keys, not by folding: a start's key is its call's key and `:start`, so that the end is one look into
an index. Only the end of each session is looked at, since an agent waits for its calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_MASK, event_id

SESSIONS = 200  # the latest
TAIL = 300  # events of each
AT_WORK = ("open", "active", "resumed")
START = ":start"


def unfinished(store: Store) -> Iterator[tuple[SessionRow, str, str, int]]:
    """Each such call: its session, its id, its key and when it began."""
    for row in store.sessions.listing(limit=SESSIONS):
        if row.lifecycle not in AT_WORK:
            continue
        begun = store.db.execute(
            "SELECT id, key, at FROM event WHERE id >= ? AND id < ? AND kind='action.start'"
            " AND key IS NOT NULL ORDER BY id",
            (event_id(row.n, max(0, row.head - TAIL)), event_id(row.n, row.head)),
        ).fetchall()
        for id_, key, at in begun:
            call = key.removesuffix(START)
            ended = store.db.execute(
                "SELECT 1 FROM event WHERE key IN (?, ?)", (call, f"{call}:interrupted")
            ).fetchone()
            if ended is None:
                seq = id_ & SEQ_MASK
                event = next(store.log.slice(row.n, row.id, seq, seq + 1))
                if event.payload is not None and event.payload.call_id is not None:
                    yield row, event.payload.call_id, call, at
