"""The earlier days of a session that went on: one long conversation is no reason to lose what it began with.

A session is told of on the last day it was at work. What it was asked, decided, changed and mended before
that day matters less than the day's own, yet it is what the day goes on from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fazm_memory.model.learned import Learned
from fazm_memory.model.state import SessionState
from fazm_memory.recall.items import Item, items_of
from fazm_memory.recall.recent import Recent

LESS = 0.7  # of what the day's own items matter
COUNTED = frozenset({"files", "more", "place", "changed", "looked"})  # one item for many things: one each day


def earlier_items(state: SessionState, since: int, worth: float, end: Recent) -> list[Item]:
    """What the session did before position `since`, but for what is open and for its first request: those
    are told with the day itself."""
    said = end.said if end.said is not None and end.said[1] < since else None
    looked = tuple(one for one in end.looked_at if one[1] < since)
    part = earlier_part(state, since)
    first = next(iter(part.requests), None)
    made = items_of(part, Learned(), since=0, worth=LESS * worth, end=Recent(said, looked), headed=False)
    return [
        replace(item, id=f"{item.id}:before") if item.kind in COUNTED else item
        for item in made
        if not (item.kind == "request" and item.seq == first)
    ]


def earlier_part(state: SessionState, since: int) -> SessionState:
    """Of the state what happened before a position and is over."""
    return SessionState(
        session=state.session,
        at=since,
        files_modified={path: one for path, one in state.files_modified.items() if one.seq < since},
        folders=_before(state.folders, since, "last_seq"),
        decisions_made=_before(state.decisions_made, since),
        errors={
            key: one for key, one in _before(state.errors, since).items() if one["mended_by"] is not None
        },
        answered=_before(state.answered, since),
        requests=_before(state.requests, since),
    )


def _before(table: Mapping[Any, dict[str, Any]], since: int, place: str = "seq") -> dict[Any, dict[str, Any]]:
    return {key: one for key, one in table.items() if one[place] < since}
