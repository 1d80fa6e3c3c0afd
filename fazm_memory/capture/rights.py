"""The rights of a file: who may read, write and run it, changed through an open folder and no link.

A file that its own rights keep anybody from opening can still be given others: on Linux through a descriptor
that only names it, on macOS by its name without following a link.
"""

from __future__ import annotations

import os
import stat
import sys

from fazm_memory.log.versions import BITS

NAMED = os.O_NOFOLLOW | os.O_CLOEXEC


class NotAsExpected(Exception):
    """The file is not a plain one, or has other rights than it should have: it was left alone."""


def bits_of(mode: int) -> int:
    return mode & BITS


def change(folder: int, name: str, expected: int | None, bits: int) -> None:
    """Give a plain file of an open folder these rights, if it has those that are expected."""
    if sys.platform == "darwin":
        _check(os.stat(name, dir_fd=folder, follow_symlinks=False), expected)
        os.chmod(name, bits_of(bits), dir_fd=folder, follow_symlinks=False)
    else:
        descriptor = os.open(name, NAMED | os.O_PATH, dir_fd=folder)
        try:
            _check(os.fstat(descriptor), expected)
            os.chmod(f"/proc/self/fd/{descriptor}", bits_of(bits))
        finally:
            os.close(descriptor)


def _check(found: os.stat_result, expected: int | None) -> None:
    if not stat.S_ISREG(found.st_mode) or (expected is not None and bits_of(found.st_mode) != expected):
        raise NotAsExpected
