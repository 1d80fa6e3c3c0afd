"""Facts that hold across sessions, and their history.

A later statement on the same key replaces the earlier one, and a retraction ends it. An agent's statement
does not replace the user's.
"""

from __future__ import annotations

import json
from typing import Any

from fazm_memory.clock import iso
from fazm_memory.events import TRUST_RANK
from fazm_memory.records import dataclass
from fazm_memory.store.database import Database
from fazm_memory.store.quarantine import NOT_QUARANTINED, read_quarantine

COLUMNS = (
    "fact.key, fact.value, fact.at, fact.retracted, fact.trust, fact.actor, session.id, fact.seq, workspace,"
    " fact.session"
)


@dataclass(frozen=True)
class FactRow:
    """One statement on a key, with who made it and where in the log."""

    key: str
    value: Any
    at: int
    retracted: bool
    trust: str
    actor: str
    session: str
    seq: int
    workspace: str | None
    number: int  # of the session; internal

    def to_json(self) -> dict[str, Any]:
        row = {**self.__dict__, "at": iso(self.at)}
        del row["number"]
        return row


class Facts:
    def __init__(self, database: Database) -> None:
        self.db = database
        self.until: int | None = None  # shows only what was stated up to this time

    def history(self, key: str | None = None) -> list[FactRow]:
        """Every statement on a key, or on all keys, oldest first."""
        where, values = ("", ()) if key is None else (" WHERE fact.key=?", (key,))
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM fact JOIN session ON session.n = fact.session{where}"
            " ORDER BY fact.key, fact.at, fact.session, fact.seq",
            values,
        ).fetchall()
        return [
            FactRow(row[0], None if row[1] is None else json.loads(row[1]), row[2], bool(row[3]), *row[4:])
            for row in rows
            if self.until is None or row[2] <= self.until
        ]

    def current(self) -> list[FactRow]:
        """For each key the latest statement of the most trusted speaker, unless retracted."""
        standing: dict[str, FactRow] = {}
        book = read_quarantine(self.db)
        for row in self.history():
            if book and book.get(row.number, NOT_QUARANTINED).has(row.seq):
                continue  # quarantined
            known = standing.get(row.key)
            if known is not None and TRUST_RANK.get(known.trust, 0) > TRUST_RANK.get(row.trust, 0):
                continue  # an agent does not overrule the user
            if row.retracted:
                standing.pop(row.key, None)
            else:
                standing[row.key] = row
        return sorted(standing.values(), key=lambda row: (-TRUST_RANK.get(row.trust, 0), row.key))
