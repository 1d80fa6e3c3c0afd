"""Time suite: states, differences and forks of one session of any length.

One session per size, read in turns with an empty page cache. "Flat" means that the longest takes at most 1.5
times as long as the shortest. At the largest size, snapshots are also stored at other distances: reading a
state gets cheaper with more snapshots, writing and storing them gets more expensive.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median

from benchmarks.events import LONG, START, STEP, Batch, Workload
from benchmarks.figures import Figure, Goal, Options, Report, in_turns, timed
from benchmarks.stores import append_batch
from fazm_memory.app import Memory
from fazm_memory.config import Config
from fazm_memory.store import views

BATCH = 1000
FLAT = 1.5
NEAR = 100  # events of a short difference
TURNS = 5
ROUNDS = (30, 6)  # normally, and when quick
SPACINGS = (250, 1000, 4000)


@dataclass
class LongSession:
    """A memory with one session of `events` events."""

    folder: Path
    events: int
    memory: Memory = field(init=False)
    session: str = field(init=False)
    number: int = field(init=False)

    def __post_init__(self) -> None:
        home = self.folder / f"of-{self.events}"
        home.mkdir(mode=0o700)
        config = Config(home=home, user_home=home, key="file")
        self.memory = Memory(config, lambda: START + self.events * STEP)

    def write(self, report: Report) -> None:
        """Write the events, without syncs: the log suite measures writing."""
        store, workload, numbers = (
            self.memory.store,
            Workload(self.events, batch_size=BATCH),
            dict[int, int](),
        )
        store.db.execute("PRAGMA synchronous=off")
        done = 0
        while done < self.events:
            count = min(BATCH, self.events - done)
            append_batch(store, numbers, Batch(LONG, workload.more(LONG, count, done)))
            done += count
            report(f"writing {self.events:,} events", done, self.events)
        store.index_all()
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.db.execute("PRAGMA synchronous=full")
        self.number = numbers[LONG]
        row = store.db.execute("SELECT id FROM session WHERE n=?", (self.number,)).fetchone()
        self.session = str(row[0])

    def cool(self) -> None:
        self.memory.store.db.execute("PRAGMA shrink_memory")

    def states(self, rounds: int) -> Callable[[], object]:
        """Read states equally far after a snapshot, in a short and a long session."""
        far, where = (
            random.Random(5),
            random.Random(6),
        )  # two generators: the distance must not depend on the length
        space = min(views.SPACING, self.events)
        places = [
            where.randrange(max(1, self.events // space)) * space + far.randrange(space)
            for _ in range(rounds)
        ]
        turn = cycle(min(place, self.events) for place in places)
        store = self.memory.store
        return lambda: store.snapshots.state_at(self.number, self.session, next(turn))


def run(options: Options, report: Report) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        sessions: list[LongSession] = []
        try:
            for events in sorted(options.sizes):
                sessions.append(LongSession(Path(name), events))
                sessions[-1].write(report)
            rounds = ROUNDS[options.quick]
            for what, job in JOBS.items():
                report("reading", list(JOBS).index(what), len(JOBS))
                yield from _figures(what, sessions, job, rounds)
            yield from _spacing(sessions[-1], rounds, report)
        finally:
            for session in sessions:
                session.memory.close()


def _figures(
    what: str,
    sessions: list[LongSession],
    job: Callable[[LongSession, int], Callable[[], object]],
    rounds: int,
) -> Iterator[Figure]:
    def cool() -> None:
        for session in sessions:
            session.cool()

    taken = in_turns(rounds, [job(session, rounds) for session in sessions], before=cool)
    least = median(taken[0]) * 1e3
    for nth, (session, times) in enumerate(zip(sessions, taken, strict=True)):
        yield Figure(
            what,
            "ms",
            median(times) * 1e3,
            least if nth else None,
            f"the same in {sessions[0].events:,}" if nth else "",
            session.events,
            goal=Goal(at_most=FLAT) if nth else None,
        )


def _short_diff(session: LongSession, rounds: int) -> Callable[[], object]:
    return lambda: session.memory.history.diff(session.session, session.events - NEAR, session.events)


def _whole_diff(session: LongSession, rounds: int) -> Callable[[], object]:
    return lambda: session.memory.history.diff(session.session, 0, session.events)


def _fork(session: LongSession, rounds: int) -> Callable[[], object]:
    return lambda: session.memory.rewind.fork(session.session, at=session.events // 2)


def _files(session: LongSession, rounds: int) -> Callable[[], object]:
    return lambda: session.memory.history.files_modified(session.session, turns=TURNS)


JOBS: dict[str, Callable[[LongSession, int], Callable[[], object]]] = {
    "state at N": LongSession.states,
    f"diff of {NEAR} events": _short_diff,
    "diff of all of it": _whole_diff,
    "fork at the middle": _fork,
    f"files of the last {TURNS} turns": _files,
}


def _spacing(session: LongSession, rounds: int, report: Report) -> Iterator[Figure]:
    """Cost of snapshots at other distances: reading, writing and storing."""
    store, usual = session.memory.store, views.SPACING
    try:
        for done, spacing in enumerate(SPACINGS):
            report("writing snapshots", done, len(SPACINGS))
            views.SPACING = spacing
            with store.db.transaction():
                store.snapshots.drop(session.number)
                rebuild = partial(
                    store.snapshots.catch_up, session.number, session.session, session.events, 0
                )
                took = timed(rebuild)
            (size,) = store.db.execute(
                "SELECT coalesce(sum(length(state)), 0) FROM snapshot WHERE session=?", (session.number,)
            ).fetchone()
            (times,) = in_turns(rounds, [session.states(rounds)], before=session.cool)
            name = f"snapshots every {spacing:,}"
            yield Figure(f"{name}: state at N", "ms", median(times) * 1e3, events=session.events)
            yield Figure(f"{name}: folding and writing", "µs an event", took / session.events * 1e6,
                         events=session.events)  # fmt: skip
            yield Figure(f"{name}: on disk", "bytes an event", size / session.events, events=session.events)
    finally:
        views.SPACING = usual
