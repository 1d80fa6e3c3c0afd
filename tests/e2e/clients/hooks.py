"""A plain shell hook that keeps what a client hands it, one file per event.

It stands beside the memory's own hooks and shows, independently of them, what the client really said.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# Written under another name first: a killed client must not leave half an event that looks whole.
_SCRIPT = """#!/bin/sh
part="$1/$(date +%s%N)-$$.part"
cat >"$part" && mv "$part" "${part%.part}.json"
"""


class HookLog:
    """The events one client's hooks received, in the order they were fired."""

    def __init__(self, folder: Path) -> None:
        self._events = folder / "events"
        self._events.mkdir(parents=True)
        self._script = folder / "keep-event"
        self._script.write_text(_SCRIPT)
        self._script.chmod(0o755)

    @property
    def command(self) -> str:
        return f"'{self._script}' '{self._events}'"

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted(self._events.glob("*.json"))]

    @property
    def names(self) -> list[str]:
        return [event["hook_event_name"] for event in self.events]

    def named(self, *names: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["hook_event_name"] in names]
