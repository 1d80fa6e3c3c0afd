"""A browser window, driven by roles and accessible names, in either browser.

A name is exact, or a compiled pattern. Every question waits until it can be answered, and fails with what
is there instead. `Engine` is what a browser has to provide; page_driver.js finds the parts of the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tests.page.server import Server

DRIVER = Path(__file__).with_name("page_driver.js")
USUAL_LOOK = {"width": 1280, "height": 860, "zoom": 1, "dark": False, "still": False}
CLICK_TRIES = 3  # a control may move while more is drawn above it

Name = str | re.Pattern[str]
Part = dict[str, Any]


class Engine(Protocol):
    """What a browser provides. Coordinates are CSS pixels; keys have their DOM names."""

    def run(self, body: str) -> Any:
        """Run the body of an async function in the page. It returns JSON."""

    def drag(self, x: float, y: float, by: float) -> None:
        """Press the mouse, move it sideways, release it. A click if `by` is 0."""

    def wheel(self, x: float, y: float, by: float) -> None: ...

    def keys(self, names: tuple[str, ...]) -> None: ...

    def look(self, look: dict[str, Any]) -> None:
        """Set width, height and zoom of the window, and the system's dark and still preferences."""

    def clipboard(self) -> str: ...

    def picture(self, file: Path) -> None: ...

    def errors(self) -> list[str]:
        """Errors in the page since it was opened."""


def driver_name(name: Name) -> dict[str, Any]:
    if isinstance(name, str):
        return {"text": name, "pattern": False}
    return {"text": name.pattern, "pattern": True}


def part(role: str, name: Name | None = None, within: Part | None = None) -> Part:
    """A part of the page, of the open dialog, or of another part."""
    return {"role": role, "name": None if name is None else driver_name(name), "within": within}


def region(name: str) -> Part:
    return part("region", name)


MAIN = part("main")


class Window:
    """The page in a window of some browser."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def drive(self, function: str, *arguments: Any) -> Any:
        values = ", ".join(json.dumps(argument) for argument in arguments)
        return self.engine.run(f"return JSON.stringify((await driver.{function}({values})) ?? null);")

    def evaluate(self, function: str) -> Any:
        """The result of a JavaScript function."""
        return self.engine.run(f"return JSON.stringify((await ({function})()) ?? null);")

    def until(self, function: str) -> None:
        """Wait until a JavaScript function returns true."""
        self.engine.run(f"await driver.becomes({function}); return 'null';")

    def settle(self) -> None:
        """Wait until nothing is loading."""
        self.drive("calm")

    def go(self, address: str) -> None:
        self.drive("go", address)

    def visit(self, server: Server, key: str, seq: int | None = None) -> str:
        """Open a session of the story, or one of its events. Returns the id of the session."""
        session = server.world.ids[key]
        self.go(f"#/s/{session}" + ("" if seq is None else f"@{seq}"))
        self.there("heading", server.world.memory.sessions.get(session)["title"], MAIN)
        self.settle()
        if seq is None:
            self.gone("region", "Event")
        else:
            self.says(re.compile(rf"position {seq}\b"), region("Event"))
        return session

    def there(self, role: str, name: Name | None = None, within: Part | None = None) -> str:
        """Wait for a part. Returns its accessible name."""
        return str(self.drive("one", part(role, name, within)))

    def gone(self, role: str, name: Name | None = None, within: Part | None = None) -> None:
        self.drive("gone", part(role, name, within))

    def count(self, number: int, role: str, name: Name | None = None, within: Part | None = None) -> None:
        self.drive("count", part(role, name, within), number)

    def says(self, text: Name, within: Part | None = None) -> None:
        self.drive("says", driver_name(text), within)

    def silent(self, text: str, within: Part | None = None) -> None:
        """Wait until a text is not shown."""
        self.drive("silent", text, within)

    def has(self, which: Part, attribute: str, value: Name) -> str:
        """Wait for the value of an attribute or property."""
        return str(self.drive("has", which, attribute, driver_name(value))["is"])

    def in_reach(self, which: Part) -> None:
        """Wait until a part is visible, not covered, and does not move."""
        self.drive("point", which)

    def press(self, role: str, name: Name, within: Part | None = None) -> None:
        for _ in range(CLICK_TRIES):
            x, y = self.drive("point", part(role, name, within))
            self.engine.drag(x, y, 0)
            self.drive("heard", "mouseup", 1)
            if self.drive("hit"):
                return
        raise AssertionError(f"{role} {name!r} moves away when it is pressed")

    def drag(self, which: Part, by: float, across: float = 0.5) -> None:
        x, y = self.drive("point", which, across)
        self.engine.drag(x, y, by)
        self.drive("heard", "mouseup", 1)

    def wheel(self, which: Part, by: float) -> None:
        x, y = self.drive("point", which)
        self.engine.wheel(x, y, by)
        self.drive("heard", "wheel", 1)

    def fill(self, role: str, name: Name, value: str, within: Part | None = None) -> None:
        self.drive("fill", part(role, name, within), value)

    def focus(self, which: Part) -> None:
        self.drive("focus", which)

    def keys(self, *names: str, on: Part | None = None) -> None:
        if on is not None:
            self.focus(on)
        self.engine.keys(names)
        self.drive("heard", "keyup", len(names))

    def type(self, text: str, on: Part | None = None) -> None:
        self.keys(*text, on=on)

    def search(self, text: str) -> None:
        """Type into the search field."""
        self.keys("/")
        self.until("() => document.activeElement.closest('fm-search')")
        self.type(text)

    def row(self, pattern: str) -> str:
        """Scroll to a row of the event list. Returns its name."""
        return str(self.drive("row", pattern))

    def open_row(self, pattern: str) -> None:
        self.press("option", self.row(pattern))

    def command(self, menu: str, name: str) -> None:
        self.settle()
        self.press("button", menu)
        self.press("menuitem", name)

    def confirm(self, name: str) -> None:
        """Press the button of the open dialog, which closes it."""
        self.press("button", name)
        self.gone("dialog")

    @contextmanager
    def looking(self, **look: Any) -> Iterator[None]:
        """Another size or zoom, or other preferences of the system (dark, still)."""
        try:
            self._look(USUAL_LOOK | look)
            yield
        finally:
            self._look(USUAL_LOOK)

    def _look(self, look: dict[str, Any]) -> None:
        self.engine.look(look)
        self.drive("looks", look)
        self.settle()

    def copied(self) -> str:
        return self.engine.clipboard()

    def picture(self, file: Path) -> None:
        self.engine.picture(file)

    def errors(self) -> list[str]:
        return self.engine.errors()
