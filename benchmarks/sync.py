"""Sync suite: first sync, catching up, bytes on the wire, requests and memory.

It runs over SeaweedFS, a real object store, if it is installed, and over a folder. Three baselines are taken
in the same run. The payloads written plainly to the same engine, by the clock. The sealed bytes that a first
sync wrote, written again: what the engine itself takes. And, in processor time, the payloads read from the
encrypted log, compressed and written durably: nothing that syncs this log can do with less. A folder is in
the page cache, so that plain writing there is little more than a copy in memory; no goal is set on it.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import zstandard

from benchmarks.events import START, STEP, Workload
from benchmarks.figures import Figure, Goal, Options, Report
from benchmarks.object_store import BIN, CREDENTIALS, OPTIONS, seaweedfs, serve
from benchmarks.stores import append_batch
from fazm_memory.app import Memory
from fazm_memory.config import Config
from fazm_memory.store import unpack
from fazm_memory.sync import open_transport
from fazm_memory.sync.transports import Meter

OBJECT = 8 << 20  # bytes of an object of the baseline
ROUNDS = 100  # active rounds whose requests are counted


@dataclass(frozen=True)
class Taken:
    """Seconds by the clock, and of the processor."""

    clock: float = 0.0
    processor: float = 0.0

    def __add__(self, other: Taken) -> Taken:
        return Taken(self.clock + other.clock, self.processor + other.processor)


def run(options: Options, report: Report) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for events in options.sizes:
            place = Path(folder) / f"of-{events}"
            yield from _size(place, {"folder": str(place / "shared")}, events, report, engine="folder")
            if not (BIN / "weed").exists():
                continue
            with serve(seaweedfs, Path(folder) / f"server-{events}") as url:
                where = {"url": url, "options": OPTIONS}
                yield from _size(Path(folder) / f"s3-{events}", where, events, report, engine="SeaweedFS")


def _memory(folder: Path, events: int) -> Memory:
    config = Config(home=folder / "memory", user_home=folder, key="file")
    return Memory(config, lambda: START + events * STEP)


def _size(
    folder: Path, place: dict[str, Any], events: int, report: Report, *, engine: str
) -> Iterator[Figure]:
    real = engine != "folder"
    (folder / "shared").mkdir(parents=True)
    first, second = _memory(folder / "first", events), _memory(folder / "second", events)
    with mock.patch.dict(os.environ, CREDENTIALS):
        where: dict[str, Any] = {name: place.get(name) for name in ("folder", "url")}
        recovery = first.sync.init(**where, name="first")["recovery_key"]
    numbers: dict[int, int] = {}
    done = 0
    recorded = Taken()
    for batch in Workload(events, batch_size=1000).batches():
        recorded += measured(append_batch, first.store, numbers, batch)
        done += len(batch.entries)
        report(f"writing {events:,} events", done, events)
    recorded += measured(first.store.index_all)
    objects = list(_plain_objects(first))
    transport = open_transport(place)
    plain = measured(lambda: [transport.put(f"plain{nth}", data) for nth, data in enumerate(objects)])
    floor = measured(
        lambda: [
            transport.put(f"packed{nth}", zstandard.ZstdCompressor(level=3).compress(data))
            for nth, data in enumerate(_plain_objects(first))
        ]
    )
    report(f"first sync, {engine}", 0, 1)
    sealed: list[bytes] = []
    with mock.patch.object(Meter, "put", _noting(sealed)):
        upload = measured(first.sync.round)
    wire = first.sync.status()["totals"]["sent"]
    again = measured(lambda: [transport.put(f"sealed{nth}", data) for nth, data in enumerate(sealed)])
    compressor = zstandard.ZstdCompressor(level=3)
    packed = sum(len(compressor.compress(data)) for data in objects)
    report(f"catching up, {engine}", 0, 1)
    with mock.patch.dict(os.environ, CREDENTIALS):
        download = measured(lambda: second.sync.join(recovery=recovery, **where, name="second"))

    def figure(what: str, ours: float, theirs: float, against: str, goal: Goal | None = None) -> Figure:
        per = 1e6 / events
        against = f"{against} ({engine})"
        return Figure(what, "µs an event", ours * per, theirs * per, against, events, "share", goal)

    half = Goal(at_least=0.5)
    plainly = "writing the same payloads plainly to the same engine"
    first_sync = "first sync, by the clock"
    yield figure(first_sync, upload.clock, plain.clock, plainly, half if real else None)
    yield figure(first_sync, upload.clock, again.clock, "writing the same sealed bytes")
    least = "reading, compressing and writing the same payloads durably"
    yield figure("first sync, processor time", upload.processor, floor.processor, least, half)
    same = "recording the same events on that machine"
    yield figure("catch-up, processor time", download.processor, recorded.processor, same, half)
    yield figure("catch-up, by the clock", download.clock, recorded.clock, same)
    compressed = "the payloads, zstd-compressed"
    bound = Goal(at_most=1.2)
    wired = wire / events
    yield Figure("bytes on the wire", "bytes", wired, packed / events, compressed, events, goal=bound)
    yield from _requests(first, second, numbers, events, report)
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    yield Figure("peak memory of the whole run", "MB", peak / 1e6, events=events)
    for memory in (first, second):
        memory.close()


def measured(job: Callable[..., object], *arguments: Any) -> Taken:
    """Run the job once.

    Returns what it took by the clock, and of the processor in this process.
    """
    clock, processor = time.perf_counter(), time.process_time()
    job(*arguments)
    return Taken(time.perf_counter() - clock, time.process_time() - processor)


def _noting(sealed: list[bytes]) -> Callable[[Meter, str, bytes], str]:
    """`Meter.put`, which also notes what is put."""
    put = Meter.put

    def noted(meter: Meter, name: str, data: bytes) -> str:
        sealed.append(data)
        return put(meter, name, data)

    return noted


def _plain_objects(memory: Memory) -> Iterator[bytes]:
    """The payloads of the whole log in objects."""
    chunk: list[bytes] = []
    size = 0
    for (stored,) in memory.store.db.execute("SELECT payload FROM event ORDER BY id"):
        chunk.append(unpack(stored))
        size += len(chunk[-1])
        if size >= OBJECT:
            yield b"".join(chunk)
            chunk, size = [], 0
    yield b"".join(chunk)


def _requests(
    first: Memory, second: Memory, numbers: dict[int, int], events: int, report: Report
) -> Iterator[Figure]:
    """Requests of a round with nothing new, and of one with an event, on both sides."""
    session = first.store.sessions.numbered([numbers[0]])[0].id
    sent = received = 0
    first.sync.round()
    second.sync.round()
    for nth in range(ROUNDS):
        report("active rounds", nth, ROUNDS)
        first.sessions.append(session, "decision", what=f"decision {nth}")
        sent += _count(first)
        received += _count(second)
    first.sync.round()
    goal = Goal(limit=8)
    yield Figure("requests, one event to send", "requests", sent / ROUNDS, events=events, goal=goal)
    yield Figure("requests, one event to receive", "requests", received / ROUNDS, events=events, goal=goal)
    yield Figure("requests, nothing new", "requests", _count(first), events=events, goal=Goal(limit=1))


def _count(memory: Memory) -> int:
    requests = memory.sync.round(acknowledge=False)["requests"]
    return sum(count for name, count in requests.items() if name in ("puts", "gets", "lists", "deletes"))
