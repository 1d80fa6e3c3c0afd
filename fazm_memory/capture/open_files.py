"""How many files this process may have open: as many as it is granted, and what it means when there are none.

A companion watches folders and serves pages, and many systems begin with 256 files. That all are in use is
trouble that passes.
"""

from __future__ import annotations

import errno
import resource

ENOUGH = 4096
NONE_LEFT = (errno.EMFILE, errno.ENFILE)


def allow_enough() -> int:
    """Raise the limit as far as it may be, and is of use; the limit from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def none_left(error: BaseException) -> bool:
    """Whether this is an error because too many files are open, here or on the whole machine."""
    return isinstance(error, OSError) and error.errno in NONE_LEFT
