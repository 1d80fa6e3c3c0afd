"""A browser without a driver: Chromium, found on the path and spoken to over two pipes in its own words."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fazm_memory.errors import FazmMemoryError, NotFound

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe", "--window-size=1280,860",
)  # fmt: skip
PATIENCE = 60.0  # seconds for one answer


class Tab:
    """One page. Commands and their answers are JSON, each ended by a zero byte."""

    def __init__(self, write: int, read: int) -> None:
        self.write, self.read = write, read
        self.rest = b""
        self.number = 0
        self.session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Performance"):
            self.send(f"{part}.enable")

    def send(self, method: str, **given: Any) -> dict[str, Any]:
        """The answer to one command; events that come before it are nobody's concern."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": given}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._next(end, method)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise FazmMemoryError(f"the browser refused {method}: {answer['error'].get('message')}")
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, end: float, method: str) -> dict[str, Any]:
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read], [], [], max(0.0, end - time.monotonic()))
            got = os.read(self.read, 1 << 16) if ready else b""
            if not got:
                raise FazmMemoryError(f"the browser did not answer {method}")
            self.rest += got
        line, _, self.rest = self.rest.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        return told

    def ask(self, code: str) -> Any:
        """What an expression comes to in the page; a promise is waited for."""
        told = self.send("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            words = told["exceptionDetails"].get("exception", {}).get("description", "an error")
            raise FazmMemoryError(f"the page failed: {words}")
        return told["result"].get("value")

    def go(self, address: str) -> None:
        self.send("Page.navigate", url=address)

    def wheel(self, x: float, y: float, by: float) -> None:
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)

    def heap(self) -> float:
        """Bytes that scripts hold on to, after a collection."""
        self.send("HeapProfiler.collectGarbage")
        metrics = self.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "JSHeapUsedSize"))


def find_chromium() -> str:
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise NotFound(
        "the page suite needs Chromium, and there is none on the path",
        hint="install chromium (on Debian: apt-get install chromium), then run it again",
    )


@contextmanager
def chromium() -> Iterator[Tab]:
    """A browser with one page and a profile of its own, gone afterwards."""
    program = find_chromium()
    to_browser, write = os.pipe()
    read, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(prefix="fazm-memory-browser-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}', program, *FLAGS,
             f"--user-data-dir={Path(profile)}"],
            pass_fds=[to_browser, from_browser],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Tab(write, read)
        finally:
            os.close(write)
            os.close(read)
            process.terminate()
            process.wait()
