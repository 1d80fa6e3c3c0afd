"""What a session's file operations say, as a value: apart from the learner, which takes a moment to load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fazm_memory.model.counting import plural

if TYPE_CHECKING:
    from fazm_memory.model.naming.convention import Convention
    from fazm_memory.model.naming.skips import Skipped

NO_RULE = "no rule found"  # said of files that were left, when nothing tells them from those that were not


@dataclass(frozen=True)
class Folder:
    """A folder the session worked in, and how far it came. Unless it was `listed`, nobody knows how many
    files it has, and `total` only says how many are known of."""

    path: str
    processed: int
    total: int
    listed: bool = True


def how_completely(processed: int, total: int, listed: bool, verb: str = "") -> str:
    """How far a folder came, in words: `3 of 5 files processed`."""
    if listed:
        return f"{processed:,} of {plural(total, 'file')}{verb}"
    return f"{plural(processed, 'file')}{verb}, of how many is not known"


@dataclass(frozen=True)
class Learned:
    """What a session's file operations say; the files of a folder are its processed and its skipped ones."""

    conventions: tuple[Convention, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    folders: tuple[Folder, ...] = ()
