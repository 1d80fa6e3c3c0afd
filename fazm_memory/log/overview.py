"""The store at a glance: how much is in it, what came in last and from where, what waits for a person."""

from __future__ import annotations

from typing import Any

from fazm_memory.log.store import Store
from fazm_memory.model.clock import iso

MOST = 200  # sessions with an open question


def overview(store: Store) -> dict[str, Any]:
    """Counts, the last event per source, open questions, size, and where the key is."""
    last = store.follower.sources()
    sources = {name: {"at": iso(at), "session": session} for name, (at, session) in last.items()}
    return {
        **store.sessions.totals(),
        "sources": sources,
        "open_questions": open_questions(store),
        "bytes": store.size(),
        "key": {"backend": store.keys.backend, "where": store.keys.where},
    }


def open_questions(store: Store) -> list[dict[str, Any]]:
    """What waits for a person, in any session, latest first: the session, the question's id and its words."""
    rows = store.db.execute(
        "SELECT n FROM standing WHERE questions > 0 AND forgotten = 0 ORDER BY last_at DESC LIMIT ?", (MOST,)
    ).fetchall()
    found = []
    for row in store.ward.rows(store.sessions.numbered([number for (number,) in rows])):
        state = store.ward.state_at(row.n, row.id, row.head)
        asked = [one for one in state.questions.values() if one["to"] == "human"]
        found += [{"session": row.id, "title": row.title, **one} for one in asked]
    return found
