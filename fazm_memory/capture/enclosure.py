"""An enclosure: a folder in which files are looked at and written without ever leaving it.

Every step of a path is opened by its name in the folder before it, and a link ends the walk: neither `..` nor
a folder that becomes a link meanwhile leads out. What is replaced or removed is set aside first, looked at,
and put back if it is not what was expected: nobody's bytes are lost to a race.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fazm_memory.capture import rights
from fazm_memory.capture.glance import FILE, Look, look_at
from fazm_memory.capture.swap import exchange, place
from fazm_memory.log.versions import digest_of
from fazm_memory.model import safe_path
from fazm_memory.model.rewinding import ABSENT, Held
from fazm_memory.private import full_sync

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
CHUNK = 1 << 20
OPENED = 0o666  # less the umask: how a new file is made when nobody knows what rights it had
OURS_ALONE = 0o600  # else, until it is whole: what others must not read is in it before they cannot
SPARE = ".fazm-rewind"  # how the names for the way begin
Identity = tuple[int, int]


class Refused(Exception):
    """This path is not written to; the words say why. Nothing was changed."""


class Enclosure:
    """`identity` is what the root was when it was planned for: another folder in its place is refused."""

    def __init__(self, root: str, identity: Identity | None = None) -> None:
        self.root = root
        try:
            self.descriptor = os.open(root, FOLDER)
        except OSError as error:
            raise Refused(f"{root} cannot be opened as a folder: {error.strerror}") from None
        found = os.fstat(self.descriptor)
        self.identity = (found.st_dev, found.st_ino)
        self.made: list[str] = []  # folders that had to be made on the way
        if identity is not None and identity != self.identity:
            self.close()
            raise Refused(f"{root} is another folder than the one that was planned for")

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> Enclosure:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- looking -----------------------------------------------------------------------------------------

    def look(self, path: str) -> Look:
        """What is there now. Links are not followed, neither on the way nor at its end."""
        folders, name = _split(path)
        try:
            with self._folder(folders) as folder:
                return look_at(folder, name)
        except (FileNotFoundError, NotADirectoryError):
            return Look(ABSENT)

    def names(self, path: str) -> list[str]:
        """What a folder holds, by name; nothing where there is none."""
        folders, name = _split(path)
        try:
            with self._folder([*folders, name]) as folder:
                return os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError, Refused):
            return []

    # -- writing -----------------------------------------------------------------------------------------

    def put(self, path: str, data: bytes, was: Held, expected: Held, spare: str) -> None:
        """Have the path hold this content, if it holds what is expected. `spare` is a name for the way."""
        folders, name = _split(path)
        with self._folder(folders, make=expected.absent) as folder:
            self._exact(folder, name)
            try:
                known = was.bits is not None or expected.bits is not None
                descriptor = os.open(spare, NEW, OURS_ALONE if known else OPENED, dir_fd=folder)
            except OSError as error:  # nothing of ours is there yet: whoever has the spare name keeps it
                raise _refused(error, path) from None
            try:
                _write(descriptor, data, was, expected)
                self._still(folders, folder)
                if expected.absent:
                    place(folder, spare, folder, name)
                else:
                    exchange(folder, spare, name, f"{spare}-old")
            except (OSError, Refused) as error:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(spare, dir_fd=folder)
                raise _refused(error, path) from None
            if not expected.absent:
                self._let_go(
                    folder, spare, name, expected,
                    lambda: exchange(folder, spare, name, f"{spare}-old"), mine=digest_of(data),
                )  # fmt: skip
            full_sync(folder)

    def take_away(self, path: str, expected: Held, spare: str) -> None:
        """Remove the file, if it holds what is expected."""
        folders, name = _split(path)
        with self._folder(folders) as folder:
            self._exact(folder, name)
            self._still(folders, folder)
            try:
                place(folder, name, folder, spare)
            except OSError as error:
                raise _refused(error, path) from None
            self._let_go(folder, spare, name, expected, lambda: place(folder, spare, folder, name))
            full_sync(folder)

    def move(self, old: str, new: str, expected: Held) -> None:
        """Give a file its other name, if it holds what is expected and the name is free."""
        (old_folders, old_name), (new_folders, new_name) = _split(old), _split(new)
        with self._folder(old_folders) as here, self._folder(new_folders, make=True) as there:
            self._exact(here, old_name)
            self._exact(there, new_name)
            self._still(old_folders, here)
            self._still(new_folders, there)
            try:
                place(here, old_name, there, new_name)
            except OSError as error:
                raise _refused(error, new) from None
            if not look_at(there, new_name).held.alike(expected):
                place(there, new_name, here, old_name)
                raise Refused("it changed at this very moment")
            full_sync(there)
            full_sync(here)

    def set_bits(self, path: str, bits: int, expected: Held) -> None:
        """Have those use a file who could, if it holds what is expected and may be used as expected."""
        folders, name = _split(path)
        with self._folder(folders) as folder:
            self._exact(folder, name)
            if not look_at(folder, name).held.alike(expected):
                raise Refused("it changed since the plan was made")
            self._still(folders, folder)
            try:
                rights.change(folder, name, expected.bits, bits)
            except rights.NotAsExpected:
                raise Refused("it changed at this very moment") from None
            full_sync(folder)

    def copy_out(self, path: str, target: Enclosure, spare: str, bits: int | None = None) -> None:
        """Copy a plain file, of any size, to the same path of another enclosure where nothing is yet."""
        folders, name = _split(path)
        with self._folder(folders) as here, target._folder(folders, make=True) as there:
            with open(os.open(name, FILE, dir_fd=here), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    raise Refused("it is not a plain file")
                descriptor = os.open(spare, NEW, OURS_ALONE, dir_fd=there)
                with open(descriptor, "wb") as copy:
                    shutil.copyfileobj(file, copy, CHUNK)
                    copy.flush()
                    os.fchmod(descriptor, rights.bits_of(found.st_mode if bits is None else bits))
                    os.utime(descriptor, ns=(found.st_mtime_ns, found.st_mtime_ns))
                    full_sync(descriptor)
            place(there, spare, there, name)

    def settle(self, path: str, spare: str, known: Callable[[bytes], bool]) -> None:
        """What an interrupted write left under the spare name: dropped when it is ours, else put in sight."""
        folders, name = _split(path)
        try:
            with self._folder(folders) as folder:
                for left in (spare, f"{spare}-old"):
                    found = look_at(folder, left)
                    if found.held.absent:
                        continue
                    if found.data is not None and known(found.data):
                        os.unlink(left, dir_fd=folder)
                    else:
                        place(folder, left, folder, in_sight(name, left))
                full_sync(folder)
        except (FileNotFoundError, NotADirectoryError, Refused):
            return  # the folder was never made, or leads elsewhere by now: nothing of ours is there

    def remove_empty(self, path: str) -> bool:
        """Remove a folder that holds nothing; whether it went."""
        folders, name = _split(path)
        try:
            with self._folder(folders) as folder:
                os.rmdir(name, dir_fd=folder)
                full_sync(folder)
        except (OSError, Refused):
            return False  # it holds something, or is none of ours: left as it is
        return True

    # -- one step at a time ------------------------------------------------------------------------------

    @contextmanager
    def _folder(self, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
        current = os.dup(self.descriptor)
        try:
            for depth, part in enumerate(parts):
                if make:
                    self._exact(current, part)
                    try:
                        os.mkdir(part, 0o777, dir_fd=current)
                        self.made.append("/".join(parts[: depth + 1]))
                        full_sync(current)
                    except FileExistsError:
                        pass  # then it is opened, if it is a folder
                try:
                    inner = os.open(part, FOLDER, dir_fd=current)
                except OSError as error:
                    if error.errno in (errno.ELOOP, errno.ENOTDIR) and not _is_file(current, part):
                        raise Refused(f"{part} is a link, which may lead out of the workspace") from None
                    raise
                os.close(current)
                current = inner
            yield current
        except PermissionError as error:
            raise Refused(f"it cannot be written: {error.strerror}") from None
        finally:
            os.close(current)

    def _still(self, parts: Sequence[str], folder: int) -> None:
        """The folder is still where it was walked to, and has not been carried out of the workspace."""
        with self._folder(parts) as again:
            one, other = os.fstat(folder), os.fstat(again)
        if (one.st_dev, one.st_ino) != (other.st_dev, other.st_ino):
            raise Refused("its folder was moved at this very moment")

    def _exact(self, folder: int, name: str) -> None:
        """A name that the file system takes for another one (in case, in Unicode) belongs to another file."""
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if name not in os.listdir(folder):
            raise Refused(f"the file system takes {name!r} for another name")

    def _let_go(
        self,
        folder: int,
        spare: str,
        name: str,
        expected: Held,
        back: Callable[[], None],
        *,
        mine: str | None = None,
    ) -> None:
        """Remove what was set aside if it is what was expected; else put it back, and our own away."""
        if look_at(folder, spare).held.alike(expected):
            os.unlink(spare, dir_fd=folder)
            return
        with contextlib.suppress(FileExistsError):  # somebody has made a new file there: both stay
            back()
        left = look_at(folder, spare).held
        if mine is not None and left.digest == mine:
            os.unlink(spare, dir_fd=folder)
        elif not left.absent:
            place(folder, spare, folder, in_sight(name, spare))
        raise Refused("it changed at this very moment")


def in_sight(name: str, spare: str) -> str:
    """Where something unexpected is left for its owner to find."""
    return f"{name}.kept{spare[len(SPARE) :]}"


def _is_file(folder: int, name: str) -> bool:
    return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _split(path: str) -> tuple[list[str], str]:
    if (why := safe_path.refusal(path)) is not None:
        raise Refused(why)
    *folders, name = path.split("/")
    return folders, name


def _write(descriptor: int, data: bytes, was: Held, expected: Held) -> None:
    """A new file gets this content and, where they are known, the rights and the time it had.

    Where its rights are not known, those of the file whose place it takes are the best there is.
    """
    bits = expected.bits if was.bits is None else was.bits
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if bits is not None:
            os.fchmod(descriptor, rights.bits_of(bits))
        if was.mtime_ns is not None:
            os.utime(descriptor, ns=(was.mtime_ns, was.mtime_ns))
        full_sync(descriptor)


def _refused(error: OSError | Refused, path: str) -> Refused:
    if isinstance(error, Refused):
        return error
    if isinstance(error, FileExistsError):
        return Refused("somebody made a file of that name at this very moment")
    return Refused(f"{path} cannot be written: {error.strerror}")
