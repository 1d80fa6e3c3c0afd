"""The path that leads to a position: the ranges of the log that still count, rewinds taken into account.

Two sessions of one family share the past up to where the younger left it; from there on each has its own.
"""

from __future__ import annotations

from fazm_memory.log.database import Database
from fazm_memory.log.sessions import SessionRow, Sessions

Range = tuple[int, int]
DEEPEST = 1000  # forks of forks that are followed


def effective(db: Database, number: int, at: int, start: int = 0) -> list[Range]:
    """Half-open ranges of positions, in order, that make up the state at a position, from `start` on."""
    ranges: list[Range] = []
    while at > start:
        row = db.execute(
            "SELECT seq, target FROM rewind WHERE session=? AND seq < ? ORDER BY seq DESC LIMIT 1",
            (number, at),
        ).fetchone()
        begin, before = (0, 0) if row is None else (int(row[0]), int(row[1]))
        if max(begin, start) < at:
            ranges.append((max(begin, start), at))
        at = before
    return ranges[::-1]


def lineage(sessions: Sessions, row: SessionRow, at: int) -> list[tuple[SessionRow, int]]:
    """The session with the position, then its parent with the position it was left at, and so on."""
    found = [(row, at)]
    while row.parent is not None and row.parent_seq is not None and len(found) < DEEPEST:
        parent, at = sessions.resolve(row.parent), row.parent_seq
        found.append((parent, at))
        row = parent
    return found


def parted(
    sessions: Sessions, first: tuple[SessionRow, int], second: tuple[SessionRow, int]
) -> tuple[SessionRow, int] | None:
    """The session and position up to which two have one past; None when they have nothing in common."""
    known = {row.n: (row, at) for row, at in lineage(sessions, *first)}
    for row, at in lineage(sessions, *second):
        if row.n in known:
            return row, min(at, known[row.n][1])
    return None
