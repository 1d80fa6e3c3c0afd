"""Importing a long history: how fast, in how much memory, and how soon yesterday can be read.

A process of its own does what `fazm-memory import` does, so that its memory is its own. The floor reads the
same lines and parses them as JSON, and does nothing with them.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fazm_memory.bench.figures import Figure, Goal
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.bench.transcripts import History, write_history

SIZE = 1_000_000_000
QUICK_SIZE = 20_000_000
FLOOR_SIZE = 100_000_000
MEGABYTE = 1_000_000
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
READABLE_SECONDS = 10.0
PEAK_MEGABYTES = 200.0


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    size = QUICK_SIZE if options.quick else SIZE
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        folder = Path(name)
        writing = f"writing {size // MEGABYTE:,} MB of transcripts"
        history = write_history(folder / "user", size, NOW, lambda done: tell(writing, done, size))
        first = _import(folder, history, tell)
        again = _import(folder, history, tell)
        floor = _floor_speed(folder / "user")
    megabytes, events = history.bytes / MEGABYTE, int(first["events"])
    what = f"import {megabytes:,.0f} MB in {history.files:,} sessions"
    yield Figure(what, "MB/s", megabytes / first["seconds"], events=events)
    yield Figure(
        "the same, by processor time", "MB/s", megabytes / first["cpu"], floor,
        "reading the lines and parsing them", events,
    )  # fmt: skip
    soon = Goal(limit=READABLE_SECONDS)
    yield Figure("until yesterday is readable", "s", first["yesterday"], events=events, goal=soon)
    yield Figure(
        "peak memory of the import", "MB", first["peak"], first["start"], "the program before it",
        events, goal=Goal(limit=PEAK_MEGABYTES),
    )  # fmt: skip
    yield Figure("import again, nothing new", "s", again["seconds"], events=int(again["events"]))


def _import(folder: Path, history: History, tell: Tell) -> dict[str, float]:
    """Import in a process of its own; what it measured."""
    command = [sys.executable, "-m", "fazm_memory.bench.importing", str(folder)]
    command += [str(path) for path in history.yesterday]
    told: dict[str, Any] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            tell("importing, MB", int(told["bytes"]) // MEGABYTE, history.bytes // MEGABYTE)
    if process.returncode != 0:
        raise RuntimeError(f"the import ended with {process.returncode}")
    return told


def _floor_speed(home: Path) -> float:
    """MB per second of processor time of reading and parsing alone, over enough of the files."""
    chosen, size = [], 0
    for path in sorted(home.rglob("*.jsonl")):
        chosen.append(path)
        size += path.stat().st_size
        if size >= FLOOR_SIZE:
            break
    began = time.process_time()
    _parse(chosen)
    return size / MEGABYTE / (time.process_time() - began)


def _parse(paths: Sequence[Path]) -> None:
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                json.loads(line)


# -- the process that imports ----------------------------------------------------------------------------


def import_and_tell(folder: Path, yesterday: Sequence[Path]) -> None:
    """Import what is in the folder's home, and print what was measured after every wave."""
    from fazm_memory.backfill import backfill
    from fazm_memory.config import Config
    from fazm_memory.memory import Memory
    from fazm_memory.model.clock import micros

    memory = Memory(Config(folder / "home", folder / "user", key="file"), lambda: micros(NOW))
    start = _peak()
    began = time.monotonic()
    work = backfill(memory)
    told: dict[str, float] = {"start": start, "yesterday": 0.0, "bytes": 0, "events": 0, "seconds": 0.0}
    for tally in work.waves:
        told["bytes"] += tally.bytes
        told["events"] += tally.events
        if not told["yesterday"] and _all_read(memory, yesterday):
            # Readable is: a new session would be given it, and somebody can look for a word of it.
            memory.context()
            memory.search("invoice", limit=5)
            told["yesterday"] = time.monotonic() - began
        _print(told, began)
    memory.store.index_all()
    _print(told, began)
    memory.close()


def _all_read(memory: Any, paths: Sequence[Path]) -> bool:
    marks = ",".join("?" * len(paths))
    query = f"SELECT count(*) FROM cursor WHERE path IN ({marks}) AND size >= 0"
    return bool(memory.store.db.execute(query, [str(path) for path in paths]).fetchone()[0] == len(paths))


def _print(told: dict[str, float], began: float) -> None:
    told |= {"seconds": time.monotonic() - began, "cpu": time.process_time(), "peak": _peak()}
    print(json.dumps(told), flush=True)


def _peak() -> float:
    """The most memory this process has had, in MB. macOS counts in bytes, Linux in kilobytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MEGABYTE if sys.platform == "darwin" else most * 1024 / MEGABYTE


if __name__ == "__main__":
    import_and_tell(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]])
