"""Folders and files that only their owner can read, under any umask.

A log of what an agent did is as private as the disk it worked on. A folder that is a link, or belongs to
somebody else, or that others may write to, is refused: writing there could hand the log to a stranger.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fazm_memory.errors import StoreFull, StoreReadOnly, StoreUnsafe


def private_folder(path: Path) -> Path:
    """The folder, made 0700 if it was not there; StoreUnsafe when it cannot be trusted."""
    try:
        _make_folders(path)
    except FileExistsError as error:
        hint = "move it away, or set FAZM_MEMORY_HOME"
        raise StoreUnsafe(f"{error.filename} is not a folder", hint=hint) from None
    except OSError as error:
        raise disk_error(error, path) from error
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise StoreUnsafe(
            f"{path} is a symbolic link, which could point a private log anywhere",
            hint="use the real folder: set FAZM_MEMORY_HOME to where the link points",
        )
    if not stat.S_ISDIR(found.st_mode):
        raise StoreUnsafe(f"{path} is not a folder", hint="move it away, or set FAZM_MEMORY_HOME")
    if found.st_uid != os.geteuid():
        raise StoreUnsafe(
            f"{path} belongs to user {found.st_uid}, not to you (user {os.geteuid()})",
            hint="give it to yourself with chown, or set FAZM_MEMORY_HOME to a folder of your own",
        )
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)
    return path


def _make_folders(path: Path) -> None:
    """Make the folder and those above it that are missing, all of them 0700 and there after a power cut."""
    if path.is_dir():
        return
    if not path.parent.is_dir():
        _make_folders(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    path.chmod(0o700)  # a umask can only take rights away, even our own
    sync_folder(path.parent)


def private_file(path: Path) -> Path:
    """The file, made empty and 0600 if it was not there, and 0600 again if it had been opened up."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if path.is_symlink():
            raise StoreUnsafe(f"{path} is a symbolic link", hint="remove the link") from error
        raise disk_error(error, path) from error
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != 0o600:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    return path


def write_private(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace the file's content at once and, unless told otherwise, durably; or leave it as it was."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o600)  # mkstemp's 0600 less the umask
                file.write(data)
                if sync:
                    file.flush()
                    full_sync(file.fileno())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
        if sync:
            sync_folder(path.parent)
    except OSError as error:
        raise disk_error(error, path) from error


def sync_folder(path: Path) -> None:
    """Make a rename or creation inside the folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        full_sync(descriptor)
    finally:
        os.close(descriptor)


def full_sync(descriptor: int) -> None:
    """Make what was written survive a power cut; on macOS a plain fsync stops at the disk's own cache."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError:  # a file system without it, such as a network share: the best there is
            os.fsync(descriptor)
    else:
        os.fsync(descriptor)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One process at a time in here: for what may be made only once, such as a key."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing alone would leave it to a child forked meanwhile
        os.close(descriptor)


def disk_error(error: OSError, path: Path) -> StoreFull | StoreReadOnly:
    """An operating system's refusal in words a person can act on."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"no room left to write {path}", hint="free some space, then run the command again")
    return StoreReadOnly(
        f"{path} cannot be written: {error.strerror or error}",
        hint="check the folder's permissions, or set FAZM_MEMORY_HOME to another folder",
    )
