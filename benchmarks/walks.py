"""Walks suite: how many of our modules a command enters and imports.

Calls are traced with `sys.setprofile`, without import time: a child process runs the command once, then again
under the profiler. A move is a call from one of our modules into another. Frames of other packages are
transparent: a call from our code through a library back into our code counts as one call.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.figures import Figure, Goal, Options, Report

PACKAGE = "fazm_memory"
ROOT = Path(__file__).parents[1]
SESSION = "walk"


def run(options: Options, report: Report) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-bench-", dir=options.folder) as name:
        folder = Path(name)
        commands = _prepare(folder)
        for number, (what, (arguments, line, most_modules, most_moves)) in enumerate(commands.items()):
            report("tracing", number, len(commands))
            walk = _child(folder, "trace", line, arguments)
            yield Figure(f"{what}: modules entered", "modules", walk["modules"], goal=_at_most(most_modules))
            yield Figure(f"{what}: moves between them", "moves", walk["moves"], goal=_at_most(most_moves))
        imported = _child(folder, "imports", "", commands["context"][0])["imported"]
        yield Figure("context: modules imported", "modules", imported, goal=Goal(limit=110))


def _at_most(limit: int | None) -> Goal | None:
    return None if limit is None else Goal(limit=limit)


def _prepare(folder: Path) -> dict[str, tuple[list[str], str, int | None, int | None]]:
    """Record a session that changed files.

    Returns the commands to trace: arguments, stdin, goals.
    """
    workspace = folder / "user" / "Downloads"
    workspace.mkdir(parents=True)
    for number in range(3):
        (workspace / f"scan{number}.pdf").write_text(str(number))
    lines = [
        _line("session.open", agent="fazm", workspace=str(workspace)),
        _line("prompt", text="Rename them"),
    ]
    for number in range(2):
        (workspace / f"scan{number}.pdf").rename(workspace / f"invoice-{number}.pdf")
        lines.append(_rename(workspace, number))
    lines.append(_line("decision", what="Vendor first", why="they sort"))
    output = subprocess.run(
        [sys.executable, "-m", f"{PACKAGE}.cli.main", "record"],
        input="".join(lines), env=_environment(folder), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    session = json.loads(output.splitlines()[0])["session"]
    rewind = ["rewind", session, "--to", "2", "--files", "--dry-run"]
    return {
        "record, one line": (["record"], _rename(workspace, 2), 45, 170),
        "context": (["context", "--workspace", str(workspace)], "", 45, None),
        "rewind --files --dry-run": (rewind, "", 30, None),
    }


def _line(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, "session": SESSION, **fields}) + "\n"


def _rename(workspace: Path, number: int) -> str:
    command = f"mv {workspace}/scan{number}.pdf {workspace}/invoice-{number}.pdf"
    return _line("action", tool="Bash", input={"command": command}, output="")


def _environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(folder / "user"),
        "FAZM_MEMORY_HOME": str(folder / "home"),
        "FAZM_MEMORY_KEY": "file",
    }


def _child(folder: Path, job: str, line: str, arguments: list[str]) -> dict[str, int]:
    """Run this module as a program; what it measured."""
    with tempfile.TemporaryFile("w+") as stdin:
        stdin.write(line)
        stdin.seek(0)
        output = subprocess.run(
            [sys.executable, "-m", "benchmarks.walks", job, *arguments],
            cwd=ROOT,
            stdin=stdin, env=_environment(folder), capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    measured: dict[str, int] = json.loads(output)
    return measured


# In the child process.


class Tracer:
    """Count the modules of ours that are entered, and calls between them."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.moves = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        callee = _module(frame)
        if callee is None:
            return
        self.modules.add(callee)
        caller = frame.f_back
        while caller is not None and (module := _module(caller)) is None:
            caller = caller.f_back
        if caller is not None and module != callee:
            self.moves += 1


def _module(frame: FrameType) -> str | None:
    name = frame.f_globals.get("__name__", "")
    return name if name == PACKAGE or name.startswith(f"{PACKAGE}.") else None


def _command(arguments: list[str]) -> None:
    from fazm_memory.cli.main import main

    os.lseek(0, 0, os.SEEK_SET)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        if code := main(arguments):
            raise SystemExit(code)


def trace(arguments: list[str]) -> dict[str, int]:
    """Run a command twice and trace the second run."""
    _command(arguments)
    tracer = Tracer()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        _command(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {"modules": len(tracer.modules), "moves": tracer.moves}


def count_imports(arguments: list[str]) -> dict[str, int]:
    """Run a command in this new process and count our modules it imported."""
    _command(arguments)
    return {"imported": sum(name.split(".")[0] == PACKAGE for name in sys.modules)}


if __name__ == "__main__":
    job = trace if sys.argv[1] == "trace" else count_imports
    print(json.dumps(job(sys.argv[2:])))
