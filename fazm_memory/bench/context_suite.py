"""The context suite: rendering a context and starting a session cost the same, however long the log is.

Every store has the same last two days behind a past of another length, so that what is measured is the price
of the past alone. All are made first and read in turns with an empty page cache. The floor of a start is
`/bin/true`.
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

from fazm_memory.bench.figures import Figure, Goal, in_turns, middle
from fazm_memory.bench.pair import append_run
from fazm_memory.bench.rows import START, STEP, Life, Run
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.capture import hook_script
from fazm_memory.config import Config
from fazm_memory.memory import Memory

FLAT = 1.5
BATCH = 1000
RUNS = 40  # of the shortest past
LATELY = 1000  # events of the last two days
DAY = 86_400_000_000
AFTER = 3 * DAY  # between the past and the last two days
APART = 1_000_000  # sessions of the last two days are none of the past
STARTS = 30  # times /bin/true


@dataclass
class Past:
    """A memory with a past of so many events, and two days after it that are the same in all of them."""

    folder: Path
    events: int
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        home = self.folder / f"of-{self.events}"
        home.mkdir(mode=0o700)
        self.memory = Memory(Config(home=home, user_home=home, key="file"), self._now)

    def _now(self) -> int:
        return START + self.events * STEP + AFTER + 2 * DAY

    def grow(self, tell: Tell) -> None:
        """Written without syncs: how fast that goes is measured elsewhere."""
        store, numbers, done = self.memory.store, dict[int, int](), 0
        store.db.execute("PRAGMA synchronous=off")
        # A short past has as many sessions as a context tells of, too: no fewer than six of older days.
        for run_ in Life(self.events, batch=min(BATCH, self.events // RUNS or 1)).runs():
            append_run(store, numbers, run_)
            done += len(run_.entries)
            tell(f"writing {self.events:,} events", done, self.events)
        for run_ in Life(LATELY, seed=LATELY).runs():
            late = self.events * STEP + AFTER
            entries = [
                replace(one, at=one.at + late, key=None if one.key is None else f"late:{one.key}")
                for one in run_.entries
            ]
            append_run(store, numbers, Run(run_.session + APART, entries))
        store.index_all()
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.db.execute("PRAGMA synchronous=full")

    def cool(self) -> None:
        self.memory.store.db.execute("PRAGMA shrink_memory")


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        made: list[Past] = []
        try:
            for events in sorted(options.sizes):
                made.append(Past(Path(name), events))
                made[-1].grow(tell)
            yield from _contexts(made, 5 if options.quick else 15)
            yield from _starts(made, 10 if options.quick else 40)
        finally:
            for one in made:
                one.memory.close()


def _contexts(made: list[Past], rounds: int) -> Iterator[Figure]:
    def cool() -> None:
        for one in made:
            one.cool()

    taken = in_turns(rounds, [partial(one.memory.context, None) for one in made], before=cool)
    floor = middle(taken[0]) * 1e3
    for one, times in zip(made, taken, strict=True):
        yield _figure("context, rendered", "ms", one, middle(times) * 1e3, floor, made[0])


def _figure(what: str, unit: str, one: Past, ours: float, floor: float, smallest: Past) -> Figure:
    against = f"the same at {smallest.events:,}"
    return Figure(what, unit, ours, floor, against, one.events, goal=Goal(at_most=FLAT))


def _starts(made: list[Past], rounds: int) -> Iterator[Figure]:
    """A session starts: the real hook, run as an agent runs it."""
    jobs = [partial(_run, ["/bin/true"])]
    for one in made:
        home = one.memory.config.home
        one.memory.export_contexts()
        script = hook_script.write(home)
        jobs.append(partial(_run, [str(script), "claude-code", "answer"]))
    taken = [middle(times) * 1e3 for times in in_turns(rounds, jobs)]
    for one, ours in zip(made, taken[1:], strict=True):
        goal = Goal(at_most=STARTS)
        yield Figure("session start", "ms", ours, taken[0], "/bin/true", one.events, goal=goal)
    for one, ours in zip(made, taken[1:], strict=True):
        yield _figure("session start", "ms", one, ours, taken[1], made[0])


def _run(command: list[str]) -> None:
    event = {"hook_event_name": "SessionStart", "session_id": "bench", "cwd": "/", "source": "startup"}
    subprocess.run(
        command,
        input=json.dumps(event).encode(),
        stdout=subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", ""), "HOME": "/"},
        check=True,
    )
