"""A recovery under way: told on disk before the first file is moved, so that one cut short is known.

While it stands no store is opened: in the place of what was set aside lies half of another, or nothing, and
either would pass for the whole. The next recovery puts back all that was set aside and begins anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fazm_memory.errors import StoreDamaged
from fazm_memory.private import sync_folder, write_private

JOURNAL = "recovering.json"
COPY = "wreck.db"


@contextmanager
def set_aside(home: Path, files: Iterable[Path], aside: Path) -> Iterator[None]:
    """Move files of this home into a folder, for others to be made in their place; or put them back when that
    fails. Half a recovery is none: all is where it was, as it was, and can be recovered again."""
    files = [*files]
    found = {str(one.relative_to(home)): one.exists() for one in files}
    try:
        told = {"aside": os.path.relpath(aside, home), "found": found}
        write_private(home / JOURNAL, json.dumps(told).encode())
        for one in files:
            if one.exists():
                one.rename(aside / one.name)
        yield
    except BaseException:  # also when somebody has had enough of waiting
        if not put_back(home):
            clear(aside)
        raise
    _end(home)


def put_back(home: Path) -> bool:
    """Undo a recovery that did not end; whether there was one. Cut short itself, it is done again."""
    told = _told(home)
    if told is None:
        return False
    aside = home / told["aside"]
    for name, was_there in told["found"].items():
        place, kept = home / name, aside / Path(name).name
        if kept.exists():
            kept.replace(place)
        elif not was_there:  # begun by the recovery
            place.unlink(missing_ok=True)
    clear(aside)
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
    if told is not None:
        raise StoreDamaged(
            f"a recovery was begun and has not ended; what it found is kept whole in {home / told['aside']}",
            hint="wait for it if it is still running; else `fazm-memory recover` puts that back and begins"
            " anew: nothing is lost",
        )


def _told(home: Path) -> dict[str, Any] | None:
    try:
        told: dict[str, Any] = json.loads((home / JOURNAL).read_bytes())
    except FileNotFoundError:
        return None
    return told


def _end(home: Path) -> None:
    """Durably: told of again after a power cut, it would undo what was recorded since."""
    (home / JOURNAL).unlink()
    sync_folder(home)
