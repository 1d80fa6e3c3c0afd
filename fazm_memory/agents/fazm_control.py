"""Fazm's control commands: which windows are open, and a message to one of them.

Fazm listens to the distributed notification `com.fazm.control` and answers in files. Both are a debugging
aid of Fazm and may disappear in its next version, so nothing is sent before Fazm has answered. Anybody can
write in /tmp: only files of our own user count.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from fazm_memory.agents.fields import ident, mapping, sequence, text
from fazm_memory.records import dataclass

FAZM_NOTIFICATION = "com.fazm.control"
FAZM_APP = "com.fazm.app"
STATE_FILE = "fazm-control-state.json"
WINDOWS_FILE = "fazm-control-popouts.json"
GET_STATE, LIST_WINDOWS, NEW_WINDOW = "getState", "listPopOuts", "newPopOutChat"
SET_WORKSPACE, SEND = "setWorkspace:", "sendQueryToWindow:"

ANSWER_SECONDS = 1.5
LAUNCH_SECONDS = 20.0
WINDOW_SECONDS = 8.0
POLL_SECONDS = 0.05
LARGEST = 4 << 20
is_session_key = re.compile(r"[A-Za-z0-9._-]{1,200}").fullmatch  # a colon would end it early

CONTINUE = "Please go on with this task where it was left."
Resumed = Literal["exact", "new window", "no answer"]


@dataclass(frozen=True)
class FazmWindow:
    """An open window of Fazm, and whether its agent works at this moment."""

    session_key: str
    title: str = ""
    busy: bool = False


class FazmControl:
    """Sends commands with `post` and reads the answers. Not for the main thread: it waits."""

    def __init__(
        self,
        post: Callable[[str], None],
        *,
        launch: Callable[[], bool] = lambda: False,
        folder: Path = Path("/tmp"),
        patience: float = 1.0,
    ) -> None:
        self.post, self.launch, self.folder, self.patience = post, launch, folder, patience

    def state(self) -> Mapping[str, Any] | None:
        """Fazm's state, or None if it does not answer."""
        return self._ask(GET_STATE, STATE_FILE, ANSWER_SECONDS)

    def windows(self) -> list[FazmWindow] | None:
        """The open windows, or None if Fazm does not answer."""
        found = self._ask(LIST_WINDOWS, WINDOWS_FILE, ANSWER_SECONDS)
        if found is None:
            return None
        rows = [mapping(window) for window in sequence(found.get("popouts"))]
        windows = [
            FazmWindow(ident(row.get("sessionKey")), text(row.get("title")), row.get("isAILoading") is True)
            for row in rows
        ]
        return [window for window in windows if is_session_key(window.session_key)]

    def _keys(self) -> list[str] | None:
        windows = self.windows()
        return None if windows is None else [window.session_key for window in windows]

    def resume(self, session_key: str, folder: str | None, first_message: str) -> Resumed:
        """Continue in the session's own window, or in a new one with the first message.

        A new window starts in Fazm's default folder, which is therefore changed for a moment and restored.
        """
        state = self._state_or_launch()
        before = None if state is None else self._keys()
        if state is None or before is None:
            return "no answer"
        if session_key in before:
            self.post(f"{SEND}{session_key}:{CONTINUE}")
            return "exact"
        default = text(state.get("workspace"))
        try:
            if folder is not None:
                self.post(f"{SET_WORKSPACE}{folder}")
            self.post(NEW_WINDOW)
            opened = self._new_window(before)
        finally:
            if folder is not None and folder != default:
                self.post(f"{SET_WORKSPACE}{default}")
        if opened is None:
            return "no answer"
        self.post(f"{SEND}{opened}:{first_message}")
        return "new window"

    def _state_or_launch(self) -> Mapping[str, Any] | None:
        state = self.state()
        if state is None and self.launch():
            deadline = time.monotonic() + LAUNCH_SECONDS * self.patience
            while state is None and time.monotonic() < deadline:
                state = self.state()
        return state

    def _new_window(self, before: list[str]) -> str | None:
        deadline = time.monotonic() + WINDOW_SECONDS * self.patience
        while time.monotonic() < deadline:
            new = [key for key in self._keys() or () if key not in before]
            if len(new) == 1:
                return new[0]
            time.sleep(POLL_SECONDS)
        return None

    def _ask(self, command: str, name: str, seconds: float) -> Mapping[str, Any] | None:
        """Send a command that is answered in a file, and read the file when it has changed."""
        path = self.folder / name
        before = _stamp(path)
        self.post(command)
        deadline = time.monotonic() + seconds * self.patience
        while _stamp(path) in (before, None):
            if time.monotonic() >= deadline:
                return None
            time.sleep(POLL_SECONDS)
        return _read(path)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino) if found.st_uid == os.getuid() else None


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(descriptor).st_uid != os.getuid():
                return None
            return mapping(json.loads(file.read(LARGEST)))
    except (OSError, ValueError, RecursionError):
        return None
