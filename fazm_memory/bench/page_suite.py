"""The page in a real browser, over a large store and over one of a thousand events: it should feel the same.

The server is `fazm-memory timeline` as people start it. What is measured is what they wait for: the first
rows, a search, a jump, a zoom; and what makes a page stutter or grow: long tasks, frames that were dropped,
elements, memory that scripts hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fazm_memory.bench.chromium import chromium, find_chromium
from fazm_memory.bench.figures import Figure, Goal
from fazm_memory.bench.page_visit import Visit, better, visit
from fazm_memory.bench.pair import append_run
from fazm_memory.bench.rows import LONG, Life
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.errors import FazmMemoryError
from fazm_memory.log.store import Store

SMALL = 1000
FLAT = 2.0  # times what the small store takes; both are a few frames, so that less says nothing
ROUNDS = (5, 2)


@dataclass(frozen=True)
class Grown:
    """A store for the page: where it is, and its longest session."""

    home: Path
    session: str
    head: int


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    find_chromium()  # before anything is built
    largest = max(options.sizes)
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        stores = [_grow(Path(name), events, tell) for events in (SMALL, largest)]
        # In turns, there and back, and the better of the two: what else the machine does only adds.
        visits: list[Visit] = []
        for store in (*stores, *reversed(stores)):
            tell("looking at the page", len(visits), 2 * len(stores))
            with _served(store.home) as address, chromium() as tab:
                visits.append(visit(tab, address, store.session, store.head, ROUNDS[options.quick]))
        yield from _figures(better(visits[0], visits[3]), better(visits[1], visits[2]), largest)


def _grow(folder: Path, events: int, tell: Tell) -> Grown:
    home = folder / f"of-{events}"
    home.mkdir(mode=0o700)
    store = Store(home, key="file")
    try:
        store.db.execute("PRAGMA synchronous=off")  # how fast writing goes is measured elsewhere
        numbers: dict[int, int] = {}
        done = 0
        for one in Life(events).runs():
            append_run(store, numbers, one)
            done += len(one.entries)
            tell(f"writing {events:,} events", done, events)
        store.index_all()
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        row = next(row for row in store.sessions.listing(limit=1000) if row.n == numbers[LONG])
        return Grown(home, row.id, row.head)
    finally:
        store.close()


@contextmanager
def _served(home: Path) -> Iterator[str]:
    """The page's one-time address while the block lasts."""
    command = [sys.executable, "-m", "fazm_memory.cli.main", "timeline", "--no-open", "--port", "0"]
    env = {**os.environ, "FAZM_MEMORY_HOME": str(home), "FAZM_MEMORY_KEY": "file"}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            found = next((word for word in line.split() if urlsplit(word).scheme == "http"), None)
            if found:
                yield found
                return
        raise FazmMemoryError(f"the page's server did not start: {''.join(said)[-400:]}")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _figures(small: Visit, large: Visit, events: int) -> Iterator[Figure]:
    flat = Goal(at_most=FLAT)
    for what, unit, ours, floor in (
        ("first rows", "ms", large.first, small.first),
        ("jump to an event", "ms", large.jump, small.jump),
        ("search, a word in 40 %", "ms", large.search, small.search),
        ("zoom of the lanes", "ms", large.zoom, small.zoom),
        ("scroll, a frame", "ms", large.frame, small.frame),
        ("elements", "", large.elements, small.elements),
        ("memory of scripts", "MB", large.heap / 1e6, small.heap / 1e6),
    ):
        yield Figure(what, unit, ours, floor, f"the same at {SMALL:,} events", events, goal=flat)
    # Of these a small store often has none at all, and a ratio would say nothing.
    for what, unit, ours, floor in (
        ("longest task while used", "ms", large.longest, small.longest),
        ("frames dropped in a scroll", "%", large.dropped, small.dropped),
        ("rows scrolled over", "", large.scrolled, small.scrolled),
    ):
        yield Figure(what, unit, ours, floor, f"the same at {SMALL:,} events", events)
