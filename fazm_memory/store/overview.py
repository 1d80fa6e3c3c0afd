"""An overview of the store, and what changed in it since the last look.

Whether anything changed is one cheap query. Only then are the heads of the latest and the unindexed sessions
compared. A change in an older session is reported without its name.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.clock import iso
from fazm_memory.events import SOURCES
from fazm_memory.records import dataclass
from fazm_memory.store.event_log import event_id
from fazm_memory.store.store import Store

MOST = 200  # sessions with an open question


def store_overview(store: Store) -> dict[str, Any]:
    """Counts, the last event per source, open questions, size, and where the key is."""
    last = store.projections.sources() if store.as_of is None else _earlier_sources(store, store.as_of)
    sources = {name: {"at": iso(at), "session": session} for name, (at, session) in last.items()}
    return {
        **(store.sessions.totals() if store.as_of is None else _earlier_totals(store)),
        "since": _since(store),
        "sources": sources,
        "open_questions": open_questions(store),
        "bytes": store.size(),
        "key": {"backend": store.keys.backend, "where": store.keys.where},
    }


def _since(store: Store) -> str | None:
    """The beginning of the earliest session."""
    (first,) = store.db.execute("SELECT min(opened_at) FROM standing WHERE forgotten = 0").fetchone()
    return None if first is None else iso(first)


def _earlier_totals(store: Store) -> dict[str, int]:
    rows = store.sessions.listing(limit=None, background=True)
    return {
        "sessions": len(rows), "events": sum(row.head for row in rows),
        "actions": sum(row.actions for row in rows),
    }  # fmt: skip


def _earlier_sources(store: Store, moment: int) -> dict[str, tuple[int, str]]:
    rows = store.db.execute(
        "SELECT source, max(at), id >> 32 FROM event WHERE at <= ? GROUP BY source ORDER BY source", (moment,)
    ).fetchall()
    ids = dict(store.db.execute("SELECT n, id FROM session").fetchall())
    return {source if source in SOURCES else "record": (at, ids[number]) for source, at, number in rows}


def open_questions(store: Store) -> list[dict[str, Any]]:
    """Open questions to a person in any session, latest first."""
    asked = "" if store.as_of is not None else " AND questions > 0"  # it may have been answered since
    rows = store.db.execute(
        f"SELECT n FROM standing WHERE forgotten = 0{asked} ORDER BY last_at DESC LIMIT ?", (MOST,)
    ).fetchall()
    found = []
    for row in store.quarantine_view.rows(store.sessions.numbered([number for (number,) in rows])):
        state = store.quarantine_view.state_at(row.n, row.id, row.head)
        questions = [question for question in state.questions.values() if question["to"] == "human"]
        found += [{"session": row.id, "title": row.title, **question} for question in questions]
    return found


LATEST = 60
KINDS = 500  # new events of a session whose kinds are read
HEADS = (
    "SELECT n, id, head, lifecycle, title, forgotten FROM"
    " (SELECT * FROM standing WHERE hour > -1 ORDER BY hour DESC, last_at DESC LIMIT ?)"
    " UNION SELECT s.n, s.id, s.head, s.lifecycle, s.title, s.forgotten FROM waiting w"
    " JOIN standing s ON s.n = w.session"
)

Head = tuple[str, int, str, str | None, int]


@dataclass(frozen=True)
class StoreChanges:
    """Sessions that changed and the kinds of their new events. `all` if something else changed too."""

    sessions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    all: bool = False


class StoreWatcher:
    """Remembers the last look. Its connection must not write, or it would miss its own writes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.version = self._version()
        self.heads = self._heads()

    def look(self) -> StoreChanges | None:
        """What changed, or None if nothing was written."""
        version = self._version()
        if version == self.version:
            return None
        self.version = version
        with self.store.db.reading():
            heads = self._heads()
            moved = [number for number, head in heads.items() if self.heads.get(number) != head]
            kinds: set[str] = set()
            for number in moved:
                known = self.heads.get(number)
                kinds |= self._kinds(number, 0 if known is None else known[1], heads[number][1])
        self.heads = heads
        return StoreChanges(tuple(heads[number][0] for number in moved), tuple(sorted(kinds)), not moved)

    def _version(self) -> int:
        return int(self.store.db.execute("PRAGMA data_version").fetchone()[0])

    def _heads(self) -> dict[int, Head]:
        rows = self.store.db.execute(HEADS, (LATEST,)).fetchall()
        return {row[0]: tuple(row[1:]) for row in rows}

    def _kinds(self, number: int, first: int, head: int) -> set[str]:
        rows = self.store.db.execute(
            "SELECT DISTINCT kind FROM event WHERE id >= ? AND id < ?",
            (event_id(number, max(first, head - KINDS)), event_id(number, head)),
        ).fetchall()
        return {row[0] for row in rows}
