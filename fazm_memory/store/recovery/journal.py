"""The journal of a recovery, written before the first file is moved.

While it exists no store is opened, because the files in place are incomplete. The next recovery moves back
what was set aside and starts again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from fazm_memory.errors import StoreBusy, StoreDamaged
from fazm_memory.paths import disk_error, private_folder, sync_folder, write_private
from fazm_memory.records import dataclass
from fazm_memory.store.database import in_use

JOURNAL = "recovering.json"
QUARANTINE = "quarantine"
COPY = "wreck.db"
ENDED = ".ended"  # marks a finished recovery, in case a backup restores the journal
QUIT = (
    "quit Fazm Memory in the menu bar, or end `fazm-memory run`, and agents that read it over MCP;"
    " then recover again"
)


class RecoveryFolder:
    """A new folder for the files set aside, created when first needed."""

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
class RecoveryJournal:
    """Where files were set aside. Their inodes tell them from files created since."""

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

    def check_complete(self) -> None:
        """Refuse to continue if a file is neither in place nor where it was set aside."""
        missing = [
            moved.name
            for place, moved, inode in self.places()
            if inode and not _is(place, inode) and not moved.exists()
        ]
        if missing:
            raise StoreDamaged(
                f"A recovery is unfinished, and files that it moved are no longer in {self.aside}:"
                f" {', '.join(missing)}. Nothing was changed.",
                hint="put that folder back with everything in it, then run `fazm-memory recover`;"
                f" if it is lost, remove {self.home / JOURNAL} to continue with what was saved",
            )


def _is(place: Path, inode: int) -> bool:
    return place.exists() and place.stat().st_ino == inode


@contextmanager
def set_aside(home: Path, files: Iterable[Path], aside: Path) -> Iterator[None]:
    """Move files into a folder while they are rebuilt. Move them back if that fails."""
    files = [*files]
    found = {str(path.relative_to(home)): path.stat().st_ino if path.exists() else None for path in files}
    try:
        content = {"aside": os.path.relpath(aside, home), "found": found}
        write_private(home / JOURNAL, json.dumps(content).encode())
        if any(in_use(path) for path in files):  # the journal keeps others from opening them
            raise StoreBusy("Another process has just opened the store. Nothing was changed.", hint=QUIT)
        for path in files:
            if path.exists():
                path.rename(aside / path.name)
        yield
    except BaseException:  # also KeyboardInterrupt
        if not _put_back(home):
            clear(aside)
        raise
    write_private(aside / f"{files[0].name}{ENDED}", b"")
    _end(home)


def undo_unfinished(home: Path) -> bool:
    """Undo an unfinished recovery. Return whether there was one. Can be repeated."""
    journal = _read_journal(home)
    if journal is not None and not journal.ended and any(in_use(place) for place, _, _ in journal.places()):
        raise StoreBusy(
            "A recovery is unfinished, and another process has the store open. Nothing was changed.",
            hint=QUIT,
        )
    return _put_back(home)


def _put_back(home: Path) -> bool:
    journal = _read_journal(home)
    if journal is None:
        return False
    if journal.ended:
        _end(home)
        return False
    journal.check_complete()
    for place, moved, inode in journal.places():
        if moved.exists():
            moved.replace(place)
        elif not inode:  # created by the recovery
            place.unlink(missing_ok=True)
    clear(journal.aside)
    _end(home)
    return True


def clear(aside: Path) -> None:
    """Delete temporary copies, and the folder if it is empty."""
    for copy in aside.glob(f"{COPY}*"):
        copy.unlink()
    if aside.exists() and not any(aside.iterdir()):
        aside.rmdir()


def check_finished(home: Path) -> None:
    """Refuse to open a store whose recovery has not finished."""
    journal = _read_journal(home)
    if journal is not None and not journal.ended:
        journal.check_complete()
        raise StoreDamaged(
            f"A recovery is unfinished. The store it found is complete in {journal.aside}.",
            hint="wait if it is still running; otherwise `fazm-memory recover` puts that store back"
            " and starts again: nothing is lost",
        )


def _read_journal(home: Path) -> RecoveryJournal | None:
    try:
        content = json.loads((home / JOURNAL).read_bytes())
        return RecoveryJournal(home, home / content["aside"], dict(content["found"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise _unreadable(home) from error


def _unreadable(home: Path) -> StoreDamaged:
    """The error for an unreadable journal, with instructions to continue by hand."""
    folders = [path for path in (home / QUARANTINE).glob("*") if path.is_dir()]
    newest = max(folders, key=lambda path: path.stat().st_mtime, default=None)
    begin_anew = f"remove {home / JOURNAL} and run `fazm-memory recover`"
    hint = f"nothing was moved yet: {begin_anew}"
    if newest is not None and any(not path.name.startswith(COPY) for path in newest.iterdir()):
        hint = (
            f"the files it moved are in {newest}: for each database there, take the one with that name"
            f" out of {home / 'store.noindex'}, with its `-wal` and `-shm`; move the databases back"
            f" there, `heads` and `first-page` into {home / 'keys'}; then {begin_anew}"
        )
    return StoreDamaged(
        f"A recovery is unfinished, and {home / JOURNAL}, which lists the files that it moved, cannot"
        " be read. Nothing was changed.",
        hint=hint,
    )


def _end(home: Path) -> None:
    """Delete the journal durably.

    If it came back after a power cut, it would undo new events.
    """
    (home / JOURNAL).unlink()
    sync_folder(home)
