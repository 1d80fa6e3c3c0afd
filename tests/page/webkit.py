"""WebKit, the engine of the Mac window, through WebKitGTK on an invisible display."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from tests.page.story import NOW
from tests.page.window import Window

PROCESS = Path(__file__).with_name("webkit_process.py")
SYSTEM_PYTHON = "/usr/bin/python3"  # the one with Debian's gi
INSTALL = "apt-get install xvfb python3-gi python3-gi-cairo gir1.2-webkit2-4.1"


@contextmanager
def display() -> Iterator[str]:
    """An X display of its own. The server chooses the number."""
    server = shutil.which("Xvfb")
    if server is None:
        pytest.fail(f"no Xvfb on this machine: {INSTALL}", pytrace=False)
    read, write = os.pipe()
    arguments = [server, "-displayfd", str(write), "-screen", "0", "1400x900x24", "-nolisten", "tcp"]
    process = subprocess.Popen(arguments, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as number:
            yield f":{number.readline().strip()}"
    finally:
        process.terminate()
        process.wait()


class EngineCrashed(Exception):
    """WebKitGTK itself has crashed, in its web process or in ours. This says nothing about the page."""

    count = 0  # in this run


class WebKitEngine:
    """One window in a process of its own, asked line by line."""

    answered = False  # so far

    def __init__(self, process: subprocess.Popen[str], errors: IO[str]) -> None:
        self.process = process
        self.process_errors = errors

    def ask(self, **request: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = ""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            pass
        answer = json.loads(line) if line else {"crashed": self._end()}
        self.answered = True
        if "crashed" in answer:
            EngineCrashed.count += 1
            raise EngineCrashed(answer["crashed"])
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["value"]

    def _end(self) -> str:
        """How the process ended. One that never answered cannot run on this machine."""
        code = self.process.wait()
        self.process_errors.seek(0)
        said = self.process_errors.read()[-2000:]
        if not self.answered:
            pytest.fail(f"WebKitGTK does not run here ({INSTALL}), exit {code}: {said}", pytrace=False)
        return f"the window's process ended with {code}: {said}"

    def run(self, body: str) -> Any:
        return self.ask(run=body)

    def drag(self, x: float, y: float, by: float) -> None:
        self.ask(drag=[x, y, by])

    def wheel(self, x: float, y: float, by: float) -> None:
        self.ask(wheel=[x, y, by])

    def keys(self, names: tuple[str, ...]) -> None:
        self.ask(keys=names)

    def look(self, look: dict[str, Any]) -> None:
        self.ask(look=look)

    def clipboard(self) -> str:
        return str(self.ask(clipboard=True))

    def picture(self, file: Path) -> None:
        self.ask(picture=str(file))

    def errors(self) -> list[str]:
        found: list[str] = self.ask(errors=True)
        return found

    def crash(self) -> None:
        self.ask(crash=True)


@contextmanager
def webkit_window(address: str) -> Iterator[Window]:
    with display() as number, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [SYSTEM_PYTHON, str(PROCESS), address, str(NOW // 1000)],
            env={**os.environ, "DISPLAY": number, "TZ": "UTC", "NO_AT_BRIDGE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        with process:
            yield Window(WebKitEngine(process, errors))
