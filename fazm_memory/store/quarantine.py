"""Quarantine: events, or whole sessions, that are left out of every export until released.

The log keeps them and `verify` checks them. The marks are a projection of `quarantine` events, stored as one
value. A rewind does not release them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from fazm_memory.events import Event, Quarantine
from fazm_memory.records import dataclass, replace
from fazm_memory.store.database import Database
from fazm_memory.store.event_log import SEQ_BITS, SEQ_MASK
from fazm_memory.store.sessions import SessionRow, effective_ranges

if TYPE_CHECKING:
    from fazm_memory.session import SessionState
    from fazm_memory.store.snapshots import Snapshots

KEY = "quarantine"


@dataclass(frozen=True)
class QuarantinedEvents:
    """The quarantined events of a session."""

    whole: bool = False
    seqs: frozenset[int] = frozenset()

    def has(self, seq: int) -> bool:
        return self.whole or seq in self.seqs


NOT_QUARANTINED = QuarantinedEvents()


def read_quarantine(db: Database) -> dict[int, QuarantinedEvents]:
    """The quarantined events by session number."""
    row = db.execute("SELECT value FROM meta WHERE key=?", (KEY,)).fetchone()
    if row is None:
        return {}
    return {
        int(number): QuarantinedEvents(entry["whole"], frozenset(entry["seqs"]))
        for number, entry in json.loads(row[0]).items()
    }


def apply_quarantine(before: QuarantinedEvents, event: Quarantine) -> QuarantinedEvents:
    """The quarantined events after one more `quarantine` event."""
    if event.released:
        # Releasing a session does not release events that were quarantined on their own.
        return QuarantinedEvents(before.whole and not event.whole, before.seqs - set(event.seqs))
    return QuarantinedEvents(before.whole or event.whole, before.seqs | set(event.seqs))


def record_quarantine(db: Database, number: int, event: Quarantine) -> None:
    """Apply a `quarantine` event. In its transaction."""
    write_quarantine(db, number, apply_quarantine(read_quarantine(db).get(number, NOT_QUARANTINED), event))


def write_quarantine(db: Database, number: int, held: QuarantinedEvents) -> None:
    """Replace the marks of a session. In a transaction."""
    all_marks = read_quarantine(db)
    all_marks[number] = held
    raw = {
        n: {"whole": marks.whole, "seqs": sorted(marks.seqs)}
        for n, marks in all_marks.items()
        if marks != NOT_QUARANTINED
    }
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (KEY, json.dumps(raw)))


class QuarantineView:
    """The log as exports may see it, without quarantined events and states that include them."""

    def __init__(self, db: Database, snapshots: Snapshots) -> None:
        self.db = db
        self.snapshots = snapshots

    def held(self, number: int) -> QuarantinedEvents:
        return read_quarantine(self.db).get(number, NOT_QUARANTINED)

    def ids(self, event: int) -> bool:
        """Whether the event with this id is quarantined."""
        return self.held(event >> SEQ_BITS).has(event & SEQ_MASK)

    def rows(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """These sessions without those that are quarantined as a whole."""
        all_marks = read_quarantine(self.db)
        return [row for row in rows if not all_marks.get(row.n, NOT_QUARANTINED).whole]

    def events(self, number: int, events: Iterable[Event]) -> list[Event]:
        """These events of a session without the quarantined ones."""
        withheld = self.withheld(number)
        return [event for event in events if not withheld(event)]

    def withheld(self, number: int) -> Callable[[Event], bool]:
        """A test for whether an event of a session is quarantined.

        Also true for checkpoints that include quarantined events, of this session or of one it was forked
        from.
        """
        all_marks = read_quarantine(self.db)
        marks = all_marks.get(number, NOT_QUARANTINED)
        began = bool(all_marks) and self._began_with(number, all_marks)
        first = -1 if began else min(marks.seqs, default=SEQ_MASK)
        return lambda event: marks.has(event.seq) or (event.kind == "checkpoint" and first < event.seq)

    def _began_with(self, number: int, all_marks: dict[int, QuarantinedEvents]) -> bool:
        """Whether the history that a fork inherited has quarantined events."""
        parents = filter(None, map(self._parent, self._family(number)))
        taken = ((all_marks.get(above, NOT_QUARANTINED), position) for above, _, position in parents)
        return any(marks.whole or min(marks.seqs, default=position) < position for marks, position in taken)

    def state_at(self, number: int, session: str, at: int) -> SessionState:
        """The state as if quarantined events did not exist.

        Only the number of quarantined calls is included, so that a day of work does not look empty.
        """
        from fazm_memory.session import QUARANTINED_CALLS, fold, initial_state  # only with marks

        all_marks = read_quarantine(self.db)
        if not all_marks or not any(member in all_marks for member in self._family(number)):
            return self.snapshots.state_at(number, session, at)
        marks = all_marks.get(number, NOT_QUARANTINED)
        if marks.whole:
            full = self.snapshots.state_at(number, session, at)
            return replace(initial_state(session), at=at, lifecycle=full.lifecycle)
        state, calls, withheld = self._beginning(number, session), 0, self.withheld(number)

        def visible(events: Iterable[Event]) -> Iterator[Event]:
            nonlocal calls
            for event in events:
                if not withheld(event):
                    yield event
                elif event.kind == "action":
                    calls += 1

        for low, high in effective_ranges(self.db, number, at):
            state = fold(state, visible(self.snapshots.log.slice(number, session, low, high)))
        if calls:
            counts = state.counts | {QUARANTINED_CALLS: state.counts.get(QUARANTINED_CALLS, 0) + calls}
            state = replace(state, counts=counts)
        return replace(state, at=at)

    def _beginning(self, number: int, session: str) -> SessionState:
        from fazm_memory.session import fork_state, initial_state  # only with marks

        parent = self._parent(number)
        if parent is None:
            return initial_state(session)
        above, name, position = parent
        return fork_state(self.state_at(above, name, position), session)

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
