"""Import suite: importing a long history.

How fast, in how much memory, how soon yesterday can be read.

A child process does what `fazm-memory import` does, so that its memory can be measured. The baseline reads
the same lines and parses them as JSON. The transcripts are generated, the same every time: sessions of about
two megabytes, three a day, back from yesterday, in the format of Claude Code.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Goal, Options, Report

SIZE = 1_000_000_000
QUICK_SIZE = 20_000_000
BASELINE_SIZE = 100_000_000
MEGABYTE = 1_000_000
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
READABLE_SECONDS = 10.0
PEAK_MEGABYTES = 200.0
ROOT = Path(__file__).parents[1]
SESSION_BYTES = 2_000_000
SESSIONS_A_DAY = 3
WORKSPACES = 20
WORDS = (
    "invoice", "scan", "report", "photo", "draft", "final", "budget", "march", "april", "rename", "move",
    "folder", "archive", "client", "ledger", "notes", "meeting", "receipt", "travel", "hotel", "train",
    "ticket", "letter", "contract", "offer", "order", "delivery", "return", "parcel", "signed",
)  # fmt: skip
OUTPUT_LINES = (1, 1, 2, 5, 20, 60, 200)


def run(options: Options, report: Report) -> Iterator[Figure]:
    size = QUICK_SIZE if options.quick else SIZE
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        folder = Path(name)
        writing = f"writing {size // MEGABYTE:,} MB of transcripts"
        history = write_transcripts(folder / "user", size, NOW, lambda done: report(writing, done, size))
        first = _import(folder, history, report)
        again = _import(folder, history, report)
        baseline = _baseline_speed(folder / "user")
    megabytes, events = history.bytes / MEGABYTE, int(first["events"])
    what = f"import {megabytes:,.0f} MB in {history.files:,} sessions"
    yield Figure(what, "MB/s", megabytes / first["seconds"], events=events)
    yield Figure(
        "the same, by processor time", "MB/s", megabytes / first["cpu"], baseline,
        "reading the lines and parsing them", events,
    )  # fmt: skip
    soon = Goal(limit=READABLE_SECONDS)
    yield Figure("until yesterday is readable", "s", first["yesterday"], events=events, goal=soon)
    yield Figure(
        "peak memory of the import", "MB", first["peak"], first["start"], "the program before it",
        events, goal=Goal(limit=PEAK_MEGABYTES),
    )  # fmt: skip
    yield Figure("import again, nothing new", "s", again["seconds"], events=int(again["events"]))


def _import(folder: Path, history: Transcripts, report: Report) -> dict[str, float]:
    """Import in a child process. Returns what it measured."""
    command = [sys.executable, "-m", "benchmarks.imports", str(folder)]
    command += [str(path) for path in history.yesterday]
    measured: dict[str, Any] = {}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            measured = json.loads(line)
            report("importing, MB", int(measured["bytes"]) // MEGABYTE, history.bytes // MEGABYTE)
    if process.returncode != 0:
        raise RuntimeError(f"the import ended with {process.returncode}")
    return measured


def _baseline_speed(home: Path) -> float:
    """Megabytes per second of processor time for reading and parsing alone.

    Measured over some of the files.
    """
    chosen, size = [], 0
    for path in sorted(home.rglob("*.jsonl")):
        chosen.append(path)
        size += path.stat().st_size
        if size >= BASELINE_SIZE:
            break
    began = time.process_time()
    _parse(chosen)
    return size / MEGABYTE / (time.process_time() - began)


def _parse(paths: Sequence[Path]) -> None:
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                json.loads(line)


# In the child process.


def import_and_print(folder: Path, yesterday: Sequence[Path]) -> None:
    """Import the folder's transcripts and print what was measured after every batch."""
    from fazm_memory.app import Memory, import_agents
    from fazm_memory.clock import to_micros
    from fazm_memory.config import Config

    memory = Memory(Config(folder / "home", folder / "user", key="file"), lambda: to_micros(NOW))
    start = _peak()
    began = time.monotonic()
    work = import_agents(memory)
    measured: dict[str, float] = {"start": start, "yesterday": 0.0, "bytes": 0, "events": 0, "seconds": 0.0}
    for statistics in work.waves:
        measured["bytes"] += statistics.bytes
        measured["events"] += statistics.events
        if not measured["yesterday"] and _all_read(memory, yesterday):
            # Readable: it is in the context of a new session, and can be searched.
            memory.recall.context()
            memory.recall.search("invoice", limit=5)
            measured["yesterday"] = time.monotonic() - began
        _print(measured, began)
    memory.store.index_all()
    _print(measured, began)
    memory.close()


def _all_read(memory: Any, paths: Sequence[Path]) -> bool:
    marks = ",".join("?" * len(paths))
    query = f"SELECT count(*) FROM cursor WHERE path IN ({marks}) AND size >= 0"
    return bool(memory.store.db.execute(query, [str(path) for path in paths]).fetchone()[0] == len(paths))


