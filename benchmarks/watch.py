"""Watch suite: fast creates and renames, and what a watcher knows at the end.

Each watcher is its own process, so that its time and memory can be measured: our watcher alone, our watcher
with the log and file versions, and plain watchdog. Each gets the same burst of changes. What is correct is
what is on the disk afterwards.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Goal, Options, Report

COUNT = 50_000
QUICK = 5_000
FOLDERS = 100
TIMEOUT = 120.0
POLL = 0.25  # seconds between two checks of what a watcher knows
SILENCE = 3.0  # seconds without an event after which watchdog is done
MEGABYTE = 1 << 20
ROOT = Path(__file__).parents[1]
RAW = "watchdog"
MOST_EVENTS = 1_000  # in the log, after a burst of any size


def run(options: Options, report: Report) -> Iterator[Figure]:
    count = QUICK if options.quick else COUNT
    found: dict[str, dict[str, float]] = {}
    for number, name in enumerate(WATCHERS):
        report("watching", number, len(WATCHERS))
        found[name] = watch_burst(name, count, options.folder)
    raw, ours, whole = found["raw"], found["ours"], found["whole"]

    def compare(what: str, unit: str, mine: dict[str, float], field: str, goal: Goal | None = None) -> Figure:
        return Figure(what, unit, mine[field], raw[field], RAW, events=count, goal=goal)

    yield compare("paths not known or wrong", "paths", ours, "wrong", Goal(limit=0))
    yield Figure("correct after the burst", "s", ours["seconds"], events=count)
    yield compare("processor time", "s", ours, "cpu")
    yield compare("memory at most", "MB", ours, "memory")
    yield compare("with log and versions: wrong", "paths", whole, "wrong", Goal(limit=0))
    yield Figure("with log and versions: events", "events", whole["logged"], events=count,
                 goal=Goal(limit=MOST_EVENTS))  # fmt: skip
    yield compare("with log and versions: processor", "s", whole, "cpu")
    yield compare("with log and versions: memory", "MB", whole, "memory")


def watch_burst(name: str, count: int, folder: Path | None = None) -> dict[str, float]:
    """Let one watcher see a burst of changes.

    Returns what it cost and how many paths are wrong.
    """
    place = Path(tempfile.mkdtemp(prefix="fazm-memory-burst-", dir=folder))
    root = place / "work"
    for number in range(FOLDERS):
        (root / f"d{number}").mkdir(parents=True)
    command = [sys.executable, "-m", "benchmarks.watch", name, str(root)]
    try:
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as watcher:
            if watcher.stdin is None or watcher.stdout is None:
                raise RuntimeError("the watcher has no pipes")
            watcher.stdout.readline()  # it is watching
            make_changes(root, count)
            ended = time.monotonic()
            truth = {str(path) for path in root.rglob("*") if path.is_file()}
            watcher.stdin.write(_sum(truth) + "\n")
            watcher.stdin.flush()
            cost = json.loads(watcher.stdout.readline())
            seconds = time.monotonic() - ended
            watcher.stdin.close()
            known = set(json.loads(watcher.stdout.readline()))
        return {**cost, "seconds": seconds, "wrong": float(len(known ^ truth))}
    finally:
        shutil.rmtree(place)


def make_changes(root: Path, count: int) -> None:
    """Create `count` files and rename every other one, some into another folder."""
    for number in range(count):
        path = f"{root}/d{number % FOLDERS}/f{number}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        if number % 2:
            os.rename(path, f"{root}/d{(number + number % 3) % FOLDERS}/g{number}")


def _sum(paths: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(paths)).encode()).hexdigest()


# In the watcher's process.


class KnownPaths:
    """Paths that a watcher believes to exist."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.lock = threading.Lock()
        self.last = time.monotonic()

    def apply(self, removed: Iterable[str], added: Iterable[str]) -> None:
        with self.lock:
            self.paths.difference_update(removed)
            self.paths.update(added)
            self.last = time.monotonic()

    def sum(self) -> str:
        with self.lock:
            return _sum(self.paths)


