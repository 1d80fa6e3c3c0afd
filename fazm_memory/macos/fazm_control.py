"""Talking to Fazm: messages by its control notification, once it has shown that it hears them.

The messages are a debugging aid of Fazm and may be gone in its next version. So it is asked for its state
first, and only if it answers, in the file it answers in, is anything else said.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from Foundation import NSDistributedNotificationCenter

from fazm_memory.macos.main_thread import ask_main

NAME = "com.fazm.control"
STATE = Path("/tmp/fazm-control-state.json")
PATIENCE = 1.5  # seconds; Fazm answers at once or not at all
LOOK = 0.05


def tell_fazm(messages: Sequence[str], *, state: Path = STATE, patience: float = PATIENCE) -> bool:
    """Send these in order; False when Fazm is not there to hear them. Not on the main thread: it waits."""
    before = _stamp(state)
    _post("getState")
    deadline = time.monotonic() + patience
    while _stamp(state) == before:
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOOK)
    for message in messages:
        _post(message)
    return True


def _post(command: str) -> None:
    def post() -> None:
        center = NSDistributedNotificationCenter.defaultCenter()
        center.postNotificationName_object_userInfo_deliverImmediately_(
            NAME, None, {"command": command}, True
        )

    ask_main(post)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Of our own user's file alone: anybody can write in /tmp."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino) if found.st_uid == os.getuid() else None
