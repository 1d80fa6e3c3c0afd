"""What a session's file operations say, as a value: apart from the learner, which takes a moment to load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fazm_memory.model.naming.convention import Convention
    from fazm_memory.model.naming.skips import Skipped


@dataclass(frozen=True)
class Folder:
    """A folder the session worked in, and how far it came."""

    path: str
    processed: int
    total: int


@dataclass(frozen=True)
class Learned:
    """What a session's file operations say; the files of a folder are its processed and its skipped ones."""

    conventions: tuple[Convention, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    folders: tuple[Folder, ...] = ()
