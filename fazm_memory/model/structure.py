"""Structure: events that say how all others are read, and what forgetting leaves of them.

Where a session was forked, went back to and what is held back of it are positions, ids and yes or no.
Without them every later position would mean something else, here and wherever the session is moved. So
forgetting takes the words of such an event (reasons, titles, paths) and leaves its bones.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.model.events import Event

BONES: dict[str, tuple[str, ...]] = {
    "session.open": ("agent", "parent", "parent_seq", "background"),
    "rewind": ("to", "files", "undoes"),
    "quarantine": ("seqs", "released", "whole"),
}
WORDLESS = frozenset({"rewind", "quarantine"})  # none of whose words are in any state


def bones(kind: str, payload: Any) -> Any:
    """What stays of a payload when its event is forgotten; None when nothing does."""
    names = BONES.get(kind)
    if names is None or payload is None:
        return None
    if kind == "session.open" and payload.parent is None and not payload.background:
        return None  # that a session began is told by its being there
    return type(payload)(**{name: getattr(payload, name) for name in names})


def is_bare(event: Event) -> bool:
    """Whether there is nothing in an event that could be forgotten."""
    return event.payload is None or event.payload == bones(event.kind, event.payload)
