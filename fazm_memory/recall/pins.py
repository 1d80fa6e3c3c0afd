"""Pins last: what a person pinned is told from its own events once the session's state has let go of it.

The state keeps the newest of everything. A pin is a person's word that this one thing matters more, so it is
looked up where it was said, folded by itself, and told in the same words as ever. The work grows with the
pins. What is done, answered, mended, taken back, forgotten, held back or gone back behind is not told as
current, pinned or not.
"""

from __future__ import annotations

from collections.abc import Collection

from fazm_memory.log.own_events import own_events
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.model.fold import fold, initial
from fazm_memory.model.learned import Learned
from fazm_memory.recall.items import Item, items_of

NOTHING = Learned()


def pinned_of(row: SessionRow, pinned: Collection[str]) -> list[str]:
    """The pins that are about a session, by the beginning of its id."""
    return sorted(id_ for id_ in pinned if id_.startswith(f"{row.id[:8]}:"))


def told_anew(store: Store, row: SessionRow, ids: Collection[str], worth: float) -> list[Item]:
    """Those of these items of a session that still stand, from the events they are about."""
    made: list[Item] = []
    for id_ in ids:
        what, _, name = id_.partition(":")[2].partition(":")  # a choice may name what never was an item
        events = own_events(store, row, what, name)
        state = fold(initial(row.id), events)
        items = items_of(state, NOTHING, since=0, worth=worth, headed=False)
        made += [item for item in items if item.id == id_]
    return made
