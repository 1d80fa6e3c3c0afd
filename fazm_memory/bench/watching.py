"""Watching a storm: files made and renamed as fast as the disk allows, and what a watcher knows in the end.

Each watcher is a process of its own, so that its time and memory are its own: ours alone, ours with the log
and the versions behind it, and watchdog as it comes. The storm is the same for all of them, and the truth is
what lies on the disk when it is over.
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

from fazm_memory.bench.figures import Figure, Goal
from fazm_memory.bench.suites import Options, Tell

COUNT = 50_000
QUICK = 5_000
FOLDERS = 100
PATIENCE = 120.0
LOOK = 0.25  # seconds between two looks at what a watcher knows
SILENCE = 3.0  # seconds without an event after which watchdog has said all it will
MEGABYTE = 1 << 20
RAW = "watchdog"
MOST_EVENTS = 1_000  # in the log, of a storm of any size


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    count = QUICK if options.quick else COUNT
    found: dict[str, dict[str, float]] = {}
    for number, name in enumerate(WATCHERS):
        tell("watching a storm", number, len(WATCHERS))
        found[name] = storm(name, count, options.folder)
    raw, ours, whole = found["raw"], found["ours"], found["whole"]

    def beside(what: str, unit: str, mine: dict[str, float], field: str, goal: Goal | None = None) -> Figure:
        return Figure(what, unit, mine[field], raw[field], RAW, events=count, goal=goal)

    yield beside("paths not known or wrong", "paths", ours, "wrong", Goal(limit=0))
    yield Figure("true after the storm", "s", ours["seconds"], events=count)
    yield beside("processor time", "s", ours, "cpu")
    yield beside("memory at most", "MB", ours, "memory")
    yield beside("with log and versions: wrong", "paths", whole, "wrong", Goal(limit=0))
    yield Figure("with log and versions: events", "events", whole["logged"], events=count,
                 goal=Goal(limit=MOST_EVENTS))  # fmt: skip
    yield beside("with log and versions: processor", "s", whole, "cpu")
    yield beside("with log and versions: memory", "MB", whole, "memory")


def storm(name: str, count: int, folder: Path | None = None) -> dict[str, float]:
    """Let one watcher see a storm; what it then knows, and what that took."""
    place = Path(tempfile.mkdtemp(prefix="fazm-storm-", dir=folder))
    root = place / "work"
    for number in range(FOLDERS):
        (root / f"d{number}").mkdir(parents=True)
    command = [sys.executable, "-m", "fazm_memory.bench.watching", name, str(root)]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as watcher:
            if watcher.stdin is None or watcher.stdout is None:
                raise RuntimeError("the watcher has no pipes")
            watcher.stdout.readline()  # it watches
            make_storm(root, count)
            ended = time.monotonic()
            truth = {str(path) for path in root.rglob("*") if path.is_file()}
            watcher.stdin.write(_sum(truth) + "\n")
            watcher.stdin.flush()
            told = json.loads(watcher.stdout.readline())
            seconds = time.monotonic() - ended
            watcher.stdin.close()
            known = set(json.loads(watcher.stdout.readline()))
        return {**told, "seconds": seconds, "wrong": float(len(known ^ truth))}
    finally:
        shutil.rmtree(place)


def make_storm(root: Path, count: int) -> None:
    """So many files, every other of them renamed once it is there, some of those into another folder."""
    for number in range(count):
        path = f"{root}/d{number % FOLDERS}/f{number}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        if number % 2:
            os.rename(path, f"{root}/d{(number + number % 3) % FOLDERS}/g{number}")


def _sum(paths: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(paths)).encode()).hexdigest()


# -- in the watcher's process ----------------------------------------------------------------------------


class Known:
    """The paths a watcher believes in."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.lock = threading.Lock()
        self.last = time.monotonic()

    def apply(self, gone: Iterable[str], come: Iterable[str]) -> None:
        with self.lock:
            self.paths.difference_update(gone)
            self.paths.update(come)
            self.last = time.monotonic()

    def sum(self) -> str:
        with self.lock:
            return _sum(self.paths)


def _sighted(known: Known, flush: Any) -> None:
    for one in flush.sightings:
        changed = one.changed
        gone = [changed.path] if changed.change == "deleted" else [changed.origin] if changed.origin else []
        known.apply(gone, [] if changed.change == "deleted" else [changed.path])


def _now() -> int:
    return time.time_ns() // 1000


def _ours(root: str, known: Known) -> Callable[[], dict[str, float]]:
    from fazm_memory.capture.files import FileWatcher
    from fazm_memory.capture.looking import Flush, Looker

    ready = threading.Event()

    def told(flush: Flush) -> None:
        _sighted(known, flush)
        ready.set()

    watcher = FileWatcher(Looker(_now), told)
    watcher.start()
    watcher.follow([root])
    ready.wait()

    def end() -> dict[str, float]:
        watcher.stop()
        return {}

    return end


def _whole(root: str, known: Known) -> Callable[[], dict[str, float]]:
    from fazm_memory.capture.recorder import Recorder
    from fazm_memory.capture.scrub import Scrubber
    from fazm_memory.capture.workspaces import Workspaces
    from fazm_memory.log.store import Store

    home = Path(root).parent
    store = Store(home / "home", key="file")
    woken, over = threading.Event(), threading.Event()
    workspaces = Workspaces(store, Recorder(store, Scrubber(), _now).record, _now,
                            user_home=home / "user", added=[root], wake=woken.set)  # fmt: skip
    note = workspaces._keeper.note

    def noting(flush: Any, roots: Any) -> Any:
        made = note(flush, roots)
        _sighted(known, flush)
        return made

    workspaces._keeper.note = noting  # type: ignore[method-assign]

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


def _raw(root: str, known: Known) -> Callable[[], dict[str, float]]:
    """What one writes after reading watchdog's front page."""
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


WATCHERS: dict[str, Callable[[str, Known], Callable[[], dict[str, float]]]] = {
    "raw": _raw,
    "ours": _ours,
    "whole": _whole,
}


def watch(name: str, root: str) -> None:
    """Watch until told what the truth is, then say what is known, and what it took."""
    known = Known()
    end = WATCHERS[name](root, known)
    print("watching", flush=True)
    truth = sys.stdin.readline().strip()
    deadline = time.monotonic() + PATIENCE
    while known.sum() != truth and time.monotonic() < deadline:
        if name == "raw" and time.monotonic() - known.last > SILENCE:
            break
        time.sleep(LOOK)
    more = end()
    spent = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1024  # where it counts in kilobytes
    told = {"cpu": spent.ru_utime + spent.ru_stime, "memory": spent.ru_maxrss * unit / MEGABYTE, **more}
    print(json.dumps(told), flush=True)
    print(json.dumps(sorted(known.paths)), flush=True)


if __name__ == "__main__":
    watch(sys.argv[1], sys.argv[2])
