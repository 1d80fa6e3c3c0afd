"""A command that does not end until the test lets it: how to catch a client in the middle of a call.

A named pipe does it without a clock. Reading it blocks until it is opened, and a test can tell that a
reader is waiting because only then can the other end be opened at all.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path


class Gate:
    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._held: int | None = None

    @property
    def command(self) -> str:
        return f"cat '{self.path}'"

    def reached(self) -> bool:
        """Whether the command is waiting; from then on it is held until `open`."""
        if self._held is None:
            try:
                self._held = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
        return self._held is not None

    def open(self) -> None:
        """Let the command end, wherever it stands, so that nothing outlives the test."""
        os.close(os.open(self.path, os.O_RDWR | os.O_NONBLOCK))
        if self._held is not None:
            os.close(self._held)
            self._held = None
