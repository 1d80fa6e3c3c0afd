"""Durable facts across sessions: what holds now, and all that was ever said about it.

A later word on the same key supersedes the earlier one; a retraction ends it; the log keeps them all. The
user's own word is not superseded by an agent's: it stands beside it, first.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fazm_memory.log.database import Database
from fazm_memory.log.quarantine import NOTHING, read
from fazm_memory.model.clock import iso
from fazm_memory.model.trust import RANK

COLUMNS = (
    "fact.key, fact.value, fact.at, fact.retracted, fact.trust, fact.actor, session.id, fact.seq, workspace,"
    " fact.session"
)


@dataclass(frozen=True)
class FactRow:
    """One word on a key, with who said it and where in the log."""

    key: str
    value: Any
    at: int
    retracted: bool
    trust: str
    actor: str
    session: str
    seq: int
    workspace: str | None
    number: int  # of the session; ours alone

    def to_json(self) -> dict[str, Any]:
        told = {**self.__dict__, "at": iso(self.at)}
        del told["number"]
        return told


class Facts:
    def __init__(self, database: Database) -> None:
        self.db = database

    def history(self, key: str | None = None) -> list[FactRow]:
        """Every word on a key, or on all of them, oldest first."""
        where, values = ("", ()) if key is None else (" WHERE fact.key=?", (key,))
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM fact JOIN session ON session.n = fact.session{where}"
            " ORDER BY fact.key, fact.at, fact.session, fact.seq",
            values,
        ).fetchall()
        return [
            FactRow(row[0], None if row[1] is None else json.loads(row[1]), row[2], bool(row[3]), *row[4:])
            for row in rows
        ]

    def current(self) -> list[FactRow]:
        """What holds now: for each key the latest word that the most trusted speaker has not taken back."""
        standing: dict[str, FactRow] = {}
        book = read(self.db)
        for row in self.history():
            if book and book.get(row.number, NOTHING).has(row.seq):
                continue  # quarantined
            held = standing.get(row.key)
            if held is not None and RANK.get(held.trust, 0) > RANK.get(row.trust, 0):
                continue  # an agent does not overrule the user
            if row.retracted:
                standing.pop(row.key, None)
            else:
                standing[row.key] = row
        return sorted(standing.values(), key=lambda row: (-RANK.get(row.trust, 0), row.key))
