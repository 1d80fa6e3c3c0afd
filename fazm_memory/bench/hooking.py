"""The hooks, which an agent waits for: how long they take, against a program that does nothing at all."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fazm_memory.bench.figures import Figure, Goal, in_turns, middle
from fazm_memory.bench.suites import Options, Tell
from fazm_memory.capture import hook_script
from fazm_memory.capture.spool import Spool

NOTHING = "/bin/true"
SIZES = ((1_000, Goal(at_most=5)), (100_000, None), (1_000_000, None))


def run(options: Options, tell: Tell) -> Iterator[Figure]:
    rounds = 15 if options.quick else 60
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        home = Path(name) / "home"
        script = str(hook_script.write(home))
        for nth, (size, goal) in enumerate(SIZES):
            tell("running hooks", nth, len(SIZES) + 1)
            event = _event("PreToolUse", size)
            ours, bare = _in_turns(rounds, [script, "claude-code"], event, Spool(home))
            yield Figure(f"hot hook, {size // 1000:,} KB", "ms", ours, bare, NOTHING, goal=goal)
        (home / "context").mkdir(mode=0o700)
        (home / "context" / "context.md").write_text("Yesterday you did:\n" * 400)
        tell("running hooks", len(SIZES), len(SIZES) + 1)
        event = _event("SessionStart", 300)
        ours, bare = _in_turns(rounds, [script, "claude-code", "answer"], event, Spool(home))
        yield Figure("hook that answers", "ms", ours, bare, NOTHING, goal=Goal(at_most=30))


def _event(name: str, size: int) -> bytes:
    told = {
        "hook_event_name": name,
        "session_id": "bench",
        "source": "startup",
        "cwd": "/",
        "tool_input": "x" * size,
    }
    return json.dumps(told).encode()


def _in_turns(rounds: int, command: list[str], event: bytes, spool: Spool) -> tuple[float, float]:
    """Milliseconds of the hook and of a program that does nothing; the spool is emptied outside the clock."""
    jobs = [lambda: _fed(command, event), lambda: _fed([NOTHING], b"")]
    ours, bare = in_turns(rounds, jobs, before=lambda: spool.done(spool.take()))
    return middle(ours) * 1e3, middle(bare) * 1e3


def _fed(command: list[str], data: bytes) -> None:
    subprocess.run(command, input=data, stdout=subprocess.DEVNULL, check=True)
