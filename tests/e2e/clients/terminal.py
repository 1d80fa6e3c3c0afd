"""Claude Code at a terminal: what only a person at the keyboard can do, such as refusing with a reason."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.clients.claude import Claude

ESCAPES = re.compile(rb"\x1b\][^\x07]*\x07|\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[()=>78][0-9A-B]?")
DOWN, TAB, ENTER = "\x1b[B", "\t", "\r"


class Terminal:
    """A running client. `see` waits until a text has been drawn since the last key or text."""

    def __init__(self, client: Claude, *arguments: str) -> None:
        self._skip_the_introduction(client)
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        self._master = master
        self._drawn = b""
        self._news = threading.Condition()
        self.process = client.room.spawn(
            [str(client.binary), *arguments],
            env=client.environment({"TERM": "xterm-256color"}),
            cwd=client.workspace,
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def see(self, text: str, timeout: float = 120) -> None:
        wanted = "".join(text.split())
        with self._news:
            found = self._news.wait_for(lambda: wanted in self._screen(), timeout)
        assert found, f"not drawn within {timeout} s: {text}\n{self._screen()[-2000:]}"

    def press(self, *keys: str) -> None:
        with self._news:
            self._drawn = b""
        for key in keys:
            os.write(self._master, key.encode())

    def type(self, text: str) -> None:
        """Type a text, wait until it is drawn, and send it."""
        self.press(text)
        self.see(text)
        self.press(ENTER)

    def end(self, timeout: float = 120) -> int:
        """Wait until the client has ended."""
        try:
            return self.process.wait(timeout)
        finally:
            self.close()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._thread.join()

    def _screen(self) -> str:
        return "".join(ESCAPES.sub(b"", self._drawn).decode("utf-8", "replace").split())

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the client has ended
                data = b""
            if not data:
                os.close(self._master)
                return
            with self._news:
                self._drawn += data
                self._news.notify_all()

    def _skip_the_introduction(self, client: Claude) -> None:
        known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        started = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "9.9.9",
            "numStartups": 5,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [client.env["ANTHROPIC_API_KEY"]], "rejected": []},
            "projects": {str(client.workspace): known},
        }
        (client.config_dir / ".claude.json").write_text(json.dumps(started))


def wait_until_written(folder: Path, text: str, timeout: float = 120) -> None:
    """Wait until a transcript below the folder has a text."""
    found = lambda: any(text in path.read_text() for path in folder.glob("*/*.jsonl"))  # noqa: E731
    wait_until(found, f"is written: {text}", timeout)


def wait_until(holds: Callable[[], bool], what: str, timeout: float = 120) -> None:
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
        time.sleep(0.05)
