"""Hook suite: the wait for our hooks, beside a program that does nothing."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure, Goal, Options, Report, in_turns
from fazm_memory.agents import hook_script
from fazm_memory.ingest import Spool
from fazm_memory.recall import Reminder, write_reminders

NOTHING = "true"  # in /bin on Linux, in /usr/bin on a Mac
SIZES = ((1_000, Goal(at_most=5)), (100_000, None), (1_000_000, None))


def run(options: Options, report: Report) -> Iterator[Figure]:
    rounds = 15 if options.quick else 60
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        home = Path(name) / "home"
        script = str(hook_script.write(home))
        for nth, (size, goal) in enumerate(SIZES):
            report("running hooks", nth, len(SIZES) + 1)
            event = _event("PreToolUse", size)
            ours, bare = _in_turns(rounds, [script, "claude-code", "remind"], event, Spool(home))
            yield Figure(f"hot hook, {size // 1000:,} KB", "ms", ours, bare, NOTHING, goal=goal)
        write_reminders(home / "context", [Reminder(f"git word{nth}", "", "no", 0) for nth in range(60)])
        ours, bare = _in_turns(
            rounds, [script, "claude-code", "remind"], _event("PreToolUse", 1_000), Spool(home)
        )
        yield Figure(
            "hot hook, 1 KB, 60 reminders and none meant", "ms", ours, bare, NOTHING, goal=Goal(at_most=5)
        )
        (home / "context" / "context.md").write_text("Yesterday you did:\n" * 400)
        report("running hooks", len(SIZES), len(SIZES) + 1)
        event = _event("SessionStart", 300)
        ours, bare = _in_turns(rounds, [script, "claude-code", "answer"], event, Spool(home))
        yield Figure("hook that answers", "ms", ours, bare, NOTHING, goal=Goal(at_most=30))


def _event(name: str, size: int) -> bytes:
    event = {
        "hook_event_name": name,
        "session_id": "bench",
        "source": "startup",
        "cwd": "/",
        "tool_input": "x" * size,
    }
    return json.dumps(event).encode()


def _in_turns(rounds: int, command: list[str], event: bytes, spool: Spool) -> tuple[float, float]:
    """Milliseconds of the hook and of `true`.

    The spool is emptied outside the measured time.
    """
    jobs = [lambda: _run(command, event), lambda: _run([NOTHING], b"")]
    ours, bare = in_turns(rounds, jobs, before=lambda: spool.done(spool.take()))
    return median(ours) * 1e3, median(bare) * 1e3


def _run(command: list[str], data: bytes) -> None:
    subprocess.run(command, input=data, stdout=subprocess.DEVNULL, check=True)
