"""Moments of a session as people and agents name them: a position, a turn, a time or an event.

| text | moment |
| --- | --- |
| `12` | after the first 12 events |
| `turn 3` | the end of turn 3 |
| `yesterday 16:00`, `10m`, `2026-11-14T09:30` | after the last event until then |
| `event 11`, a digest, a call id | after that event |
| `start`, `now` | the beginning, the end |

As the beginning of a slice a moment is the position before the turn, the time or the event.
"""

from __future__ import annotations

import re

from fazm_memory.clock import TimeError
from fazm_memory.errors import Ambiguous, InvalidRequest, NotFound
from fazm_memory.lazy import lazy_regex
from fazm_memory.recall import parse_start
from fazm_memory.store import SEQ_MASK, SessionRow, Store, event_id

POSITION = lazy_regex(r"-?[0-9]{1,60}")
TURN = lazy_regex(r"turn[ :#]?([0-9]{1,9})", re.I)
EVENT = lazy_regex(r"event[ :#]?([0-9]{1,9})", re.I)
DIGEST = lazy_regex(r"[0-9a-f]{8,64}", re.I)
MOMENTS = (
    "Use a position (12), a turn (turn 3), a time (yesterday 16:00, 10m, 2026-11-14T09:30) or an event"
    " (event 11, its digest or its call id)."
)


def position_of(store: Store, row: SessionRow, text: str, now: int, *, begin: bool = False) -> int:
    """The position that a moment names. It may lie outside the session: the caller checks the range."""
    word = text.strip()
    if word.lower() in ("start", "now", "head"):
        return 0 if word.lower() == "start" else row.head
    if POSITION.fullmatch(word):
        return int(word)
    if turn := TURN.fullmatch(word):
        return _turn(store, row, int(turn[1]), begin)
    if event := EVENT.fullmatch(word):
        return int(event[1]) + (not begin)
    found = _event(store, row, word)
    if found is not None:
        return found + (not begin)
    try:
        at = parse_start(word, now=now)
    except TimeError:
        raise InvalidRequest(
            f'There is no moment "{word[:60]}" in session {row.id[:8]}.', hint=MOMENTS
        ) from None
    return _time(store, row, at, begin)


def _turn(store: Store, row: SessionRow, turn: int, begin: bool) -> int:
    if turn > row.turn:
        raise NotFound(f"session {row.id[:8]} has no turn {turn}", hint=f"its turns go up to {row.turn}")
    if begin:
        return store.sessions.turn_position(row.n, turn - 1, row.head) if turn else 0
    return store.sessions.turn_position(row.n, turn, row.head)


def _event(store: Store, row: SessionRow, word: str) -> int | None:
    """The position of an event by its call id or the beginning of its digest."""
    bounds = event_id(row.n, 0), event_id(row.n, row.head)
    known = store.db.execute("SELECT id FROM event WHERE key=?", (f"{row.id}:call:{word}",)).fetchone()
    if known is not None and bounds[0] <= known[0] < bounds[1]:
        return int(known[0] & SEQ_MASK)
    if not DIGEST.fullmatch(word):
        return None
    rows = store.db.execute(
        "SELECT id FROM event WHERE id >= ? AND id < ? AND substr(hex(digest), 1, ?) = ? LIMIT 2",
        (*bounds, len(word), word.upper()),
    ).fetchall()
    if len(rows) > 1:
        raise Ambiguous(
            f"several events of session {row.id[:8]} have a digest that begins with {word[:64]}",
            hint="give more of the digest, or the position",
        )
    return int(rows[0][0] & SEQ_MASK) if rows else None


def _time(store: Store, row: SessionRow, at: int, begin: bool) -> int:
    compared = "<" if begin else "<="
    last = store.db.execute(
        f"SELECT max(id) FROM event WHERE id >= ? AND id < ? AND at {compared} ?",
        (event_id(row.n, 0), event_id(row.n, row.head), at),
    ).fetchone()[0]
    return 0 if last is None else int(last & SEQ_MASK) + 1
