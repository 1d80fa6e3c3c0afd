"""What a part of a session does not say of itself, because it was said later.

A fork travels with its parent only up to where it left it. What of that part was forgotten since, or is held
back by a later word, must travel too: else it would look taken away on another machine, or be told there.
"""

from __future__ import annotations

from fazm_memory.log import slices
from fazm_memory.log.quarantine import NOTHING, Held, after
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.slices import Wanted
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.log.tombstones import Tombstones


def forgotten_since(store: Store, row: SessionRow, count: int) -> set[int]:
    """Positions among the first `count` whose payload went by a word that came after those."""
    if count >= row.head:
        return set()
    tombstones = Tombstones()
    tombstones.add_all(store.db, row.n, count)
    gone = store.db.execute(
        "SELECT id FROM event WHERE id >= ? AND id < ? AND payload IS NULL ORDER BY id",
        (event_id(row.n, 0), event_id(row.n, count)),
    ).fetchall()
    return set(tombstones.taken([id_ & SEQ_MASK for (id_,) in gone]))


def held_since(store: Store, row: SessionRow, count: int) -> Held | None:
    """What is held back of the first `count` events, if these themselves say otherwise."""
    said = NOTHING
    for event in slices.find(store.log, row.n, row.id, Wanted(stop=count, kind="quarantine")):
        if event.payload is not None:
            said = after(said, event.payload)
    now = store.ward.held(row.n)
    held, said = (Held(one.whole, frozenset(seq for seq in one.seqs if seq < count)) for one in (now, said))
    return held if held != said else None
