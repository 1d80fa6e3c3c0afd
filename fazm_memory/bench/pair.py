"""A store and its floor, grown together: the same runs go into both, in turns, on the same disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fazm_memory.bench.figures import clocked
from fazm_memory.bench.floor import Floor
from fazm_memory.bench.rows import Life, Run
from fazm_memory.bench.suites import Tell
from fazm_memory.log.database import LOG_PAGES
from fazm_memory.log.store import PAGE, Store

# Single appends are made in turns of a few dozen: whoever appends one at a time does so to one file, and a
# sync costs more after another file's.
TURN = 25


@dataclass
class Pair:
    """Both stores after `events` events each, and what growing them took."""

    folder: Path
    events: int
    life: Life = field(init=False)
    store: Store = field(init=False)
    floor: Floor = field(init=False)
    numbers: dict[int, int] = field(default_factory=dict)  # a session of the life: its number in the store
    ours_seconds: float = 0
    floor_seconds: float = 0

    def __post_init__(self) -> None:
        home = self.folder / f"of-{self.events}"
        home.mkdir(mode=0o700)
        self.life = Life(self.events)
        self.store = Store(home, key="file")
        self.floor = Floor(home)

    def grow(self, tell: Tell) -> None:
        """Write all the runs, ours first and the floor first by turns."""
        done = 0
        for nth, run in enumerate(self.life.runs()):
            rows, texts = self.floor.prepare(run)
            if nth % 2:
                self.ours_seconds += clocked(self.append, run)
            self.floor_seconds += clocked(self.floor.insert, rows, texts)
            if not nth % 2:
                self.ours_seconds += clocked(self.append, run)
            done += len(run.entries)
            tell(f"writing {self.events:,} events", done, self.events)
        self.ours_seconds += clocked(self.store.index_all)  # what still waits is part of the price

    def append(self, run: Run) -> None:
        append_run(self.store, self.numbers, run)

    def length(self, session: int) -> int:
        """How many events the session of the life has in both stores, at the least."""
        (head,) = self.store.db.execute(
            "SELECT head FROM standing WHERE n=?", (self.numbers[session],)
        ).fetchone()
        return min(int(head), self.floor.written[session])

    def newest(self) -> int:
        """The session of the life that began last."""
        return max(self.numbers, key=lambda session: self.numbers[session])

    def cool(self) -> None:
        """Empty the page cache of both: what a process that has just started finds."""
        self.store.db.execute("PRAGMA shrink_memory")
        self.floor.connection.execute("PRAGMA shrink_memory")

    def settle(self) -> None:
        """Everything out of the write-ahead logs and into the databases."""
        self.store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.floor.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def fill_logs(self, session: int) -> None:
        """Write both write-ahead logs full once: a log that still grows makes every sync dearer, and only one
        of the two would."""
        sides = (self.store.path, self.floor.path)
        full = LOG_PAGES * PAGE
        while wal_bytes(sides[0]) < full:
            self.append(Run(session, self.life.more(session, self.life.batch)))
        while wal_bytes(sides[1]) < full:
            self.floor.insert(*self.floor.prepare(Run(session, self.life.more(session, self.life.batch))))
        self.store.db.execute("PRAGMA wal_checkpoint(RESTART)")
        self.floor.connection.execute("PRAGMA wal_checkpoint(RESTART)")

    def close(self) -> None:
        self.store.close()
        self.floor.close()


def wal_bytes(database: Path) -> int:
    wal = database.with_name(database.name + "-wal")
    return wal.stat().st_size if wal.exists() else 0


def append_run(store: Store, numbers: dict[int, int], run: Run) -> None:
    """One durable transaction, as any source of ours would do it. `numbers` learns where a session is."""
    with store.writing() as writer:
        number = numbers.get(run.session)
        if number is None:
            head = writer.create("fazm", run.entries[0].at, agent_session_id=f"bench-{run.session}")
            numbers[run.session] = head.n
        else:
            head = writer.head(number)
        for entry in run.entries:
            writer.append(head, entry)
