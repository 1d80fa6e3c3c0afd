"""What only the latest events tell: the agent's last word, what it looked at, what a call was about that
never finished. Read from the end of a session, a bounded number of events, whatever its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.model.events import target_of
from fazm_memory.model.state import SessionState

TAIL = 80  # events looked at
LOOKED_AT = 8
SOURCES = ("url", "query", "uri", "link")


@dataclass(frozen=True)
class Recent:
    """`running` is what each unfinished call was about; `said` and `looked_at` come with their positions."""

    said: tuple[str, int] | None = None
    looked_at: tuple[tuple[str, int], ...] = ()
    running: Mapping[str, str] = field(default_factory=dict)


def recent(store: Store, row: SessionRow, state: SessionState) -> Recent:
    """The end of a session."""
    said: tuple[str, int] | None = None
    looked: dict[str, int] = {}
    tail = store.log.slice(row.n, row.id, max(0, row.head - TAIL), row.head)
    for event in store.ward.events(row.n, tail):
        if event.payload is None:
            continue
        if event.kind == "message":
            said = (event.payload.text, event.seq)
        elif event.kind == "action" and (source := _source(event.payload.input)):
            looked.pop(source, None)
            looked[source] = event.seq
    running: dict[str, str] = {}
    for call, one in state.running.items():
        begun = next(store.log.slice(row.n, row.id, one["seq"], one["seq"] + 1), None)
        if begun is not None and begun.payload is not None and begun.kind == "action.start":
            running[call] = target_of(begun.payload.input)
    return Recent(said, tuple(reversed(list(looked.items())))[:LOOKED_AT], running)


def _source(given: Any) -> str:
    """The address or the question of a call that looked something up."""
    if not isinstance(given, Mapping):
        return ""
    return next((str(given[name]) for name in SOURCES if isinstance(given.get(name), str)), "")
