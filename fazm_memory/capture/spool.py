"""The spool: a folder into which hooks drop what an agent told them, and from which it is drained in order.

A hook writes under a temporary name and renames, so a file is whole or not there. Its time is that of its
last write, which is when the hook ran. A file that cannot be read is set aside with the reason and keeps no
other waiting; one that was read is deleted only when what it told is durable.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fazm_memory.private import private_folder, write_private

FOLDER = "spool"
BAD = "bad"
NAME = re.compile(r"(\d+)-(\d+)\.([a-z][a-z0-9-]{0,30})\.json")
PART = ".part"
STALE_SECONDS = 600.0  # a hook takes milliseconds: a part this old was cut off
MOST = 500
MOST_BYTES = 8 << 20
LARGEST = 64 << 20
MOST_BAD = 200


@dataclass(frozen=True)
class Dropped:
    """What one hook dropped: for which agent, when, and the bytes it was given."""

    path: Path
    agent: str
    at: int
    data: bytes


class Spool:
    def __init__(self, home: Path) -> None:
        self.folder = home / FOLDER

    def prepare(self) -> Path:
        """The folder, made safe. Hooks only ever write into a folder that is there already."""
        private_folder(self.folder.parent)
        return private_folder(self.folder)

    def take(self, most: int = MOST) -> list[Dropped]:
        """The oldest that wait, in the order they were dropped: a bounded number and size of them."""
        batch: list[Dropped] = []
        size = 0
        for path, stat in self._waiting():
            if len(batch) >= most or (batch and size + stat.st_size > MOST_BYTES):
                break
            found = NAME.fullmatch(path.name)
            if found is None or stat.st_size > LARGEST:
                why = (
                    "its name is not one of ours" if found is None else f"it is larger than {LARGEST:,} bytes"
                )
                self.set_aside(path, why)
                continue
            try:
                batch.append(Dropped(path, found[3], stat.st_mtime_ns // 1000, path.read_bytes()))
            except FileNotFoundError:
                continue  # another process drains too
            except OSError as error:
                self.set_aside(path, f"it cannot be read: {error.strerror or error}")
                continue
            size += stat.st_size
        return batch

    def waiting(self) -> int:
        return len(self._waiting())

    def since(self) -> float | None:
        """When the oldest that waits was dropped."""
        return next((stat.st_mtime for _, stat in self._waiting()), None)

    def _waiting(self) -> list[tuple[Path, os.stat_result]]:
        """The files to drain, oldest first. Parts of hooks that were cut off are set aside on the way."""
        try:
            entries = list(os.scandir(self.folder))
        except FileNotFoundError:
            return []
        found = []
        for entry in entries:
            try:
                stat = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if not entry.is_file(follow_symlinks=False):
                continue  # a folder, a link or a pipe: nothing that a hook left
            if not entry.name.endswith(PART):
                found.append((Path(entry.path), stat))
            elif time.time() - stat.st_mtime > STALE_SECONDS:
                self.set_aside(Path(entry.path), "it was cut off while it was written")
        return sorted(found, key=lambda one: (one[1].st_mtime_ns, one[1].st_ctime_ns, one[0].name))

    def done(self, dropped: Iterable[Dropped]) -> None:
        """Delete what is durable now."""
        for one in dropped:
            one.path.unlink(missing_ok=True)

    def set_aside(self, path: Path, why: str) -> None:
        """Move a file that tells nothing out of the way, with the reason beside it."""
        folder = private_folder(self.folder / BAD)
        try:
            path.replace(folder / path.name)
        except FileNotFoundError:
            return
        write_private(folder / f"{path.name}.why", f"{why}\n".encode(), sync=False)
        kept = sorted(folder.glob("*.why"), key=lambda one: one.stat().st_mtime_ns)
        for reason in kept[:-MOST_BAD]:
            reason.unlink(missing_ok=True)
            reason.with_suffix("").unlink(missing_ok=True)

    def bad(self) -> dict[str, str]:
        """What was set aside, and why."""
        reasons = sorted((self.folder / BAD).glob("*.why"))
        return {reason.stem: reason.read_text(encoding="utf-8").strip() for reason in reasons}
