"""Which folders are watched: where sessions work, and what the user adds; never a home unasked.

On macOS a look into a protected folder raises a question of the system's own, so those need the user's word
first. Everywhere, a folder as wide as a home or the whole disk is not a workspace but an accident.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from fazm_memory.log.database import Database
from fazm_memory.log.sessions import SessionRow

AT_WORK = ("open", "active", "resumed")
RECENT = 12 * 3_600_000_000  # microseconds without a sign of a session after which its folder is left alone
MOST_ROOTS = 20
PROTECTED = ("Desktop", "Documents", "Downloads", "Library", "Movies", "Music", "Pictures", "Public")
TOO_WIDE = frozenset(
    {"/", "/tmp", "/private/tmp", "/var", "/usr", "/etc", "/opt", "/home", "/Users", "/Volumes", "/mnt"}
)


WATCHING = "watching"  # in the store's meta table: what the companion watches now


@dataclass(frozen=True)
class Watched:
    """A folder somebody works in: watched, how and since when, or not and why."""

    folder: str
    refused: str | None = None
    how: str | None = None
    since: int | None = None


def note(db: Database, watched: Sequence[Watched]) -> None:
    """Have everybody know what is watched: the companion is a process of its own."""
    with db.transaction():
        told = json.dumps([asdict(one) for one in watched])
        db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (WATCHING, told))


def noted(db: Database) -> list[Watched]:
    """What the companion last said it watches."""
    found = db.execute("SELECT value FROM meta WHERE key=?", (WATCHING,)).fetchone()
    return [] if found is None else [Watched(**one) for one in json.loads(found[0])]


def watched_roots(
    rows: Iterable[SessionRow],
    *,
    now: int,
    user_home: str,
    added: Sequence[str] = (),
    excluded: Sequence[str] = (),
    platform: str = sys.platform,
) -> list[Watched]:
    """The folders of sessions at work and those the user added, each with why it is not watched, if so."""
    listed = [os.path.abspath(os.path.join(user_home, one.replace("~", user_home, 1))) for one in added]
    found = {folder: Watched(folder) for folder in listed}
    for row in rows:
        folder = row.workspace
        at_work = row.lifecycle in AT_WORK and now - row.last_at < RECENT
        if folder is None or not at_work or not os.path.isabs(folder) or folder in found:
            continue
        allowed = any(inside(folder, one) for one in listed)
        found[folder] = Watched(folder, None if allowed else refusal(folder, user_home, platform))
        if len(found) >= MOST_ROOTS + len(listed):
            break
    for folder in found:
        if any(inside(folder, one) for one in excluded):
            found[folder] = Watched(folder, "you excluded it")
    return [one for one in found.values() if one.refused is not None or os.path.isdir(one.folder)]


def refusal(folder: str, user_home: str, platform: str = sys.platform) -> str | None:
    """Why a folder is not watched unasked; None when it may be."""
    path, home = os.path.realpath(folder), os.path.realpath(user_home)
    if inside(home, path) or path in TOO_WIDE:
        return "it holds a whole home or more"
    if platform == "darwin" and any(inside(path, os.path.join(home, one)) for one in PROTECTED):
        return "macOS protects it: add it to `watch` in config.toml to allow it"
    return None


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
