"""The time suite: states, differences and forks of one session, however long it is.

One session of every size, read in turns with an empty page cache; flat means that the longest answers within
half as much again as the shortest. At the largest size snapshots are also kept at other distances, since what
a state costs to read is weighed against what keeping snapshots costs to write and to store.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path

from fazm_memory.bench.figures import Figure, Goal, clocked, in_turns, middle
from fazm_memory.bench.pair import append_run
from fazm_memory.bench.rows import LONG, START, STEP, Life, Run
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.config import Config
from fazm_memory.log import snapshots
from fazm_memory.memory import Memory

BATCH = 1000
FLAT = 1.5
NEAR = 100  # events between the two moments of a short difference
TURNS = 5
ROUNDS = (30, 6)  # usually, and when it must be quick
SPACINGS = (250, 1000, 4000)


@dataclass
class Long:
    """A memory with one session of so many events."""

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

    def grow(self, tell: Tell) -> None:
        """Written without syncs: how fast that goes is measured elsewhere."""
        store, life, numbers = self.memory.store, Life(self.events, batch=BATCH), dict[int, int]()
        store.db.execute("PRAGMA synchronous=off")
        done = 0
        while done < self.events:
            count = min(BATCH, self.events - done)
            append_run(store, numbers, Run(LONG, life.more(LONG, count, done)))
            done += count
            tell(f"writing {self.events:,} events", done, self.events)
        store.index_all()
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.db.execute("PRAGMA synchronous=full")
        self.number = numbers[LONG]
        row = store.db.execute("SELECT id FROM session WHERE n=?", (self.number,)).fetchone()
        self.session = str(row[0])

    def cool(self) -> None:
        self.memory.store.db.execute("PRAGMA shrink_memory")

    def states(self, rounds: int) -> Callable[[], object]:
        """The state at places as far after a snapshot in a short session as in a long one."""
        far, where = random.Random(5), random.Random(6)  # apart: how far must not depend on how long
        space = min(snapshots.SPACING, self.events)
        places = [
            where.randrange(max(1, self.events // space)) * space + far.randrange(space)
            for _ in range(rounds)
        ]
        turn = cycle(min(place, self.events) for place in places)
        store = self.memory.store
        return lambda: store.snapshots.state_at(self.number, self.session, next(turn))


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        made: list[Long] = []
        try:
            for events in sorted(options.sizes):
                made.append(Long(Path(name), events))
                made[-1].grow(tell)
            rounds = ROUNDS[options.quick]
            for what, job in JOBS.items():
                tell("reading", list(JOBS).index(what), len(JOBS))
                yield from _figures(what, made, job, rounds)
            yield from _spacing(made[-1], rounds, tell)
        finally:
            for one in made:
                one.memory.close()


def _figures(
    what: str, made: list[Long], job: Callable[[Long, int], Callable[[], object]], rounds: int
) -> Iterator[Figure]:
    def cool() -> None:
        for one in made:
            one.cool()

    taken = in_turns(rounds, [job(one, rounds) for one in made], before=cool)
    least = middle(taken[0]) * 1e3
    for nth, (one, times) in enumerate(zip(made, taken, strict=True)):
        yield Figure(
            what,
            "ms",
            middle(times) * 1e3,
            least if nth else None,
            f"the same in {made[0].events:,}" if nth else "",
            one.events,
            goal=Goal(at_most=FLAT) if nth else None,
        )


def _short_diff(one: Long, rounds: int) -> Callable[[], object]:
    return lambda: one.memory.diff(one.session, one.events - NEAR, one.events)


def _whole_diff(one: Long, rounds: int) -> Callable[[], object]:
    return lambda: one.memory.diff(one.session, 0, one.events)


def _fork(one: Long, rounds: int) -> Callable[[], object]:
    return lambda: one.memory.fork(one.session, at=one.events // 2)


def _files(one: Long, rounds: int) -> Callable[[], object]:
    return lambda: one.memory.files_modified(one.session, turns=TURNS)


JOBS: dict[str, Callable[[Long, int], Callable[[], object]]] = {
    "state at N": Long.states,
    f"diff of {NEAR} events": _short_diff,
    "diff of all of it": _whole_diff,
    "fork at the middle": _fork,
    f"files of the last {TURNS} turns": _files,
}


def _spacing(one: Long, rounds: int, tell: Tell) -> Iterator[Figure]:
    """What snapshots at other distances would cost: to read a state, to fold and keep them, to store them."""
    store, usual = one.memory.store, snapshots.SPACING
    try:
        for done, spacing in enumerate(SPACINGS):
            tell("keeping snapshots", done, len(SPACINGS))
            snapshots.SPACING = spacing
            with store.db.transaction():
                store.snapshots.drop(one.number)
                rebuild = partial(store.snapshots.catch_up, one.number, one.session, one.events, 0)
                took = clocked(rebuild)
            (size,) = store.db.execute(
                "SELECT coalesce(sum(length(state)), 0) FROM snapshot WHERE session=?", (one.number,)
            ).fetchone()
            (times,) = in_turns(rounds, [one.states(rounds)], before=one.cool)
            name = f"snapshots every {spacing:,}"
            yield Figure(f"{name}: state at N", "ms", middle(times) * 1e3, events=one.events)
            yield Figure(f"{name}: folding and keeping", "µs an event", took / one.events * 1e6,
                         events=one.events)  # fmt: skip
            yield Figure(f"{name}: on disk", "bytes an event", size / one.events, events=one.events)
    finally:
        snapshots.SPACING = usual
