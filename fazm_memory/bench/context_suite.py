"""The context suite: rendering a context and starting a session cost the same, however long the log is.

All stores are made first and read in turns with an empty page cache. The floor of a start is `/bin/true`.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from fazm_memory.bench.figures import Figure, Goal, in_turns, middle
from fazm_memory.bench.pair import Pair
from fazm_memory.bench.rows import START, STEP
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.capture import hook_script
from fazm_memory.config import Config
from fazm_memory.memory import Memory

FLAT = 1.5
STARTS = 30  # times /bin/true


class Reader(Memory):
    """The façade over a store that is open already."""

    def __init__(self, pair: Pair) -> None:
        home = pair.store.home
        super().__init__(Config(home=home, user_home=home, key="file"), lambda: START + pair.life.made * STEP)
        self.__dict__["store"] = pair.store


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        pairs: list[Pair] = []
        try:
            for events in sorted(options.sizes):
                pairs.append(Pair(Path(name), events))
                pairs[-1].grow(tell)
            yield from _contexts(pairs, 5 if options.quick else 15)
            yield from _starts(pairs, 10 if options.quick else 40)
        finally:
            for pair in pairs:
                pair.close()


def _contexts(pairs: list[Pair], rounds: int) -> Iterator[Figure]:
    readers = [Reader(pair) for pair in pairs]

    def cool() -> None:
        for pair in pairs:
            pair.cool()

    taken = in_turns(rounds, [partial(one.context, None) for one in readers], before=cool)
    floor = middle(taken[0]) * 1e3
    for pair, times in zip(pairs, taken, strict=True):
        yield _figure("context, rendered", "ms", pair, middle(times) * 1e3, floor, pairs[0])


def _figure(what: str, unit: str, pair: Pair, ours: float, floor: float, smallest: Pair) -> Figure:
    against = f"the same at {smallest.events:,}"
    return Figure(what, unit, ours, floor, against, pair.events, goal=Goal(at_most=FLAT))


def _starts(pairs: list[Pair], rounds: int) -> Iterator[Figure]:
    """A session starts: the real hook, run as an agent runs it."""
    jobs = [partial(_run, ["/bin/true"])]
    for pair in pairs:
        home = pair.store.home
        Reader(pair).export_contexts()
        script = hook_script.write(home)
        jobs.append(partial(_run, [str(script), "claude-code", "answer"]))
    taken = [middle(times) * 1e3 for times in in_turns(rounds, jobs)]
    for pair, ours in zip(pairs, taken[1:], strict=True):
        goal = Goal(at_most=STARTS)
        yield Figure("session start", "ms", ours, taken[0], "/bin/true", pair.events, goal=goal)
    for pair, ours in zip(pairs, taken[1:], strict=True):
        yield _figure("session start", "ms", pair, ours, taken[1], pairs[0])


def _run(command: list[str]) -> None:
    event = {"hook_event_name": "SessionStart", "session_id": "bench", "cwd": "/", "source": "startup"}
    subprocess.run(
        command,
        input=json.dumps(event).encode(),
        stdout=subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", ""), "HOME": "/"},
        check=True,
    )
