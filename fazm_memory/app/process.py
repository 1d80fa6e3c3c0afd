"""The companion's process: its lock, the boot time and the limit of open files."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fazm_memory.errors import StoreBusy
from fazm_memory.paths import private_file, private_folder

LOCK = "companion.lock"
ATTEMPTS, PAUSE = 10, 0.02  # seconds between attempts to take the lock


@contextmanager
def single_instance(home: Path) -> Iterator[None]:
    """Hold the companion's lock. The system releases it when the process ends."""
    private_folder(home)
    descriptor = os.open(private_file(home / LOCK), os.O_RDWR | os.O_CLOEXEC)
    try:
        if not _lock(descriptor):
            other = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            raise _already_running(other)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Take the lock.

    Try a few times: `companion_pid` in another process holds it for a moment.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _already_running(process: object) -> StoreBusy:
    return StoreBusy(
        f"The companion is already running (process {process})",
        hint="`fazm-memory run --once` works at the same time.",
    )


def check_not_running(home: Path) -> None:
    """Raise StoreBusy while a companion runs."""
    if (pid := companion_pid(home)) is not None:
        raise _already_running(pid)


def companion_pid(home: Path) -> int | None:
    """The process id of the running companion, or None."""
    try:
        descriptor = os.open(home / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(descriptor, 20).decode("ascii", "replace").strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(descriptor)
    return None


STAT = Path("/proc/stat")


def boot_time() -> int | None:
    """When the machine booted, in microseconds since 1970, or None if unknown."""
    import subprocess  # commands only ask whether the companion runs

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


# From sys/resource.h. Process-wide: reading a file that is only in the cloud fails instead of downloading it.
IOPOL_TYPE_VFS_MATERIALIZE_DATALESS_FILES, IOPOL_SCOPE_PROCESS, IOPOL_MATERIALIZE_DATALESS_FILES_OFF = 3, 0, 1


def leave_cloud_files_remote(platform: str = sys.platform) -> None:
    """Keep macOS from downloading iCloud files because we read their folder."""
    if platform == "darwin":
        import ctypes

        ctypes.CDLL(None).setiopolicy_np(
            IOPOL_TYPE_VFS_MATERIALIZE_DATALESS_FILES,
            IOPOL_SCOPE_PROCESS,
            IOPOL_MATERIALIZE_DATALESS_FILES_OFF,
        )


OPEN_FILES = 4096
TOO_MANY_OPEN = (errno.EMFILE, errno.ENFILE)


def raise_open_file_limit() -> int:
    """Raise the limit of open files as far as allowed and useful.

    Returns the new limit.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def too_many_open_files(error: BaseException) -> bool:
    """Whether too many files are open, in this process or on the machine."""
    return isinstance(error, OSError) and error.errno in TOO_MANY_OPEN
