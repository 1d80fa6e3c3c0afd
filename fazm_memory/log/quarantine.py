"""Quarantine: which events, or whole sessions, leave every export until somebody lifts it.

The log still has them and `verify` still checks them. What is held is a projection of `quarantine` events,
small enough to be one value; a rewind does not lift it, only a later word does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from fazm_memory.log.database import Database
from fazm_memory.model.payloads import Quarantine

KEY = "quarantine"


@dataclass(frozen=True)
class Held:
    """What of a session is held back."""

    whole: bool = False
    seqs: frozenset[int] = frozenset()

    def has(self, seq: int) -> bool:
        return self.whole or seq in self.seqs


NOTHING = Held()


def read(db: Database) -> dict[int, Held]:
    """What is held, by session number."""
    row = db.execute("SELECT value FROM meta WHERE key=?", (KEY,)).fetchone()
    if row is None:
        return {}
    return {
        int(number): Held(one["whole"], frozenset(one["seqs"])) for number, one in json.loads(row[0]).items()
    }


def after(held: Held, told: Quarantine) -> Held:
    """What is held after one more word."""
    if told.released:
        # What was held back for itself stays so when its session is let go: it needs a word of its own.
        return Held(held.whole and not told.whole, held.seqs - set(told.seqs))
    return Held(held.whole or told.whole, held.seqs | set(told.seqs))


def note(db: Database, number: int, told: Quarantine) -> None:
    """Take in one `quarantine` event. In its transaction."""
    keep(db, number, after(read(db).get(number, NOTHING), told))


def keep(db: Database, number: int, held: Held) -> None:
    """Hold this of a session and nothing else. In a transaction."""
    book = read(db)
    book[number] = held
    raw = {n: {"whole": one.whole, "seqs": sorted(one.seqs)} for n, one in book.items() if one != NOTHING}
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (KEY, json.dumps(raw)))
