"""What goes wrong on a Mac and can be read in the source: pyobjc's rules for classes, messages, systems."""

from __future__ import annotations

from tests.appkit.lint import availability, calls, chains, subclasses
from tests.appkit.lint.room import Finding, Room
from tests.appkit.sdk.database import load
from tests.appkit.sdk.stubs import ROOM, ROOT


def lint(sources: dict[str, str]) -> list[Finding]:
    """File → text, all together, since classes and selectors of one are used in another."""
    room = Room.of(load(), sources.items())
    found = {*subclasses.findings(room), *calls.findings(room), *chains.findings(room)}
    return sorted(found | set(availability.findings(room, sources)))


def room_sources() -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(ROOM.rglob("*.py"))
    }