def _apply(known: KnownPaths, flush: Any) -> None:
    for sighting in flush.sightings:
        changed = sighting.changed
        removed = (
            [changed.path] if changed.change == "deleted" else [changed.origin] if changed.origin else []
        )
        known.apply(removed, [] if changed.change == "deleted" else [changed.path])


def _now() -> int:
    return time.time_ns() // 1000


def _ours(root: str, known: KnownPaths) -> Callable[[], dict[str, float]]:
    from fazm_memory.watch import FileWatcher, Scanner, ScanResult

    ready = threading.Event()

    def flushed(flush: ScanResult) -> None:
        _apply(known, flush)
        ready.set()

    watcher = FileWatcher(Scanner(_now), flushed)
    watcher.start()
    watcher.follow([root])
    ready.wait()

    def end() -> dict[str, float]:
        watcher.stop()
        return {}

    return end


def _whole(root: str, known: KnownPaths) -> Callable[[], dict[str, float]]:
    from fazm_memory.engines.redaction import Redactor
    from fazm_memory.events import Draft
    from fazm_memory.ingest import Recorder
    from fazm_memory.store import Store
    from fazm_memory.watch import WorkspaceWatcher

    home = Path(root).parent
    store = Store(home / "home", key="file")
    woken, over = threading.Event(), threading.Event()
    recorder = Recorder(store, Redactor(), _now)
    recorder.record([Draft("burst", "session.open", {"agent": "agent", "workspace": root}, agent="agent")])
    workspaces = WorkspaceWatcher(store, recorder.record, _now, user_home=home / "user", wake=woken.set)
    note = workspaces._recorder.note

    def noting(scan: Any, roots: Any) -> Any:
        result = note(scan, roots)
        _apply(known, scan)
        return result

    workspaces._recorder.note = noting  # type: ignore[method-assign]

    def work() -> None:
        while not over.is_set():
            woken.clear()
            woken.wait(min(1.0, workspaces.tick()))

    workspaces.tick()
    woken.wait()
    companion = threading.Thread(target=work)
    companion.start()

    def end() -> dict[str, float]:
        over.set()
        woken.set()
        companion.join()
        workspaces.stop()
        logged = float(store.sessions.totals()["events"])
        store.close()
        return {"logged": logged}

    return end


def _raw(root: str, known: KnownPaths) -> Callable[[], dict[str, float]]:
    """What one writes after reading the introduction of watchdog."""
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            path, to = os.fsdecode(event.src_path), os.fsdecode(event.dest_path)
            if event.is_directory:
                return
            if event.event_type == "moved":
                known.apply([path], [to])
            elif event.event_type == "deleted":
                known.apply([path], [])
            elif event.event_type == "created":
                known.apply([], [path])

    observer = Observer()
    observer.schedule(Handler(), root, recursive=True)
    observer.start()

    def end() -> dict[str, float]:
        observer.stop()
        observer.join()
        return {}

    return end


WATCHERS: dict[str, Callable[[str, KnownPaths], Callable[[], dict[str, float]]]] = {
    "raw": _raw,
    "ours": _ours,
    "whole": _whole,
}


def watch(name: str, root: str) -> None:
    """Watch until stdin names the correct result, then print cost and paths."""
    known = KnownPaths()
    end = WATCHERS[name](root, known)
    print("watching", flush=True)
    truth = sys.stdin.readline().strip()
    deadline = time.monotonic() + TIMEOUT
    while known.sum() != truth and time.monotonic() < deadline:
        if name == "raw" and time.monotonic() - known.last > SILENCE:
            break
        time.sleep(POLL)
    more = end()
    spent = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1024  # macOS reports bytes, Linux kilobytes
    cost = {"cpu": spent.ru_utime + spent.ru_stime, "memory": spent.ru_maxrss * unit / MEGABYTE, **more}
    print(json.dumps(cost), flush=True)
    print(json.dumps(sorted(known.paths)), flush=True)


if __name__ == "__main__":
    watch(sys.argv[1], sys.argv[2])
