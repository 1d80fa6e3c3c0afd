"""When this machine was started: a call that began before that has not outlived it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

STAT = Path("/proc/stat")


def boot_time() -> int | None:
    """The moment, in microseconds since 1970; None where the system does not say."""
    try:
        if sys.platform == "darwin":
            command = ["/usr/sbin/sysctl", "-n", "kern.boottime"]
            text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout
            found = re.search(r"sec = (\d+)", text)
        else:
            found = re.search(r"^btime (\d+)$", STAT.read_text(), re.MULTILINE)
    except (OSError, subprocess.SubprocessError):
        return None
    return None if found is None else int(found.group(1)) * 1_000_000
