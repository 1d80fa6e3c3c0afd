"""The files of a database, and whether another process has it open.

A database that is set aside while somebody has it open takes along all that is written afterwards, though
that was acknowledged. So whoever sets one aside asks first.
"""

from __future__ import annotations

import fcntl
from pathlib import Path

SIDES = ("", "-wal", "-shm")
OPENED = 1, 128  # how many bytes, and where, whoever has a database open locks in the last of these


def sides(path: Path) -> list[Path]:
    """Itself, its write-ahead log, and what those who have it open share."""
    return [path.with_name(path.name + suffix) for suffix in SIDES]


def in_use(path: Path) -> bool:
    """Whether another process has it open. Not to be asked while this one has: that would lose its locks."""
    try:
        with sides(path)[-1].open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, *OPENED)
    except FileNotFoundError:
        return False
    except (BlockingIOError, PermissionError):
        return True
    return False
