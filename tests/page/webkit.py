"""WebKit, which the Mac's window is made of, through WebKitGTK on a display that nobody sees."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

VIEW = Path(__file__).with_name("webkit_view.py")
SYSTEM = "/usr/bin/python3"  # the one that Debian's gi belongs to
NEEDED = "apt-get install xvfb python3-gi python3-gi-cairo gir1.2-webkit2-4.1"


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


def look(address: str, steps: list[dict[str, str]]) -> dict[str, Any]:
    """What came of the steps: errors of the page, and the step that never came true."""
    with display() as number:
        done = subprocess.run(
            [SYSTEM, str(VIEW), address],
            input=json.dumps(steps),
            env={**os.environ, "DISPLAY": number, "TZ": "UTC"},
            capture_output=True,
            text=True,
            timeout=120,
        )
    if done.returncode != 0:
        pytest.fail(f"WebKitGTK does not run here ({NEEDED}):\n{done.stderr[-800:]}", pytrace=False)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
