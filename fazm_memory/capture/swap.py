"""Renames that lose nothing: two names exchanged at once, or a name given only if nobody has it yet.

A plain rename throws away whatever has the new name at that moment, even what a person saved there a moment
ago. Linux and macOS both have better ones, which Python does not reach. Where a file system lacks them, the
same is done in small steps, none of which can overwrite anything.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys
from collections.abc import Callable

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
    made: Rename = function
    return made


def _try(old_folder: int, old: str, new_folder: int, new: str, flag: int) -> bool:
    """Whether the system did it; False when it does not know how, OSError when it would not."""
    rename = _system_rename()
    if rename is None:
        return False
    if rename(old_folder, os.fsencode(old), new_folder, os.fsencode(new), flag) == 0:
        return True
    failed = ctypes.get_errno()
    if failed in LACKING:
        return False
    raise OSError(failed, os.strerror(failed), new)


def place(old_folder: int, old: str, new_folder: int, new: str) -> None:
    """Give a file another name; FileExistsError when somebody has that name."""
    if _try(old_folder, old, new_folder, new, EXCLUSIVE):
        return
    # A second name never takes the place of another file; the first one goes once it is there.
    os.link(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder, follow_symlinks=False)
    os.unlink(old, dir_fd=old_folder)


def exchange(folder: int, one: str, other: str, spare: str) -> None:
    """Exchange what two names of a folder hold. `spare` is a name nobody has, for the way."""
    if _try(folder, one, folder, other, EXCHANGE):
        return
    place(folder, other, folder, spare)
    try:
        place(folder, one, folder, other)
    except OSError:
        place(folder, spare, folder, other)
        raise
    place(folder, spare, folder, one)
