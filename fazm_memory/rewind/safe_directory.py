"""Read and write files below one folder without ever leaving it.

Each part of a path is opened relative to the folder before it, without following links. So neither `..` nor
a folder that becomes a link meanwhile leads out. A file that is replaced or removed is first renamed, then
checked, and put back if it is not the expected one. No content is lost to a race.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fazm_memory import paths
from fazm_memory.paths import full_sync
from fazm_memory.records import dataclass
from fazm_memory.rewind.plan import ABSENT, FileContent
from fazm_memory.store import FILE_CAP, PERMISSION_BITS, digest_of, too_large
from fazm_memory.watch import SECRET_NAME, has_secret_name

LACKING = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
Rename = Callable[[int, bytes, int, bytes, int], int]
EXCLUSIVE, EXCHANGE = (4, 2) if sys.platform == "darwin" else (1, 2)


@functools.cache
def _system_rename() -> Rename | None:
    library = ctypes.CDLL(None, use_errno=True)
    function = getattr(library, "renameatx_np" if sys.platform == "darwin" else "renameat2", None)
    if function is None:
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    rename: Rename = function
    return rename


def _try(old_folder: int, old: str, new_folder: int, new: str, flag: int) -> bool:
    """Rename with a flag. False if the system does not support it."""
    rename = _system_rename()
    if rename is None:
        return False
    if rename(old_folder, os.fsencode(old), new_folder, os.fsencode(new), flag) == 0:
        return True
    failed = ctypes.get_errno()
    if failed in LACKING:
        return False
    raise OSError(failed, os.strerror(failed), new)


def rename_exclusive(old_folder: int, old: str, new_folder: int, new: str) -> None:
    """Rename a file. Raises FileExistsError if the new name is taken."""
    if _try(old_folder, old, new_folder, new, EXCLUSIVE):
        return
    # A link never replaces another file.
    os.link(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder, follow_symlinks=False)
    os.unlink(old, dir_fd=old_folder)


def exchange_names(folder: int, one: str, other: str, spare: str) -> None:
    """Exchange two files of a folder. `spare` is an unused name."""
    if _try(folder, one, folder, other, EXCHANGE):
        return
    rename_exclusive(folder, other, folder, spare)
    try:
        rename_exclusive(folder, one, folder, other)
    except OSError:
        rename_exclusive(folder, spare, folder, other)
        raise
    rename_exclusive(folder, spare, folder, one)


NAMED = os.O_NOFOLLOW | os.O_CLOEXEC


class NotAsExpected(Exception):
    """The file is not a plain file or has unexpected permissions. It was not changed."""


def bits_of(mode: int) -> int:
    return mode & PERMISSION_BITS


def change_mode(folder: int, name: str, expected: int | None, bits: int) -> None:
    """Set the permissions of a plain file, if it has the expected ones."""
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


def names_in(folder: int) -> list[str]:
    """The names in an open folder.

    Btrfs lists a folder as it was when it was opened, so open it again.
    """
    again = os.open(".", FOLDER, dir_fd=folder)
    try:
        return os.listdir(again)
    finally:
        os.close(again)


FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class FoundFile:
    """The content of a path, with its bytes if they can be stored."""

    held: FileContent
    data: bytes | None = None


def find_file(folder: int, name: str) -> FoundFile:
    """The content of a file in an open folder."""
    try:
        descriptor = os.open(name, FILE, dir_fd=folder)
    except FileNotFoundError:
        return FoundFile(ABSENT)
    except OSError as error:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        what = "it is a link" if stat.S_ISLNK(found.st_mode) else f"it cannot be read: {error.strerror}"
        return FoundFile(_content(found, what))
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return FoundFile(_content(found, "it is not a plain file"))
    with open(descriptor, "rb") as file:
        if has_secret_name(name):
            return FoundFile(_content(found, SECRET_NAME))
        if found.st_size > FILE_CAP:
            return FoundFile(_content(found, too_large(found.st_size)))
        data = file.read(FILE_CAP + 1)
    if len(data) > FILE_CAP:
        return FoundFile(_content(found, too_large(len(data))))
    return FoundFile(_content(found, None, digest_of(data)), data)


def _content(found: os.stat_result, reason: str | None, digest: str | None = None) -> FileContent:
    identity = f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"
    return FileContent(
        digest, False, reason, identity, found.st_mode, found.st_mtime_ns, found.st_size, found.st_ctime_ns
    )


FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
CHUNK = 1 << 20
OPENED = 0o666  # less the umask: for a new file whose permissions are not known
OURS_ALONE = 0o600  # otherwise, until the file is complete
SPARE = ".fazm-rewind"  # prefix of temporary names
Identity = tuple[int, int]


class WriteRefused(Exception):
    """This path is not written. The message says why. Nothing was changed."""


class SafeDirectory:
    """A folder opened for safe access.

    With `identity`, another folder in its place is refused.
    """

    def __init__(self, root: str, identity: Identity | None = None) -> None:
        self.root = root
        try:
            self.descriptor = os.open(root, FOLDER)
        except OSError as error:
            raise WriteRefused(f"{root} cannot be opened as a folder: {error.strerror}") from None
        found = os.fstat(self.descriptor)
        self.identity = (found.st_dev, found.st_ino)
        self.made: list[str] = []  # folders that were created
        if identity is not None and identity != self.identity:
            self.close()
            raise WriteRefused(f"{root} is another folder than the one that was planned for")

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> SafeDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- looking -----------------------------------------------------------------------------------------

    def look(self, path: str) -> FoundFile:
        """The present content of a path. Links are not followed."""
        folders, name = _split(path)
        try:
            with self._folder(folders) as folder:
                return find_file(folder, name)
        except (FileNotFoundError, NotADirectoryError):
            return FoundFile(ABSENT)

    def current_content(self, path: str) -> tuple[FileContent, str | None]:
        """The content of a path now, and why it may not be written, if so."""
        if (barred := paths.unsafe_path_reason(path)) is not None:
            return FileContent(reason=barred), barred
        try:
            return self.look(path).held, None
        except (WriteRefused, OSError) as error:
            return FileContent(reason=str(error)), str(error)

    def names(self, path: str) -> list[str]:
        """The names in a folder, or none if it does not exist."""
        folders, name = _split(path)
        try:
            with self._folder([*folders, name]) as folder:
                return names_in(folder)
        except (FileNotFoundError, NotADirectoryError, WriteRefused):
            return []

    # -- writing -----------------------------------------------------------------------------------------

    def put(self, path: str, data: bytes, was: FileContent, expected: FileContent, spare: str) -> None:
        """Write the file, if its content is the expected one. `spare` is a temporary name."""
        folders, name = _split(path)
        with self._folder(folders, make=expected.absent) as folder:
            self._exact(folder, name)
            try:
                known = was.bits is not None or expected.bits is not None
                descriptor = os.open(spare, NEW, OURS_ALONE if known else OPENED, dir_fd=folder)
            except OSError as error:  # do not remove a file of that name: it is not ours
                raise _refused(error, path) from None
            try:
                _write(descriptor, data, was, expected)
                self._still(folders, folder)
                if expected.absent:
                    rename_exclusive(folder, spare, folder, name)
                else:
                    exchange_names(folder, spare, name, f"{spare}-old")
            except (OSError, WriteRefused) as error:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(spare, dir_fd=folder)
                raise _refused(error, path) from None
            if not expected.absent:
                self._let_go(
                    folder, spare, name, expected,
                    lambda: exchange_names(folder, spare, name, f"{spare}-old"), mine=digest_of(data),
                )  # fmt: skip
            full_sync(folder)

    def take_away(self, path: str, expected: FileContent, spare: str) -> None:
        """Remove the file, if its content is the expected one."""
        folders, name = _split(path)
        with self._folder(folders) as folder:
            self._exact(folder, name)
            self._still(folders, folder)
            try:
                rename_exclusive(folder, name, folder, spare)
            except OSError as error:
                raise _refused(error, path) from None
            self._let_go(folder, spare, name, expected, lambda: rename_exclusive(folder, spare, folder, name))
            full_sync(folder)

    def move(self, old: str, new: str, expected: FileContent) -> None:
        """Rename the file, if its content is the expected one and the new name is free."""
        (old_folders, old_name), (new_folders, new_name) = _split(old), _split(new)
        with self._folder(old_folders) as here, self._folder(new_folders, make=True) as there:
            self._exact(here, old_name)
            self._exact(there, new_name)
            self._still(old_folders, here)
            self._still(new_folders, there)
            try:
                rename_exclusive(here, old_name, there, new_name)
            except OSError as error:
                raise _refused(error, new) from None
            if not find_file(there, new_name).held.alike(expected):
                rename_exclusive(there, new_name, here, old_name)
                raise WriteRefused("it changed at this very moment")
            full_sync(there)
            full_sync(here)

    def set_bits(self, path: str, bits: int, expected: FileContent) -> None:
        """Set the permissions of a file.

        Its content and permissions must be the expected ones.
        """
        folders, name = _split(path)
        with self._folder(folders) as folder:
            self._exact(folder, name)
            if not find_file(folder, name).held.alike(expected):
                raise WriteRefused("it changed since the plan was made")
            self._still(folders, folder)
            try:
                change_mode(folder, name, expected.bits, bits)
            except NotAsExpected:
                raise WriteRefused("it changed at this very moment") from None
            full_sync(folder)

    def copy_out(self, path: str, target: SafeDirectory, spare: str, bits: int | None = None) -> None:
        """Copy a plain file of any size to another directory.

        The path stays the same and must not exist there.
        """
        folders, name = _split(path)
        with self._folder(folders) as here, target._folder(folders, make=True) as there:
            with open(os.open(name, FILE, dir_fd=here), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    raise WriteRefused("it is not a plain file")
                descriptor = os.open(spare, NEW, OURS_ALONE, dir_fd=there)
                with open(descriptor, "wb") as copy:
                    shutil.copyfileobj(file, copy, CHUNK)
                    copy.flush()
                    os.fchmod(descriptor, bits_of(found.st_mode if bits is None else bits))
                    os.utime(descriptor, ns=(found.st_mtime_ns, found.st_mtime_ns))
                    full_sync(descriptor)
            rename_exclusive(there, spare, there, name)

    def settle(self, path: str, spare: str, known: Callable[[bytes], bool]) -> None:
        """Clean up after an interrupted write.

        Removes our own file and renames any other to a visible name.
        """
        folders, name = _split(path)
        try:
            with self._folder(folders) as folder:
                for left in (spare, f"{spare}-old"):
                    found = find_file(folder, left)
                    if found.held.absent:
                        continue
                    if found.data is not None and known(found.data):
                        os.unlink(left, dir_fd=folder)
                    else:
                        rename_exclusive(folder, left, folder, visible_name(name, left))
                full_sync(folder)
        except (FileNotFoundError, NotADirectoryError, WriteRefused):
            return  # no such folder in the workspace, so nothing to clean up

    def remove_empty(self, path: str) -> bool:
        """Remove a folder if it is empty. Returns whether it was removed."""
        folders, name = _split(path)
        try:
            with self._folder(folders) as folder:
                os.rmdir(name, dir_fd=folder)
                full_sync(folder)
        except (OSError, WriteRefused):
            return False
        return True

    # -- opening and checking ----------------------------------------------------------------------------

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
                        pass
                try:
                    inner = os.open(part, FOLDER, dir_fd=current)
                except OSError as error:
                    if error.errno in (errno.ELOOP, errno.ENOTDIR) and not _is_file(current, part):
                        raise WriteRefused(f"{part} is a link, which may lead out of the workspace") from None
                    raise
                os.close(current)
                current = inner
            yield current
        except PermissionError as error:
            raise WriteRefused(f"it cannot be written: {error.strerror}") from None
        finally:
            os.close(current)

    def _still(self, parts: Sequence[str], folder: int) -> None:
        """Refuse a folder that was moved after it was opened.

        It may be outside the workspace.
        """
        with self._folder(parts) as again:
            moved = not os.path.samestat(os.fstat(folder), os.fstat(again))
        if moved:
            raise WriteRefused("its folder was moved at this very moment")

    def _exact(self, folder: int, name: str) -> None:
        """Refuse a name that differs from the stored one only in case or in Unicode form."""
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if name not in names_in(folder):
            raise WriteRefused(f"the file system takes {name!r} for another name")

    def _let_go(
        self,
        folder: int,
        spare: str,
        name: str,
        expected: FileContent,
        back: Callable[[], None],
        *,
        mine: str | None = None,
    ) -> None:
        """Remove the replaced file if it is the expected one. Otherwise put it back."""
        if find_file(folder, spare).held.alike(expected):
            os.unlink(spare, dir_fd=folder)
            return
        with contextlib.suppress(FileExistsError):  # a new file has that name: keep both
            back()
        left = find_file(folder, spare).held
        if mine is not None and left.digest == mine:
            os.unlink(spare, dir_fd=folder)
        elif not left.absent:
            rename_exclusive(folder, spare, folder, visible_name(name, spare))
        raise WriteRefused("it changed at this very moment")


def visible_name(name: str, spare: str) -> str:
    """The name under which an unexpected file is left for its owner."""
    return f"{name}.kept{spare[len(SPARE) :]}"


def _is_file(folder: int, name: str) -> bool:
    return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _split(path: str) -> tuple[list[str], str]:
    if (why := paths.unsafe_path_reason(path)) is not None:
        raise WriteRefused(why)
    *folders, name = path.split("/")
    return folders, name


def _write(descriptor: int, data: bytes, was: FileContent, expected: FileContent) -> None:
    """Write the content, with the old permissions and time if known.

    If the old permissions are not known, use those of the file that is replaced.
    """
    bits = expected.bits if was.bits is None else was.bits
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if bits is not None:
            os.fchmod(descriptor, bits_of(bits))
        if was.mtime_ns is not None:
            os.utime(descriptor, ns=(was.mtime_ns, was.mtime_ns))
        full_sync(descriptor)


def _refused(error: OSError | WriteRefused, path: str) -> WriteRefused:
    if isinstance(error, WriteRefused):
        return error
    if isinstance(error, FileExistsError):
        return WriteRefused("somebody made a file of that name at this very moment")
    return WriteRefused(f"{path} cannot be written: {error.strerror}")
