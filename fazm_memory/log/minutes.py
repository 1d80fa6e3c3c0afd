"""Where in a session something was counted: its minutes say which of its positions need not be read."""

from __future__ import annotations

from fazm_memory.log.database import Database

# A minute counts these, so that minutes without them need not be read.
COUNTED = {"action": "actions", "decision": "decisions", "file": "files", "app": "apps"}

Range = tuple[int, int]


def counted(db: Database, number: int, column: str, low: int, high: int) -> list[Range]:
    """The stretches between two positions in which minutes counted any; what they have not taken in yet may
    hold it too."""
    (indexed,) = db.execute("SELECT indexed FROM session WHERE n=?", (number,)).fetchone()
    found = db.execute(
        f"SELECT first, last + 1 FROM minute WHERE session=? AND {column} > 0 AND last >= ? AND first < ?",
        (number, low, high),
    ).fetchall()
    merged: list[Range] = []
    for first, stop in sorted([*found, (indexed, high)]):
        first, stop = max(first, low), min(stop, high)
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        elif first < stop:
            merged.append((first, stop))
    return merged
