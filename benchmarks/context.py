"""Context suite: contexts and session starts beside a growing log.

Neither should depend on the length of the log.

Every store has the same last two days after a past of different length, so only the cost of the past differs.
All stores are written first, then read in turns with an empty page cache. The baseline of a start is
`true`.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.events import START, STEP, Batch, Workload
from benchmarks.figures import Figure, Goal, Options, Report, in_turns
from benchmarks.stores import append_batch
from fazm_memory.agents import hook_script
from fazm_memory.app import Memory
from fazm_memory.config import Config

FLAT = 1.5
BATCH = 1000
BATCHES = 40  # at least, in the shortest past
LATELY = 1000  # events of the last two days
DAY = 86_400_000_000
AFTER = 3 * DAY  # between the past and the last two days
SESSION_OFFSET = 1_000_000  # keeps sessions of the last two days apart from older ones
MOST_TRUES = 30  # a session start, in times of `true`


@dataclass
class PastStore:
    """A memory with a past of `events` events, then two days that all share."""

    folder: Path
    events: int
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        home = self.folder / f"of-{self.events}"
        home.mkdir(mode=0o700)
        self.memory = Memory(Config(home=home, user_home=home, key="file"), self._now)

    def _now(self) -> int:
        return START + self.events * STEP + AFTER + 2 * DAY

    def write(self, report: Report) -> None:
        """Write the events, without syncs: the log suite measures writing."""
        store, numbers, done = self.memory.store, dict[int, int](), 0
        store.db.execute("PRAGMA synchronous=off")
        # Even a short past needs the six older sessions that a context shows.
        for batch in Workload(self.events, batch_size=min(BATCH, self.events // BATCHES or 1)).batches():
            append_batch(store, numbers, batch)
            done += len(batch.entries)
            report(f"writing {self.events:,} events", done, self.events)
        for batch in Workload(LATELY, seed=LATELY).batches():
            late = self.events * STEP + AFTER
            entries = [
                replace(entry, at=entry.at + late, key=None if entry.key is None else f"late:{entry.key}")
                for entry in batch.entries
            ]
            append_batch(store, numbers, Batch(batch.session + SESSION_OFFSET, entries))
        store.index_all()
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.db.execute("PRAGMA synchronous=full")

    def cool(self) -> None:
        self.memory.store.db.execute("PRAGMA shrink_memory")


def run(options: Options, report: Report) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        stores: list[PastStore] = []
        try:
            for events in sorted(options.sizes):
                stores.append(PastStore(Path(name), events))
                stores[-1].write(report)
            yield from _contexts(stores, 5 if options.quick else 15)
            yield from _starts(stores, 10 if options.quick else 40)
        finally:
            for store in stores:
                store.memory.close()


def _contexts(stores: list[PastStore], rounds: int) -> Iterator[Figure]:
    def cool() -> None:
        for store in stores:
            store.cool()

    taken = in_turns(rounds, [partial(store.memory.recall.context, None) for store in stores], before=cool)
    baseline = median(taken[0]) * 1e3
    for store, times in zip(stores, taken, strict=True):
        yield _figure("context, rendered", "ms", store, median(times) * 1e3, baseline, stores[0])


def _figure(
    what: str, unit: str, store: PastStore, ours: float, baseline: float, smallest: PastStore
) -> Figure:
    against = f"the same at {smallest.events:,}"
    return Figure(what, unit, ours, baseline, against, store.events, goal=Goal(at_most=FLAT))


def _starts(stores: list[PastStore], rounds: int) -> Iterator[Figure]:
    """Session starts: the real hook, run as an agent runs it."""
    jobs = [partial(_run, ["true"])]
    for store in stores:
        home = store.memory.config.home
        store.memory.recall.export_contexts()
        script = hook_script.write(home)
        jobs.append(partial(_run, [str(script), "claude-code", "answer"]))
    taken = [median(times) * 1e3 for times in in_turns(rounds, jobs)]
    for store, ours in zip(stores, taken[1:], strict=True):
        goal = Goal(at_most=MOST_TRUES)
        yield Figure("session start", "ms", ours, taken[0], "true", store.events, goal=goal)
    for store, ours in zip(stores, taken[1:], strict=True):
        yield _figure("session start", "ms", store, ours, taken[1], stores[0])


def _run(command: list[str]) -> None:
    event = {"hook_event_name": "SessionStart", "session_id": "bench", "cwd": "/", "source": "startup"}
    subprocess.run(
        command,
        input=json.dumps(event).encode(),
        stdout=subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", ""), "HOME": "/"},
        check=True,
    )
