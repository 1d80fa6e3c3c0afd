"""Choose which folders are watched: those in which sessions work, and those that the user adds.

On macOS, reading a protected folder makes the system ask the user, so such a folder is watched only if the
user adds it. The same holds for a whole home or disk.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence

from fazm_memory.paths import inside
from fazm_memory.records import asdict, dataclass
from fazm_memory.store import Database, SessionRow

WORKING = ("open", "active", "resumed")
RECENT = 12 * 3_600_000_000  # microseconds after the last event of a session in which its folder is watched
MOST_ROOTS = 20
PROTECTED = ("Desktop", "Documents", "Downloads", "Library", "Movies", "Music", "Pictures", "Public")
TOO_WIDE = frozenset(
    {"/", "/tmp", "/private/tmp", "/var", "/usr", "/etc", "/opt", "/home", "/Users", "/Volumes", "/mnt"}
)
WATCHER_STOPPED = "the file watcher stopped and was started again"  # a reason that is shown to the user
WATCHING = "watching"  # in the store's meta table: what the companion watches now
PLACES = "watched_places"  # there too: the real path of each folder when it was first watched
MOST_PLACES = 500
BECAME_A_LINK = "it became a link. Sessions in the folder that it leads to are recorded"


@dataclass(frozen=True)
class WatchedFolder:
    """A folder in which an agent works: how and since when it is watched, or why it is not."""

    folder: str
    refused: str | None = None
    how: str | None = None
    since: int | None = None


def save_watched_folders(db: Database, watched: Sequence[WatchedFolder]) -> None:
    """Store which folders the companion watches, for other processes."""
    with db.transaction():
        value = json.dumps([asdict(folder) for folder in watched])
        db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (WATCHING, value))


def load_watched_folders(db: Database) -> list[WatchedFolder]:
    """The folders that the companion last stored."""
    found = db.execute("SELECT value FROM meta WHERE key=?", (WATCHING,)).fetchone()
    return [] if found is None else [WatchedFolder(**raw) for raw in json.loads(found[0])]


def save_places(db: Database, places: Mapping[str, str]) -> None:
    """Store where the watched folders are, so that one that becomes a link is noticed after a restart too."""
    with db.transaction():
        value = json.dumps(dict(list(places.items())[-MOST_PLACES:]))
        db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (PLACES, value))


def load_places(db: Database) -> dict[str, str]:
    """The real path of each folder when it was first watched."""
    found = db.execute("SELECT value FROM meta WHERE key=?", (PLACES,)).fetchone()
    return {} if found is None else dict(json.loads(found[0]))


def forget_place(db: Database, folder: str) -> None:
    """Follow a folder wherever it is at the next start, because the user added it again."""
    places = load_places(db)
    if places.pop(folder, None) is not None:
        save_places(db, places)


def session_folders(rows: Iterable[SessionRow], now: int) -> list[str]:
    """The folders in which sessions work now."""
    return [
        row.workspace
        for row in rows
        if row.workspace is not None
        and os.path.isabs(row.workspace)
        and row.lifecycle in WORKING
        and now - row.last_at < RECENT
    ]


def watched_roots(
    rows: Iterable[SessionRow],
    *,
    now: int,
    user_home: str,
    added: Sequence[str] = (),
    excluded: Sequence[str] = (),
    platform: str = sys.platform,
) -> list[WatchedFolder]:
    """The folders of sessions at work and those that the user added. A refused folder says why."""
    listed = [os.path.abspath(os.path.join(user_home, name.replace("~", user_home, 1))) for name in added]
    found = {folder: WatchedFolder(folder) for folder in listed}
    for folder in session_folders(rows, now):
        if folder in found:
            continue
        allowed = any(inside(folder, outer) for outer in listed)
        reason = None if allowed else reason_not_watched(folder, user_home, platform)
        found[folder] = WatchedFolder(folder, reason)
        if len(found) >= MOST_ROOTS + len(listed):
            break
    for folder in found:
        real = os.path.realpath(folder)
        if any(inside(path, outer) for path in (folder, real) for outer in excluded):
            found[folder] = WatchedFolder(folder, "you excluded it")
    return [root for root in found.values() if root.refused is not None or os.path.isdir(root.folder)]


def reason_not_watched(folder: str, user_home: str, platform: str = sys.platform) -> str | None:
    """Why a folder is not watched unless the user adds it; None when it may be."""
    path, home = os.path.realpath(folder), os.path.realpath(user_home)
    if inside(home, path) or path in TOO_WIDE:
        return "it holds a whole home or more"
    if protected_folder(folder, user_home, platform):
        return "macOS protects it: allow it in the settings, or with `fazm-memory setup`"
    return None


def protected_folder(folder: str, user_home: str, platform: str = sys.platform) -> bool:
    """Whether macOS asks the user before we may read a folder."""
    path, home = os.path.realpath(folder), os.path.realpath(user_home)
    return platform == "darwin" and any(inside(path, os.path.join(home, name)) for name in PROTECTED)
