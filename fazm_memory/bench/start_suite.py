"""Starting, which a person waits for before anything happens; scrubbing, which every event goes through."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from fazm_memory.bench.figures import Figure, Goal, in_turns, middle
from fazm_memory.bench.rows import Life
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.capture.scrub import Scrubber
from fazm_memory.model import codec

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
ANSWERS = (("MCP: greeted", 3, 15), ("MCP: tools listed", 3, 15), ("MCP: first call", 1, 5))  # and rounds


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    yield _version(5 if options.quick else 15, tell)
    yield from _serving(options, tell)
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


def _serving(options: Options, tell: Tell) -> Iterator[Figure]:
    """How long an agent waits for its MCP server: from starting it to the last of these answers."""
    with TemporaryDirectory(dir=options.folder) as folder:
        for number, (name, least, most) in enumerate(ANSWERS, 1):
            tell("starting the MCP server", number - 1, len(ANSWERS))
            jobs = [
                partial(_served, Path(folder), ASKED[:number]),
                partial(_started, [sys.executable, "-c", "pass"]),
            ]
            ours, bare = in_turns(least if options.quick else most, jobs)
            goal = None if number == len(ANSWERS) else Goal(at_most=4)
            yield Figure(name, "ms", middle(ours) * 1e3, middle(bare) * 1e3, "python -c pass", goal=goal)


def _served(folder: Path, asked: Sequence[Mapping[str, object]]) -> None:
    env = {**os.environ, "FAZM_MEMORY_HOME": str(folder / "memory"), "FAZM_MEMORY_KEY": "file"}
    command = [sys.executable, "-m", "fazm_memory.cli.main", "mcp"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, one in enumerate(asked):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **one}).encode() + b"\n")
            server.stdin.flush()
            if json.loads(server.stdout.readline())["id"] != number:
                raise RuntimeError(f"the MCP server did not answer {one['method']}")
        server.kill()  # what it does from here on nobody waits for


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