def _print(measured: dict[str, float], began: float) -> None:
    measured |= {"seconds": time.monotonic() - began, "cpu": time.process_time(), "peak": _peak()}
    print(json.dumps(measured), flush=True)


def _peak() -> float:
    """Peak memory of this process in MB. macOS reports bytes, Linux kilobytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MEGABYTE if sys.platform == "darwin" else most * 1024 / MEGABYTE


@dataclass(frozen=True)
class Transcripts:
    """Generated transcripts: how many bytes and files, and the files of yesterday."""

    bytes: int
    files: int
    yesterday: tuple[Path, ...]


def write_transcripts(
    home: Path, size: int, now: datetime, report: Callable[[int], None] = lambda done: None
) -> Transcripts:
    """Write about `size` bytes of transcripts into a home folder.

    The newest are of the day before `now`.
    """
    written, number = 0, 0
    yesterday: list[Path] = []
    while written < size:
        began = now.replace(hour=9, minute=0, second=0, microsecond=0) - timedelta(
            days=1 + number // SESSIONS_A_DAY
        )
        session = _Session(number, began + timedelta(hours=3 * (number % SESSIONS_A_DAY)))
        path = home / ".claude" / "projects" / session.cwd.replace("/", "-") / f"{session.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        written += session.write(path, min(SESSION_BYTES, size - written))
        if number < SESSIONS_A_DAY:
            yesterday.append(path)
        number += 1
        report(written)
    return Transcripts(written, number, tuple(yesterday))


class _Session:
    """One session, generated from its number."""

    def __init__(self, number: int, began: datetime) -> None:
        self.random = random.Random(number)
        self.id = str(self._uuid())
        self.cwd = f"/Users/dana/work/{WORDS[number % WORKSPACES]}"
        self.at = began
        self.parent: str | None = None
        self.prompt = ""
        self.calls = 0

    def write(self, path: Path, size: int) -> int:
        written = 0
        with path.open("w", encoding="utf-8") as file:
            while written < size:
                for record in self._step():
                    line = json.dumps(record, separators=(",", ":")) + "\n"
                    file.write(line)
                    written += len(line)
        stamp = self.at.timestamp()
        os.utime(path, (stamp, stamp))
        return written

    def _step(self) -> Iterator[dict[str, Any]]:
        """One call with its result. Every tenth has a new prompt before it."""
        if self.calls % 10 == 0:
            self.prompt = str(self._uuid())
            prompt = {"role": "user", "content": self._words(20)}
            yield self._record("user", promptId=self.prompt, message=prompt)
        self.calls += 1
        answer, call_id = f"msg_{self.random.getrandbits(80):x}", f"toolu_{self.random.getrandbits(96):x}"
        if self.calls % 3 == 0:
            yield self._answer(answer, {"type": "text", "text": self._words(60)})
        tool, arguments, result = self._call()
        yield self._answer(answer, {"type": "tool_use", "id": call_id, "name": tool, "input": arguments})
        block = {"type": "tool_result", "tool_use_id": call_id, "content": result}
        outcome = (
            {"stdout": result, "stderr": "", "interrupted": False} if tool == "Bash" else {"type": "text"}
        )
        message = {"role": "user", "content": [block]}
        yield self._record("user", promptId=self.prompt, message=message, toolUseResult=outcome)

    def _call(self) -> tuple[str, dict[str, Any], str]:
        path = f"{self.cwd}/{self._words(2).replace(' ', '-')}-{self.calls}.txt"
        output = "\n".join(self._words(12) for _ in range(self.random.choice(OUTPUT_LINES)))
        if self.calls % 4 == 0:
            arguments = {"file_path": path, "old_string": self._words(30), "new_string": self._words(30)}
            return "Edit", arguments, f"The file {path} has been updated successfully."
        if self.calls % 4 == 1:
            return "Read", {"file_path": path}, output
        command = f"mkdir -p sorted && mv {path} sorted/2026-03_{self.calls}.txt && cat sorted/list.txt"
        return "Bash", {"command": command, "description": "Sort"}, output

    def _answer(self, name: str, block: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 1200 + self.calls, "output_tokens": 90, "cache_read_input_tokens": 900}
        message = {
            "id": name,
            "role": "assistant",
            "model": "claude-generated",
            "content": [block],
            "usage": usage,
        }
        return self._record("assistant", message=message)

    def _record(self, kind: str, **fields: Any) -> dict[str, Any]:
        self.at += timedelta(seconds=2)
        name = str(self._uuid())
        about = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": "2.1.197",
            "gitBranch": "main",
            "type": kind,
        }
        self.parent = name
        return {**about, **fields, "uuid": name, "timestamp": self.at.isoformat(timespec="milliseconds")}

    def _words(self, count: int) -> str:
        return " ".join(self.random.choices(WORDS, k=count))

    def _uuid(self) -> uuid.UUID:
        return uuid.UUID(int=self.random.getrandbits(128), version=4)


if __name__ == "__main__":
    import_and_print(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]])
