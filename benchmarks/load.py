"""Load suite: sixteen agents record while four clients and the page read.

Every writer is a `fazm-memory record` that sends a line when the last one was answered. Measured is how long
each answer took. The first search of a client is measured apart, because it waits for the start of its
server while all the other processes start too. Afterwards every acknowledged event
must be in the log, and the log must verify.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.figures import Figure, Goal, Options, Report, percentile_95
from benchmarks.page import served_page
from fazm_memory.errors import FazmMemoryError
from fazm_memory.store import Store, verify_store

WRITERS = 16
CLIENTS = 4
EVENTS = (2000, 100)
PAUSE = 0.2  # seconds between two requests of a reader
CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


def run(options: Options, report: Report) -> Iterator[Figure]:
    each = EVENTS[options.quick]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        home = Path(folder) / "home"
        Store(home, key="file").close()
        load = Load(home, each, report)
        load.run()
        store = Store(home, key="file")
        stored = store.db.execute("SELECT count(*) FROM event WHERE kind='action'").fetchone()[0]
        clean = verify_store(store.log).clean
        store.close()
    if stored != WRITERS * each or not clean:
        raise FazmMemoryError(f"{stored:,} of {WRITERS * each:,} events are in the log (verified: {clean})")
    total = WRITERS * each
    yield _figure("an answer, 95 of 100", total, percentile_95(load.waits), Goal(limit=1.0))
    yield _figure("an answer, the longest", total, max(load.waits), Goal(limit=3.0))
    yield _figure(
        "the first search of a client, with its start", total, max(load.first_searches, default=0.0), None
    )
    yield _figure("a search over MCP, the longest", total, max(load.searches, default=0.0), Goal(limit=3.0))
    yield _figure("the page's list, the longest", total, max(load.pages, default=0.0), Goal(limit=3.0))
    yield _figure("all of it", total, load.seconds, None)


def _figure(what: str, events: int, seconds: float, goal: Goal | None) -> Figure:
    return Figure(what, "s", seconds, events=events, goal=goal)


class Load:
    """The processes of one run, each driven by a thread, and how long they waited."""

    def __init__(self, home: Path, each: int, report: Report) -> None:
        self.each, self.report = each, report
        self.env = {**os.environ, "FAZM_MEMORY_HOME": str(home), "FAZM_MEMORY_KEY": "file"}
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once
        self.home = home
        self.waits: list[float] = []
        self.first_searches: list[float] = []
        self.searches: list[float] = []
        self.pages: list[float] = []
        self.seconds = 0.0
        self._written = threading.Event()
        self._failures: list[BaseException] = []

    def run(self) -> None:
        writers = [self._thread(self._write, number) for number in range(WRITERS)]
        readers = [self._thread(self._search) for _ in range(CLIENTS)] + [self._thread(self._look)]
        begin = time.perf_counter()
        for thread in (*writers, *readers):
            thread.start()
        for thread in writers:
            while thread.is_alive():
                thread.join(1)
                self.report("events recorded", len(self.waits), WRITERS * self.each)
        self.seconds = time.perf_counter() - begin
        self._written.set()
        for thread in readers:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _thread(self, job: Callable[..., None], *arguments: Any) -> threading.Thread:
        def guarded() -> None:
            try:
                job(*arguments)
            except BaseException as error:
                self._failures.append(error)

        return threading.Thread(target=guarded, daemon=True)

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "fazm_memory.cli.main", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=self.env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def _write(self, number: int) -> None:
        process = self._start("record")
        session = {"session": f"writer-{number}", "agent": "fazm"}
        _ask(process, {"type": "session.open", "workspace": f"/w/{number}", **session})
        for nth in range(self.each):
            line = {"type": "action", "tool": "Bash", "input": {"command": f"make part-{nth}"}, **session}
            begin = time.perf_counter()
            answer = _ask(process, line | {"output": f"built part {nth} of writer {number} " * 10})
            self.waits.append(time.perf_counter() - begin)
            if not answer["ok"]:
                raise FazmMemoryError(f"an event was refused: {answer['error']}")
        _end(process)

    def _search(self) -> None:
        process = self._start("mcp")
        _ask(process, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": CLIENT})
        _tell(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        number = 0
        while not self._written.wait(PAUSE):
            number += 1
            call = {"name": "memory_search", "arguments": {"query": f"part-{number} writer", "limit": 5}}
            begin = time.perf_counter()
            answer = _ask(process, {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
            (self.searches if number > 1 else self.first_searches).append(time.perf_counter() - begin)
            if "error" in answer or answer["result"].get("isError"):
                raise FazmMemoryError(f"a search failed: {answer}"[:400])
        _end(process)

    def _look(self) -> None:
        with served_page(self.home) as address:
            token = (self.home / "page-token").read_text().strip()
            url = f"http://{urlsplit(address).netloc}/api/v1/sessions"
            request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
            while not self._written.wait(PAUSE):
                begin = time.perf_counter()
                with urllib.request.urlopen(request) as response:
                    response.read()
                self.pages.append(time.perf_counter() - begin)


def _tell(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def _ask(process: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    _tell(process, message)
    assert process.stdout is not None
    while True:
        line = process.stdout.readline()
        if not line:
            raise FazmMemoryError(f"a process ended with {process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "method" not in answer:  # a notification may come in between
            return answer


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    process.wait()
