"""The store at a glance: how much is in it, what came in last and from where, what waits for a person."""

from __future__ import annotations

from typing import Any

from fazm_memory.log.store import Store
from fazm_memory.model.clock import iso


def overview(store: Store) -> dict[str, Any]:
    """Counts, the last event per source, open questions, size, and where the key is."""
    last = store.follower.sources()
    sources = {name: {"at": iso(at), "session": session} for name, (at, session) in last.items()}
    return {
        **store.sessions.totals(),
        "sources": sources,
        "open_questions": [row.to_json() for row in store.sessions.listing(limit=20) if row.questions],
        "bytes": store.size(),
        "key": {"backend": store.keys.backend, "where": store.keys.where},
    }
