"""What is new in the store since the last look, cheaply: whether anybody wrote, and which sessions moved.

Asking whether anybody wrote costs microseconds. Only then are the heads of the latest sessions compared, and
of those that wait to be taken in: what moved far in the past is said to have, without a name.
"""

from __future__ import annotations

from dataclasses import dataclass

from fazm_memory.log.store import Store
from fazm_memory.log.tables import event_id

LATEST = 60
KINDS = 500  # new events of a session whose kinds are looked at
HEADS = (
    "SELECT n, id, head, lifecycle, title, forgotten FROM"
    " (SELECT * FROM standing WHERE hour > -1 ORDER BY hour DESC, last_at DESC LIMIT ?)"
    " UNION SELECT s.n, s.id, s.head, s.lifecycle, s.title, s.forgotten FROM waiting w"
    " JOIN standing s ON s.n = w.session"
)

Head = tuple[str, int, str, str | None, int]


@dataclass(frozen=True)
class News:
    """Sessions that moved and the kinds of what is new in them; `all` when something else moved too."""

    sessions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    all: bool = False


class Watch:
    """Remembers what it saw last. Its connection must not write, or it would not hear of its own writes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.version = self._version()
        self.heads = self._heads()

    def look(self) -> News | None:
        """What is new; None when nobody wrote."""
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
        return News(tuple(heads[number][0] for number in moved), tuple(sorted(kinds)), not moved)

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
