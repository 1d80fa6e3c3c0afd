"""A recovery under way: told on disk before the first file is moved, so that one cut short is known.

While it stands no store is opened: in the place of what was set aside lies half of another, or nothing, and
either would pass for the whole. The next recovery puts back all that was set aside and begins anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from fazm_memory.errors import StoreBusy, StoreDamaged
from fazm_memory.log.sides import in_use
from fazm_memory.private import disk_error, private_folder, sync_folder, write_private

JOURNAL = "recovering.json"
QUARANTINE = "quarantine"
COPY = "wreck.db"
ENDED = ".ended"  # a file beside what was set aside: a journal that a backup brings back undoes nothing
QUIT = (
    "quit Fazm Memory in the menu bar, or end `fazm-memory run`, and agents that read it over MCP;"
    " then recover again"
)


class Aside:
    """A folder for what is set aside: made when it is first needed, and always a new one. In one that was
    there before lie files of another recovery, to be overwritten or to be put back in place of newer ones."""

    def __init__(self, wanted: Path) -> None:
        self.wanted = wanted
        self.made: Path | None = None

    def folder(self) -> Path:
        if self.made is None:
            parent = private_folder(self.wanted.parent)
            names = (self.wanted.name if n == 1 else f"{self.wanted.name}-{n}" for n in count(1))
            self.made = next(parent / name for name in names if _is_new(parent / name))
            sync_folder(parent)
        return private_folder(self.made)


def _is_new(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    except OSError as error:
        raise disk_error(error, folder) from error
    return True


@dataclass(frozen=True)
class Told:
    """What the journal tells: where files were set aside, and which they were, by their inodes. Only that
    tells the file that was found from one that was begun in its place."""

    home: Path
    aside: Path
    found: dict[str, int | None]

    @property
    def ended(self) -> bool:
        first = Path(next(iter(self.found), ""))
        return (self.aside / f"{first.name}{ENDED}").exists()

    def places(self) -> Iterator[tuple[Path, Path, int | None]]:
        for name, inode in self.found.items():
            yield self.home / name, self.aside / Path(name).name, inode

    def check_kept(self) -> None:
        """Refuse to go on when something that was found is neither in its place nor where it was set aside:
        what lies there instead is half of it at most."""
        gone = [
            kept.name
            for place, kept, inode in self.places()
            if inode and not _is(place, inode) and not kept.exists()
        ]
        if gone:
            raise StoreDamaged(
                f"a recovery was begun and has not ended, and what it set aside is no longer in {self.aside}:"
                f" {', '.join(gone)}; nothing was changed",
                hint="put that folder back there with all that was in it, then run `fazm-memory recover`; or,"
                f" if it is lost, remove {self.home / JOURNAL} to go on with the part that was saved",
            )


def _is(place: Path, inode: int) -> bool:
    return place.exists() and place.stat().st_ino == inode


@contextmanager
def set_aside(home: Path, files: Iterable[Path], aside: Path) -> Iterator[None]:
    """Move files of this home into a folder, for others to be made in their place; or put them back when that
    fails. Half a recovery is none: all is where it was, as it was, and can be recovered again."""
    files = [*files]
    found = {str(one.relative_to(home)): one.stat().st_ino if one.exists() else None for one in files}
    try:
        told = {"aside": os.path.relpath(aside, home), "found": found}
        write_private(home / JOURNAL, json.dumps(told).encode())
        if any(in_use(one) for one in files):  # by now nobody else begins to
            raise StoreBusy(
                "another process has just opened what is to be set aside; nothing was changed", hint=QUIT
            )
        for one in files:
            if one.exists():
                one.rename(aside / one.name)
        yield
    except BaseException:  # also when somebody has had enough of waiting
        if not _put_back(home):
            clear(aside)
        raise
    write_private(aside / f"{files[0].name}{ENDED}", b"")
    _end(home)


def put_back(home: Path) -> bool:
    """Undo a recovery that did not end; whether there was one. Cut short itself, it is done again."""
    told = _told(home)
    if told is not None and not told.ended and any(in_use(place) for place, _, _ in told.places()):
        raise StoreBusy(
            "a recovery has not ended, and another process has open what it began; nothing was changed",
            hint=QUIT,
        )
    return _put_back(home)


def _put_back(home: Path) -> bool:
    told = _told(home)
    if told is None:
        return False
    if told.ended:
        _end(home)
        return False
    told.check_kept()
    for place, kept, inode in told.places():
        if kept.exists():
            kept.replace(place)
        elif not inode:  # begun by the recovery
            place.unlink(missing_ok=True)
    clear(told.aside)
    _end(home)
    return True


def clear(aside: Path) -> None:
    """Let go of copies that were only made to read from, and of a folder that is left empty."""
    for copy in aside.glob(f"{COPY}*"):
        copy.unlink()
    if aside.exists() and not any(aside.iterdir()):
        aside.rmdir()


def check_finished(home: Path) -> None:
    """Refuse to open what a recovery has left half done, or is just making."""
    told = _told(home)
    if told is not None and not told.ended:
        told.check_kept()
        raise StoreDamaged(
            f"a recovery was begun and has not ended; what it found is kept whole in {told.aside}",
            hint="wait for it if it is still running; else `fazm-memory recover` puts that back and begins"
            " anew: nothing is lost",
        )


def _told(home: Path) -> Told | None:
    try:
        told = json.loads((home / JOURNAL).read_bytes())
        return Told(home, home / told["aside"], dict(told["found"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise _unreadable(home) from error


def _unreadable(home: Path) -> StoreDamaged:
    """Which files were set aside it would have said; now only a person can see that."""
    folders = [one for one in (home / QUARANTINE).glob("*") if one.is_dir()]
    newest = max(folders, key=lambda one: one.stat().st_mtime, default=None)
    begin_anew = f"remove {home / JOURNAL} and run `fazm-memory recover`"
    hint = f"nothing was set aside yet: {begin_anew}"
    if newest is not None and any(not one.name.startswith(COPY) for one in newest.iterdir()):
        hint = (
            f"what it set aside is in {newest}, the newest: for each database in it take the one of that name"
            f" out of {home / 'store.noindex'}, with its `-wal` and `-shm`; put all of the folder back"
            f" there, `heads` and `first-page` into {home / 'keys'}; then {begin_anew}"
        )
    return StoreDamaged(
        f"a recovery was begun and has not ended, and {home / JOURNAL}, which tells what it set aside, cannot"
        " be read; nothing was changed",
        hint=hint,
    )


def _end(home: Path) -> None:
    """Durably: told of again after a power cut, it would undo what was recorded since."""
    (home / JOURNAL).unlink()
    sync_folder(home)
