"""Private folders and files, durable writes, portable paths and path checks.

Folders and files are readable only by their owner, under any umask. A folder that is a link or belongs to
somebody else is refused, because writing there could hand the log to a stranger.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from fazm_memory.errors import StoreFull, StoreReadOnly, StoreUnsafe
from fazm_memory.lazy import lazy_regex

# Names in the data folder that several packages use. Hook scripts written earlier contain them too.
SPOOL_FOLDER = "spool"
CONTEXT_FOLDER = "context"
SYNC_DATABASE = "sync.db"  # in the folder of the store; without it there is no vault
PAUSE_FILE = "recording-paused.json"

F_GETPATH = 50  # of macOS


def private_folder(path: Path) -> Path:
    """Create the folder if needed, with mode 0700.

    StoreUnsafe if it cannot be trusted.
    """
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
    if found.st_mode & 0o077:
        path.chmod(found.st_mode & 0o700)  # a folder that its owner made read-only stays so
    return path


def _make_folders(path: Path) -> None:
    """Create the folder and its missing parents, durably and with mode 0700."""
    if path.is_dir():
        return
    if not path.parent.is_dir():
        _make_folders(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    path.chmod(0o700)  # the umask may have removed rights of the owner
    sync_folder(path.parent)


def private_file(path: Path) -> Path:
    """Create the file if needed, and set its mode to 0600."""
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
    """Replace the file's content atomically and, with `sync`, durably."""
    import tempfile  # reading needs none of it

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


def write_new_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file of another program atomically, with its folders.

    An existing file is an error.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)
    finally:
        os.unlink(part)


def sync_folder(path: Path) -> None:
    """Make a rename or creation inside the folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        full_sync(descriptor)
    finally:
        os.close(descriptor)


def full_sync(descriptor: int) -> None:
    """Make writes survive a power cut.

    On macOS a plain fsync stops at the disk's cache.
    """
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError:  # not supported, for example on a network share
            os.fsync(descriptor)
    else:
        os.fsync(descriptor)


class NotRegularFile(OSError):
    """The path is a folder, a pipe, a socket or a device."""


def open_regular(path: str | Path, *, links: bool = True, last_link: bool = True) -> BinaryIO:
    """Open a file that another program wrote, for reading.

    Anything but a regular file is refused.

    Never blocks, also not on a named pipe. Links are followed, because people link their dotfiles, unless
    `links` is false: then no part of the path may be one, or `last_link` is false: then the file itself.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if last_link else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags) if links else open_without_links(str(path), flags)
    except OSError as error:
        if error.errno != errno.ELOOP or not os.path.islink(path):
            raise
        raise NotRegularFile(errno.ELOOP, "a link", str(path)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRegularFile(errno.EINVAL, "not a regular file", str(path))
    return open(descriptor, "rb")


def read_regular(path: str | Path, most: int = 64 << 20) -> bytes:
    """The content of a regular file. OSError if it is larger than `most` bytes."""
    with open_regular(path) as file:
        is_larger = os.fstat(file.fileno()).st_size > most  # do not fill memory to find that out
        data = b"" if is_larger else file.read(most + 1)
    if is_larger or len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))
    return data


# Opens a folder only to look up names in it: that needs no permission to list it.
_SEARCH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS_AT_ALL = getattr(os, "O_NOFOLLOW_ANY", 0)  # macOS


def open_without_links(path: str, flags: int, folder: int | None = None) -> int:
    """Open a path of which no part is a symbolic link.

    From "/" or below an open folder.

    Each part is opened relative to the one before, so that a folder which becomes a link meanwhile leads
    nowhere. A link raises NotADirectoryError, or OSError with ELOOP for the last part.
    """
    if _NO_LINKS_AT_ALL:
        return os.open(path, flags | _NO_LINKS_AT_ALL | os.O_CLOEXEC, dir_fd=folder)
    *above, name = [part for part in path.split("/") if part] or ["."]
    here = os.open("/", _SEARCH) if folder is None else os.dup(folder)
    try:
        for part in above:
            below = os.open(part, _SEARCH, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)


