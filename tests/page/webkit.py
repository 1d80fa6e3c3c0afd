"""WebKit, which the Mac's window is made of, through WebKitGTK on a display that nobody sees.

A `Window` is driven by roles and accessible names; a name is exact, or a compiled pattern. Whatever is asked
for is waited for, and what never comes is told with what was there instead.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.page.serving import Served
from tests.page.story import NOW

VIEW = Path(__file__).with_name("webkit_view.py")
SYSTEM = "/usr/bin/python3"  # the one that Debian's gi belongs to
NEEDED = "apt-get install xvfb python3-gi python3-gi-cairo gir1.2-webkit2-4.1"
USUAL = {"width": 1280, "height": 860, "zoom": 1, "dark": False, "still": False}

TRIES = 3  # to press what moved just then, as more was drawn above it

Name = str | re.Pattern[str]
Part = dict[str, Any]


@contextmanager
def display() -> Iterator[str]:
    """A display of its own; the server chooses the number."""
    server = shutil.which("Xvfb")
    if server is None:
        pytest.fail(f"no Xvfb on this machine: {NEEDED}", pytrace=False)
    told, write = os.pipe()
    arguments = [server, "-displayfd", str(write), "-screen", "0", "1400x900x24", "-nolisten", "tcp"]
    process = subprocess.Popen(arguments, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(told) as answer:
            yield f":{answer.readline().strip()}"
    finally:
        process.terminate()
        process.wait()


def named(name: Name) -> dict[str, Any]:
    if isinstance(name, str):
        return {"text": name, "pattern": False}
    return {"text": name.pattern, "pattern": True}


def part(role: str, name: Name | None = None, within: Part | None = None) -> Part:
    """What is called so: of the page, of the dialog that lies over it, or of another part."""
    return {"role": role, "name": None if name is None else named(name), "within": within}


def region(name: str) -> Part:
    return part("region", name)


class EngineCrashed(Exception):
    """The engine itself has ended in the middle of a test: it says nothing about the page."""

    count = 0  # in this run


class Window:
    """The page in a window of WebKit."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, **what: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pytest.fail(f"WebKitGTK does not run here ({NEEDED})", pytrace=False)
        line = self.process.stdout.readline()
        if not line:
            pytest.fail(f"WebKitGTK does not run here ({NEEDED})", pytrace=False)
        answer = json.loads(line)
        if "crashed" in answer:
            EngineCrashed.count += 1
            raise EngineCrashed(answer["crashed"])
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["value"]

    def drive(self, verb: str, *given: Any) -> Any:
        words = ", ".join(json.dumps(one) for one in given)
        return self.ask(run=f"return JSON.stringify((await driver.{verb}({words})) ?? null);")

    def go(self, address: str) -> None:
        self.drive("go", address)

    def visit(self, served: Served, key: str, seq: int | None = None) -> str:
        """A session of the story, or one of its events, once it is shown; gives the session's id."""
        session = served.world.ids[key]
        self.go(f"#/s/{session}" + ("" if seq is None else f"@{seq}"))
        self.there("heading", served.world.memory.session(session)["title"], part("main"))
        self.drive("calm")
        if seq is None:
            self.gone("region", "Event")
        else:
            self.says(re.compile(rf"position {seq}\b"), region("Event"))
        return session

    def there(self, role: str, name: Name | None = None, within: Part | None = None) -> str:
        return str(self.drive("one", part(role, name, within)))

    def gone(self, role: str, name: Name | None = None, within: Part | None = None) -> None:
        self.drive("gone", part(role, name, within))

    def count(self, number: int, role: str, name: Name | None = None, within: Part | None = None) -> None:
        self.drive("count", part(role, name, within), number)

    def says(self, words: Name, within: Part | None = None) -> None:
        self.drive("says", named(words), within)

    def unsaid(self, words: str, within: Part | None = None) -> None:
        self.drive("unsaid", words, within)

    def holds(self, one: Part, what: str, value: Name) -> str:
        """An attribute or property, once it is as wanted."""
        return str(self.drive("holds", one, what, named(value))["is"])

    def press(self, role: str, name: Name, within: Part | None = None) -> None:
        for _ in range(TRIES):
            self.ask(press=self.drive("point", part(role, name, within)))
            self.drive("heard", "mouseup", 1)
            if self.drive("hit"):
                return
        raise AssertionError(f"{role} {name!r} moves away from whoever presses it")

    def drag(self, one: Part, by: float, across: float = 0.5) -> None:
        self.ask(drag=[*self.drive("point", one, across), by])
        self.drive("heard", "mouseup", 1)

    def wheel(self, one: Part, by: float) -> None:
        self.ask(wheel=[*self.drive("point", one), by])
        self.drive("heard", "wheel", 1)

    def fill(self, role: str, name: Name, value: str, within: Part | None = None) -> None:
        self.drive("fill", part(role, name, within), value)

    def keys(self, *names: str, on: Part | None = None) -> None:
        if on is not None:
            self.drive("focus", on)
        self.ask(keys=names)
        self.drive("heard", "keyup", len(names))

    def row(self, pattern: str) -> str:
        """What a row of the list says, scrolled to."""
        return str(self.drive("row", pattern))

    def command(self, menu: str, name: str) -> None:
        self.drive("calm")
        self.press("button", menu)
        self.press("menuitem", name)

    def confirm(self, name: str) -> None:
        """The button of the sheet that is open, which closes it."""
        self.press("button", name)
        self.gone("dialog")

    def evaluate(self, function: str) -> Any:
        """What a function of JavaScript gives, called in the page."""
        return self.ask(run=f"return JSON.stringify((await ({function})()) ?? null);")

    def until(self, function: str) -> None:
        """Until a function of JavaScript, called again and again in the page, says yes."""
        self.ask(run=f"await driver.becomes({function}); return 'null';")

    @contextmanager
    def looking(self, **look: Any) -> Iterator[None]:
        """Another size or zoom of the window, or wishes of the system (dark, still), for a while."""
        try:
            self._look(USUAL | look)
            yield
        finally:
            self._look(USUAL)

    def _look(self, look: dict[str, Any]) -> None:
        self.ask(look=look)
        self.drive("looks", look)
        self.drive("calm")

    def copied(self) -> str:
        return str(self.ask(clipboard=True))

    def picture(self, file: Path) -> None:
        self.ask(picture=str(file))

    def errors(self) -> list[str]:
        found: list[str] = self.ask(errors=True)
        return found


@contextmanager
def window(address: str) -> Iterator[Window]:
    """The page while the block lasts."""
    with display() as number:
        process = subprocess.Popen(
            [SYSTEM, str(VIEW), address, str(NOW // 1000)],
            env={**os.environ, "DISPLAY": number, "TZ": "UTC", "NO_AT_BRIDGE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            yield Window(process)
