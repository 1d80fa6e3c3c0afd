"""The spool: a folder where hooks leave events and from which they are read in order.

A file has one JSON object, so it is complete when that is. One that is still being written waits. Its time is
that of its last write. A file that cannot be read is set aside with the reason. A file is deleted only when
its events are durable.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import SPOOL_FOLDER, private_folder, read_regular, write_private
from fazm_memory.records import dataclass

BAD = "bad"
NAME = lazy_regex(r"(\d+)-(\d+)\.([a-z][a-z0-9-]{0,30})\.json")
PART_SUFFIX = ".part"
STALE_SECONDS = 600.0  # a hook takes milliseconds, so an older part was cut off
WRITTEN_SECONDS = 10.0  # without a write, after which an event counts as complete
MOST = 500
MOST_BYTES = 8 << 20
LARGEST = 64 << 20
MOST_BAD = 200


@dataclass(frozen=True)
class SpoolFile:
    """What a hook left: for which agent, when, and its input."""

    path: Path
    agent: str
    at: int
    data: bytes

    @property
    def may_grow(self) -> bool:
        """Whether its hook may still be writing it."""
        return time.time() - self.at / 1_000_000 < WRITTEN_SECONDS


class Spool:
    def __init__(self, home: Path) -> None:
        self.folder = home / SPOOL_FOLDER

    def prepare(self) -> Path:
        """Create the private folder. Hooks write only into an existing folder."""
        private_folder(self.folder.parent)
        return private_folder(self.folder)

    def take(self, most: int = MOST) -> list[SpoolFile]:
        """The oldest files in their order, limited in number and size."""
        batch: list[SpoolFile] = []
        size = 0
        for path, stat in self._waiting():
            if len(batch) >= most or (batch and size + stat.st_size > MOST_BYTES):
                break
            found = NAME.fullmatch(path.name)
            if found is None or stat.st_size > LARGEST:
                why = (
                    "Its name is not that of a hook event."
                    if found is None
                    else f"It is larger than {LARGEST:,} bytes."
                )
                self.set_aside(path, why)
                continue
            try:
                batch.append(SpoolFile(path, found[3], stat.st_mtime_ns // 1000, read_regular(path, LARGEST)))
            except FileNotFoundError:
                continue  # another process reads the spool too
            except OSError as error:
                self.set_aside(path, f"It cannot be read: {error.strerror or error}")
                continue
            size += stat.st_size
        return batch

    def waiting(self) -> int:
        return len(self._waiting())

    def since(self) -> float | None:
        """The time of the oldest waiting file."""
        return next((stat.st_mtime for _, stat in self._waiting()), None)

    def _waiting(self) -> list[tuple[Path, os.stat_result]]:
        """The complete files, oldest first. Old incomplete files are set aside."""
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
                continue  # no hook leaves a folder, a link or a pipe
            if not entry.name.endswith(PART_SUFFIX):
                found.append((Path(entry.path), stat))
            elif time.time() - stat.st_mtime > STALE_SECONDS:
                self.set_aside(Path(entry.path), "It was cut off while it was written.")
        return sorted(found, key=lambda file: (file[1].st_mtime_ns, file[1].st_ctime_ns, file[0].name))

    def done(self, files: Iterable[SpoolFile]) -> None:
        """Delete files whose events are durable."""
        for file in files:
            file.path.unlink(missing_ok=True)

    def set_aside(self, path: Path, why: str) -> None:
        """Move an unreadable file away, with the reason beside it."""
        folder = private_folder(self.folder / BAD)
        try:
            path.replace(folder / path.name)
        except FileNotFoundError:
            return
        write_private(folder / f"{path.name}.why", f"{why}\n".encode(), sync=False)
        reasons = sorted(folder.glob("*.why"), key=lambda file: file.stat().st_mtime_ns)
        for reason in reasons[:-MOST_BAD]:
            reason.unlink(missing_ok=True)
            reason.with_suffix("").unlink(missing_ok=True)

    def bad(self) -> dict[str, str]:
        """The names of files that were set aside, each with the reason."""
        reasons = sorted((self.folder / BAD).glob("*.why"))
        return {reason.stem: reason.read_text(encoding="utf-8").strip() for reason in reasons}
