"""The commit log: an event as the contract shows it, and for an action what it changed.

`{timestamp, tool, input_hash, output_summary, delta}`, with provenance and the digests that chain it.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.model import codec
from fazm_memory.model.clock import iso
from fazm_memory.model.events import Event
from fazm_memory.model.fold import delta

OF_ACTIONS = ("tool", "input_hash", "output_summary", "outcome", "error", "duration_ms", "retry_of")


def event_json(event: Event) -> dict[str, Any]:
    """The contract's event; for an action also its row of the commit log."""
    told: dict[str, Any] = {
        "session": event.session,
        "seq": event.seq,
        "at": iso(event.at),
        "turn": event.turn,
        "kind": event.kind,
        "actor": event.actor,
        "source": event.source,
        "trust": event.trust,
        "payload": None if event.payload is None else codec.encode(event.payload),
        "digest": event.digest,
        "prev": event.prev,
    }
    if event.kind == "action" and event.payload is not None:
        action = event.payload
        told |= {name: getattr(action, name) for name in OF_ACTIONS}
        told["delta"] = delta(event)
    if event.payload is None:
        told["forgotten"] = True
    return told
