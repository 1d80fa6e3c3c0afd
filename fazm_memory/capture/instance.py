"""One companion a home: a lock that ends with its process, and that others can look at."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fazm_memory.errors import StoreBusy
from fazm_memory.private import private_file, private_folder

LOCK = "companion.lock"


@contextmanager
def only_one(home: Path) -> Iterator[None]:
    """Hold the lock of this home's companion; the system lets go of it however the process ends."""
    private_folder(home)
    descriptor = os.open(private_file(home / LOCK), os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            raise StoreBusy(
                f"the companion is already running (process {other})",
                hint="one is enough: it takes in everything; `fazm-memory run --once` works beside it",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def running(home: Path) -> int | None:
    """The process that is this home's companion, if there is one."""
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
