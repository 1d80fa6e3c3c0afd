"""The events that one thing is about, such as a decision, a fact or a question: found by an index each.

A session's state keeps the newest of everything; this finds what it has let go of, and what became of it.
Reading costs the events of that one thing, however long the log is. What was forgotten, is held back or was
gone back behind does not count; what a fork inherited is found where it was said.
"""

from __future__ import annotations

import json

from fazm_memory.log.failed_calls import target_key
from fazm_memory.log.paths import effective, lineage
from fazm_memory.log.rows import ZSTD_MAGIC
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.model.events import Event

# What is named by its position.
AT_ITS_PLACE = {"decision": "decision", "request": "prompt", "failed": "action", "vain": "action"}
BY_ITS_ID = frozenset({"pending", "question", "answered"})
ASKED = (
    "SELECT id FROM event INDEXED BY event_asked WHERE id >= ? AND id < ?"
    " AND (kind BETWEEN 'handoff' AND 'handoff.answer' OR kind BETWEEN 'pending' AND 'pending.done')"
    " AND (substr(payload, 1, 4) = ? OR instr(payload, ?) > 0) ORDER BY id"
)


def own_events(store: Store, row: SessionRow, what: str, name: str) -> list[Event]:
    """The events of a session, in order, that a thing of this kind and name was told by and ended by; none
    when it does not stand any more or nothing can tell."""
    found: list[Event] = []
    for session, at in lineage(store.sessions, row, row.head):
        if what in AT_ITS_PLACE:
            own = _at(store, session, at, int(name)) if _is_place(name) else None
            if own is not None and own.kind == AT_ITS_PLACE[what]:
                return [own] if what not in ("failed", "vain") or _still_fails(store, session, own) else []
        elif what == "fact":
            if (last := _last_word(store, session, at, name)) is not None:
                return [last]
        elif what in BY_ITS_ID:
            found = _asked(store, session, at, name) + found
    return found


def _is_place(name: str) -> bool:
    """Whether a name can be a position; what has more digits than any Python may refuse to read."""
    return name.isdecimal() and len(name) <= len(str(SEQ_MASK))


def _at(store: Store, session: SessionRow, at: int, seq: int) -> Event | None:
    """The event at a place, if it leads to a position and may be told."""
    if seq >= at or store.ward.held(session.n).has(seq):
        return None
    ranges = effective(store.db, session.n, at, seq)
    if not ranges or ranges[0][0] != seq:  # gone back behind
        return None
    event = next(store.log.slice(session.n, session.id, seq, seq + 1), None)
    return None if event is None or event.payload is None else event


def _last_word(store: Store, session: SessionRow, at: int, key: str) -> Event | None:
    rows = store.db.execute(
        "SELECT seq FROM fact WHERE key=? AND session=? AND seq < ? ORDER BY seq DESC", (key, session.n, at)
    ).fetchall()
    said = (_at(store, session, at, seq) for (seq,) in rows)
    return next((event for event in said if event is not None), None)


def _asked(store: Store, session: SessionRow, at: int, name: str) -> list[Event]:
    """What was asked or left to do under this id, and what ended it."""
    needle = json.dumps(name, ensure_ascii=False).encode("utf-8", "replace")
    bounds = event_id(session.n, 0), event_id(session.n, at)
    rows = store.db.execute(ASKED, (*bounds, ZSTD_MAGIC, needle)).fetchall()
    told = (_at(store, session, at, row[0] & SEQ_MASK) for row in rows)
    return [event for event in told if event is not None and event.payload.id == name]


def _still_fails(store: Store, session: SessionRow, event: Event) -> bool:
    """Whether no later call of the same tool on the same target, or with the same input, went well."""
    key = target_key(event.payload) or event.payload.input_hash
    row = store.db.execute(
        "SELECT 1 FROM failed_call WHERE session=? AND hash=?", (session.n, key)
    ).fetchone()
    return key is None or row is not None