def is_utf8(path: str) -> bool:
    """Whether a path is valid text, so that a database can store it."""
    return path.isascii() or not any("\ud800" <= character <= "\udfff" for character in path)


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """A lock on the folder, for what may be created only once, such as a key."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child forked meanwhile would keep it
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Whether somebody holds the lock on the folder now."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def disk_error(error: OSError, path: Path) -> StoreFull | StoreReadOnly:
    """The error to raise for a failed write, with a hint."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"no room left to write {path}", hint="free some space, then run the command again")
    return StoreReadOnly(
        f"{path} cannot be written: {error.strerror or error}",
        hint="check the folder's permissions, or set FAZM_MEMORY_HOME to another folder",
    )


MARK = "\u2302"  # ⌂
HOME = f"{MARK}~"

_MARKED = lazy_regex(f"{MARK}([{MARK}~])")


def to_portable(value: Any, home: str) -> Any:
    """The value with the home folder replaced by a mark in all texts."""
    here = re.compile(rf"(?<![\w.-]){re.escape(home.rstrip('/'))}(?![\w.-])") if home.strip("/") else None

    def rewrite(text: str) -> str:
        doubled = text.replace(MARK, MARK * 2)
        return doubled if here is None else here.sub(HOME, doubled)

    return _each_text(value, rewrite)


def to_local(value: Any, home: str, moved: Mapping[str, str] | None = None) -> Any:
    """The value with paths of this machine.

    Marks are replaced by `home`, and the folders in `moved` by their new paths.
    """
    folder = home.rstrip("/")
    unmarked = _each_text(
        value, lambda text: _MARKED.sub(lambda match: MARK if match[1] == MARK else folder, text)
    )
    return move_folders(unmarked, moved) if moved else unmarked


def move_folders(value: Any, moved: Mapping[str, str]) -> Any:
    """The value with these folders replaced by their new paths in all texts."""
    new = {old.rstrip("/"): path.rstrip("/") for old, path in moved.items()}
    names = "|".join(map(re.escape, sorted(new, key=len, reverse=True)))
    found = re.compile(rf"(?<![\w.-])(?:{names})(?![\w.-])")
    return _each_text(value, lambda text: found.sub(lambda match: new[match[0]], text))


def _each_text(value: Any, rewrite: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, Mapping):
        return {rewrite(str(key)): _each_text(item, rewrite) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_each_text(item, rewrite) for item in value]
    return value


GIT = frozenset({".git", "git~1"})
INVISIBLE = frozenset({"Cf", "Cc", "Mn"})  # ignored by some file systems when they compare names


def unsafe_path_reason(path: str) -> str | None:
    """Why a path below a workspace may not be written to; None when it may."""
    if not path or path.startswith("/"):
        return "it is not a path below the workspace"
    if "\0" in path:
        return "it holds a NUL"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return "it leads out of the workspace"
        if is_git(part):
            return "it is inside .git, which is Git's own"
    return None


def is_git(name: str) -> bool:
    """Whether some file system treats this name as `.git`."""
    decomposed = unicodedata.normalize("NFKD", name)
    visible = "".join(char for char in decomposed if unicodedata.category(char) not in INVISIBLE)
    return visible.partition(":")[0].casefold().rstrip(" .") in GIT


def disk_path(path: str, platform: str = sys.platform) -> str:
    """The real path in the spelling of the disk, which file events use.

    macOS finds a folder under any Unicode form and case of its name, and reports it under its own.
    """
    real = os.path.realpath(path)
    if platform != "darwin":
        return real
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return real
    try:
        return os.fsdecode(fcntl.fcntl(descriptor, F_GETPATH, bytes(1024)).rstrip(b"\0"))
    except OSError:
        return real
    finally:
        os.close(descriptor)


def inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or something below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
