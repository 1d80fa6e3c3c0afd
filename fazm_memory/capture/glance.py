"""A glance at one name of an open folder: what it holds, with its bytes where those may be kept.

Nothing is followed or waited for: a link is told as one, a pipe ends no caller. What has a secret's name is
not read, what is too large only measured.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from fazm_memory.capture.baseline import SECRET, secret
from fazm_memory.log.versions import FILE_CAP, digest_of, too_large
from fazm_memory.model.rewinding import ABSENT, Held

FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Look:
    """What a path holds, with its bytes where they can be kept."""

    held: Held
    data: bytes | None = None


def look_at(folder: int, name: str) -> Look:
    """What one name of an open folder holds."""
    try:
        descriptor = os.open(name, FILE, dir_fd=folder)
    except FileNotFoundError:
        return Look(ABSENT)
    except OSError as error:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        what = "it is a link" if stat.S_ISLNK(found.st_mode) else f"it cannot be read: {error.strerror}"
        return Look(_held(found, what))
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return Look(_held(found, "it is not a plain file"))
    with open(descriptor, "rb") as file:
        if secret(name):
            return Look(_held(found, SECRET))
        if found.st_size > FILE_CAP:
            return Look(_held(found, too_large(found.st_size)))
        data = file.read(FILE_CAP + 1)
    if len(data) > FILE_CAP:
        return Look(_held(found, too_large(len(data))))
    return Look(_held(found, None, digest_of(data)), data)


def _held(found: os.stat_result, reason: str | None, digest: str | None = None) -> Held:
    identity = f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"
    return Held(
        digest, False, reason, identity, found.st_mode, found.st_mtime_ns, found.st_size, found.st_ctime_ns
    )
