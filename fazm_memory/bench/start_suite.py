"""Starting, which a person waits for before anything happens; scrubbing, which every event goes through."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from fazm_memory.bench.figures import Figure, Goal, in_turns, middle
from fazm_memory.bench.rows import Life
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.capture.scrub import Scrubber
from fazm_memory.model import codec

KILOBYTE = 1024


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    yield _version(5 if options.quick else 15, tell)
    yield _scrubbing(200 if options.quick else 1000, tell)


def _version(rounds: int, tell: Tell) -> Figure:
    tell("starting the program", 0, 1)
    command = [sys.executable, "-m", "fazm_memory.cli.main", "--version"]
    jobs = [lambda: _started(command), lambda: _started([sys.executable, "-c", "pass"])]
    ours, bare = in_turns(rounds, jobs)
    return Figure("fazm-memory --version", "ms", middle(ours) * 1e3, middle(bare) * 1e3, "python -c pass",
                  goal=Goal(at_most=4))  # fmt: skip


def _started(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _scrubbing(count: int, tell: Tell) -> Figure:
    """The same payloads scrubbed, and only turned into JSON and back: one look at every value."""
    tell("scrubbing", 0, 1)
    life = Life(count)
    values = [codec.encode(entry.payload) for one in life.runs() for entry in one.entries]
    size = sum(len(json.dumps(value)) for value in values) / KILOBYTE
    scrubber = Scrubber()
    ours, bare = in_turns(3, [lambda: [*map(scrubber.value, values)], lambda: [*map(_round_trip, values)]])
    return Figure("scrub", "µs a KB", middle(ours) / size * 1e6, middle(bare) / size * 1e6, "JSON and back")


def _round_trip(value: object) -> object:
    return json.loads(json.dumps(value))
