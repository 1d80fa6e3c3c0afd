"""Start suite: starting the program and its MCP server.

Redaction, which every event passes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.events import Workload
from benchmarks.figures import Figure, Goal, Options, Report, in_turns
from fazm_memory.engines.redaction import Redactor
from fazm_memory.events import codec

KILOBYTE = 1024
CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
ASKED: tuple[dict[str, object], ...] = (
    {"method": "initialize", "params": CLIENT},
    {"method": "tools/list"},
    {"method": "tools/call", "params": {"name": "session_list", "arguments": {}}},
)
ANSWERS = (
    ("MCP: greeted", 3, 15),
    ("MCP: tools listed", 3, 15),
    ("MCP: first call", 1, 5),
)  # name, rounds when quick, rounds otherwise


def run(options: Options, report: Report) -> Iterator[Figure]:
    yield _version(5 if options.quick else 15, report)
    yield from _serving(options, report)
    yield _redacting(200 if options.quick else 1000, report)


def _version(rounds: int, report: Report) -> Figure:
    report("starting the program", 0, 1)
    command = [sys.executable, "-m", "fazm_memory.cli.main", "--version"]
    jobs = [lambda: _start(command), lambda: _start([sys.executable, "-c", "pass"])]
    ours, bare = in_turns(rounds, jobs)
    return Figure("fazm-memory --version", "ms", median(ours) * 1e3, median(bare) * 1e3, "python -c pass",
                  goal=Goal(at_most=4))  # fmt: skip


def _start(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _serving(options: Options, report: Report) -> Iterator[Figure]:
    """How long an agent waits for its MCP server, from its start to the named answer."""
    with TemporaryDirectory(dir=options.folder) as folder:
        for number, (name, least, most) in enumerate(ANSWERS, 1):
            report("starting the MCP server", number - 1, len(ANSWERS))
            jobs = [
                partial(_request, Path(folder), ASKED[:number]),
                partial(_start, [sys.executable, "-c", "pass"]),
            ]
            ours, bare = in_turns(least if options.quick else most, jobs)
            goal = None if number == len(ANSWERS) else Goal(at_most=4)
            yield Figure(name, "ms", median(ours) * 1e3, median(bare) * 1e3, "python -c pass", goal=goal)


def _request(folder: Path, asked: Sequence[Mapping[str, object]]) -> None:
    env = {**os.environ, "FAZM_MEMORY_HOME": str(folder / "memory"), "FAZM_MEMORY_KEY": "file"}
    command = [sys.executable, "-m", "fazm_memory.cli.main", "mcp"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, request in enumerate(asked):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **request}).encode() + b"\n")
            server.stdin.flush()
            if json.loads(server.stdout.readline())["id"] != number:
                raise RuntimeError(f"the MCP server did not answer {request['method']}")
        server.kill()  # nobody waits for what it does next


def _redacting(count: int, report: Report) -> Figure:
    """Redact payloads, against only converting them to JSON and back."""
    report("redacting", 0, 1)
    workload = Workload(count)
    values = [codec.encode(entry.payload) for batch in workload.batches() for entry in batch.entries]
    size = sum(len(json.dumps(value)) for value in values) / KILOBYTE
    redactor = Redactor()
    ours, bare = in_turns(3, [lambda: [*map(redactor.value, values)], lambda: [*map(_round_trip, values)]])
    return Figure("redact", "µs a KB", median(ours) / size * 1e6, median(bare) / size * 1e6, "JSON and back")


def _round_trip(value: object) -> object:
    return json.loads(json.dumps(value))
