"""Choose which folders are watched: those in which sessions work, and those that the user adds.

On macOS, reading a protected folder makes the system ask the user, so such a folder is watched only if the
user adds it. The same holds for a whole home or disk.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fazm_memory.paths import inside
from fazm_memory.records import asdict, dataclass
from fazm_memory.store import Database, SessionRow

if TYPE_CHECKING:
    from fazm_memory.engines.shell_effects import KnownFolders
    from fazm_memory.watch.tree import Tree

WORKING = ("open", "active", "resumed")
FOLLOWED = frozenset({*WORKING, "paused"})  # what a person changes during a pause is recorded too
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
    """The folders in which sessions work now or will go on."""
    return [
        row.workspace
        for row in rows
        if row.workspace is not None
        and os.path.isabs(row.workspace)
        and row.lifecycle in FOLLOWED
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


# The folder contents that each session knows before a call, for reading shell commands
#
# A command such as `mv *.pdf archive/` names no files. They are found in the watcher's last scan, if that
# is newer than everything the session itself has shown.

MAX_SESSIONS = 50
MAX_TREES = 4


class SessionFolders:
    def __init__(self, database: Database) -> None:
        from fazm_memory.watch.tree import TreeCheckpoints  # only the companion compares folders

        self.checkpoints = TreeCheckpoints(database)
        self._sessions: dict[str, tuple[KnownFolders, int]] = {}
        self._trees: dict[str, Tree] = {}

    def known_to(self, session: str, cwd: str, at: int, begins: bool) -> KnownFolders:
        """What a session knows when a call in `cwd` ends, or `begins`."""
        from fazm_memory.engines.shell_effects import KnownFolders  # only the companion follows commands

        known, last_event = self._sessions.pop(session, (KnownFolders(), 0))
        self._sessions[session] = known, at
        if len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        tree = self._tree(os.path.normpath(cwd), at) if begins and cwd.startswith("/") else None
        if tree is not None:
            if tree.at > last_event:
                known.forget(tree.root)
            known.base = partial(_listing, tree)
        known.carry()  # drops what is too old
        return known

    def _tree(self, cwd: str, before: int) -> Tree | None:
        """The innermost watched root around a folder, if it was scanned before that moment."""
        root = self.checkpoints.around(cwd, before)
        if root is None:
            return None
        tree = self._trees.pop(root, None)
        if tree is None or tree.at != self.checkpoints.at(root):
            tree = self.checkpoints.load(root)
        if tree is not None:
            self._trees[root] = tree
            if len(self._trees) > MAX_TREES:
                del self._trees[next(iter(self._trees))]
        return tree


def _listing(tree: Tree, folder: str) -> list[str]:
    """The names in a folder of the tree. Raises LookupError for a folder outside it."""
    if not inside(folder, tree.root):
        raise LookupError(folder)
    found = tree.folders[os.path.relpath(folder, tree.root) if folder != tree.root else ""]
    return [*found.files, *(f"{name}/" for name in found.folders)]
