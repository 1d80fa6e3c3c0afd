"""The ward: the log as exports may see it, without what is quarantined or was folded from that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from fazm_memory.log.database import Database
from fazm_memory.log.paths import effective
from fazm_memory.log.quarantine import NOTHING, Held, read
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.snapshots import Snapshots
from fazm_memory.log.tables import SEQ_BITS, SEQ_MASK
from fazm_memory.model.events import Event
from fazm_memory.model.fold import fold, initial
from fazm_memory.model.inheritance import inherited
from fazm_memory.model.state import HELD_BACK, SessionState


class Ward:
    """The same log as exports may see it."""

    def __init__(self, db: Database, snapshots: Snapshots) -> None:
        self.db = db
        self.snapshots = snapshots

    def held(self, number: int) -> Held:
        return read(self.db).get(number, NOTHING)

    def ids(self, event: int) -> bool:
        """Whether an event, by its id, is held back."""
        return self.held(event >> SEQ_BITS).has(event & SEQ_MASK)

    def rows(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """These sessions but for those that are held back as a whole."""
        book = read(self.db)
        return [row for row in rows if not book.get(row.n, NOTHING).whole]

    def events(self, number: int, events: Iterable[Event]) -> list[Event]:
        """These events of a session but for those that are held back."""
        withheld = self.withheld(number)
        return [event for event in events if not withheld(event)]

    def withheld(self, number: int) -> Callable[[Event], bool]:
        """Whether an event of a session is held back, or a checkpoint that was folded from what is, also in a
        session that this one was forked from."""
        book = read(self.db)
        held = book.get(number, NOTHING)
        began = bool(book) and self._began_with(number, book)
        first = -1 if began else min(held.seqs, default=SEQ_MASK)
        return lambda event: held.has(event.seq) or (event.kind == "checkpoint" and first < event.seq)

    def _began_with(self, number: int, book: dict[int, Held]) -> bool:
        """Whether what a session began with, as a fork, holds anything that is held back."""
        parents = filter(None, map(self._parent, self._family(number)))
        taken = ((book.get(above, NOTHING), position) for above, _, position in parents)
        return any(held.whole or min(held.seqs, default=position) < position for held, position in taken)

    def state_at(self, number: int, session: str, at: int) -> SessionState:
        """The state as if what is held back had never been said; without any of it, the state itself.

        Only that there is more is told, as a count of calls: a day of work must not look empty.
        """
        book = read(self.db)
        if not book or not any(one in book for one in self._family(number)):
            return self.snapshots.state_at(number, session, at)
        held = book.get(number, NOTHING)
        if held.whole:
            stood = self.snapshots.state_at(number, session, at)
            return replace(initial(session), at=at, lifecycle=stood.lifecycle)
        state, calls, withheld = self._beginning(number, session), 0, self.withheld(number)

        def free(events: Iterable[Event]) -> Iterator[Event]:
            nonlocal calls
            for event in events:
                if not withheld(event):
                    yield event
                elif event.kind == "action":
                    calls += 1

        for low, high in effective(self.db, number, at):
            state = fold(state, free(self.snapshots.log.slice(number, session, low, high)))
        if calls:
            counts = state.counts | {HELD_BACK: state.counts.get(HELD_BACK, 0) + calls}
            state = replace(state, counts=counts)
        return replace(state, at=at)

    def _beginning(self, number: int, session: str) -> SessionState:
        parent = self._parent(number)
        if parent is None:
            return initial(session)
        above, name, position = parent
        return inherited(self.state_at(above, name, position), session)

    def _family(self, number: int) -> list[int]:
        found = [number]
        while (parent := self._parent(found[-1])) is not None and parent[0] not in found:
            found.append(parent[0])
        return found

    def _parent(self, number: int) -> tuple[int, str, int] | None:
        row = self.db.execute(
            "SELECT above.n, above.id, child.parent_seq FROM session AS child"
            " JOIN session AS above ON above.id = child.parent WHERE child.n=?",
            (number,),
        ).fetchone()
        return None if row is None or row[2] is None else (int(row[0]), str(row[1]), int(row[2]))
