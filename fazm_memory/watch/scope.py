"""What is watched: folders with work in them.

The apps and folders that the user excluded are left out.

Folders are watched in which sessions work, and those that the user adds. On macOS, reading a protected folder
makes the system ask the user, so such a folder is watched only if the user adds it. The same holds for a
whole home or disk.

The lists of exclusions in the data folder, which a click changes, and the settings only add exclusions.
Password managers stay excluded.
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
import hashlib
import re
from fnmatch import translate
from functools import cache
from pathlib import Path

from fazm_memory.errors import ConfigError, InvalidRequest
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import exclusive_lock, private_folder, write_private

# Patterns as in file names, without regard to case.
BUNDLES = (
    "com.1password.*", "com.agilebits.*", "com.apple.keychainaccess", "com.apple.passwords*",
    "com.apple.securityagent", "com.apple.localauthentication*", "com.apple.loginwindow",
    "com.apple.screensaver*", "com.authy.*", "com.bitwarden.*", "com.callpod.*", "com.dashlane.*",
    "com.hicknhacksoftware.macpass", "com.keepersecurity.*", "com.lastpass.*", "com.markmcguill.strongbox*",
    "com.nordpass.*", "com.nordsec.nordpass*", "com.outercorner.secrets*", "com.siber.*", "in.sinew.*",
    "me.proton.pass*", "org.keepassx*", "org.torproject.*",
)  # fmt: skip
NAMES = (
    "*password*", "*passwort*", "*keychain*", "*schlüsselbund*", "*trousseau*", "*authenticator*", "*authy*",
    "bitwarden*", "dashlane*", "enpass*", "keepass*", "keeper*", "lastpass*", "loginwindow", "macpass*",
    "nordpass*", "proton pass*", "roboform*", "securityagent", "strongbox*", "tor browser*",
)  # fmt: skip
# How browsers mark their private windows, in the languages we know of; in lower case.
PRIVATE = (
    "incognito", "incógnito", "inkognito", "inprivate", "private browsing", "private window", "(private)",
    "privater modus", "privates fenster", "privates surfen", "navigation privée", "fenêtre privée",
    "navegación privada", "navegação anônima", "navegação anónima", "navegação privada",
    "navigazione anonima", "navigazione privata", "finestra anonima", "privénavigatie", "privévenster",
    "シークレット", "プライベートブラウズ", "プライベートブラウジング", "无痕", "無痕", "隐私浏览",
    "私密瀏覽", "시크릿", "사생활 보호",
)  # fmt: skip


@dataclass(frozen=True)
class Exclusions:
    bundles: tuple[str, ...] = BUNDLES
    names: tuple[str, ...] = NAMES
    private: tuple[str, ...] = PRIVATE

    def also(self, *, bundles: Iterable[str] = (), names: Iterable[str] = ()) -> Exclusions:
        """These exclusions and more. None can be removed."""
        return Exclusions((*self.bundles, *bundles), (*self.names, *names), self.private)

    def app(self, name: str | None, bundle: str | None) -> bool:
        """Whether an app is excluded. An app without a name is."""
        if not name:
            return True
        return _any(self.names, name) or (bundle is not None and _any(self.bundles, bundle))

    def window(self, title: str | None) -> bool:
        """Whether a window is private according to its title."""
        shown = _plain(title or "")
        return any(marker in shown for marker in self.private)


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return _compiled(patterns).fullmatch(_plain(text)) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(_plain(pattern)) for pattern in patterns))


# Invisible characters, such as left-to-right marks, that some apps have in their names.
_MARKS = lazy_regex("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).casefold().split())


APPS = "excluded-apps.json"
FOLDERS = "excluded-folders.json"
MOST = 1000
LONGEST = 200
LONGEST_PATH = 4096


def read_list(home: Path, file: str = APPS) -> tuple[str, ...]:
    """The apps (names and bundle identifiers) or folders on a list."""
    try:
        listed = json.loads((home / file).read_text(encoding="utf-8"))
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise ValueError("not a list of names")
    except FileNotFoundError:
        return ()
    except ValueError as error:
        # Without the list, something that the user excluded might be recorded.
        raise ConfigError(
            f"{home / file} cannot be read ({error}), so nothing that it may exclude is watched",
            hint="repair it, or remove it and choose again what is not recorded",
        ) from None
    return tuple(listed)


OBEYED = "exclusions"  # in the store's meta table: the fingerprint of the lists that the companion obeys


def fingerprint(home: Path) -> str:
    """Identifies the present lists of apps and folders."""
    lists = [read_list(home, file) for file in (APPS, FOLDERS)]
    return hashlib.sha256(json.dumps(lists).encode()).hexdigest()


def note_obeyed(db: Database, mark: str) -> None:
    """Note for other processes which lists the companion obeys now."""
    with db.transaction():
        db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (OBEYED, mark))


def are_obeyed(db: Database, home: Path) -> bool:
    """Whether the companion obeys the present lists."""
    row = db.execute("SELECT value FROM meta WHERE key=?", (OBEYED,)).fetchone()
    return row is not None and row[0] == fingerprint(home)


def add_apps(home: Path, apps: Iterable[str]) -> tuple[str, ...]:
    """Exclude these apps. Returns the new list."""
    named = [checked_app_name(app) for app in apps]
    with exclusive_lock(private_folder(home)):
        listed = tuple(dict.fromkeys((*read_list(home), *named)))
        if len(listed) > MOST:
            raise InvalidRequest(f"more than {MOST} apps cannot be excluded one by one", hint="use a pattern")
        _write(home, listed)
    return listed


def remove_app(home: Path, app: str) -> tuple[str, ...]:
    """Remove an app from the list. Returns the new list."""
    with exclusive_lock(private_folder(home)):
        listed = tuple(name for name in read_list(home) if name.casefold() != app.strip().casefold())
        _write(home, listed)
    return listed


def add_folder(home: Path, folder: str) -> tuple[str, ...]:
    """Exclude a folder from watching and from stored versions. Returns the new list."""
    if not os.path.isabs(folder) or "\0" in folder or len(folder) > LONGEST_PATH:
        raise InvalidRequest(f"{folder[:60]!r} is not the absolute path of a folder")
    with exclusive_lock(private_folder(home)):
        listed = tuple(dict.fromkeys((*read_list(home, FOLDERS), os.path.normpath(folder))))
        if len(listed) > MOST:
            raise InvalidRequest(f"more than {MOST} folders cannot be excluded one by one")
        _write(home, listed, FOLDERS)
    return listed


def remove_folder(home: Path, folder: str) -> tuple[str, ...]:
    """Remove a folder from the list. Returns the new list."""
    with exclusive_lock(private_folder(home)):
        listed = tuple(path for path in read_list(home, FOLDERS) if path != os.path.normpath(folder))
        _write(home, listed, FOLDERS)
    return listed


def current_exclusions(configured: Iterable[str], home: Path) -> Exclusions:
    """The exclusions of this machine: built in, from the settings and from the list."""
    own = (*configured, *read_list(home))
    # An entry may be a name ("Signal") or a bundle identifier ("org.whispersystems.*").
    return Exclusions().also(bundles=own, names=own)


def checked_app_name(app: str) -> str:
    name = " ".join(app.split())
    if not name or len(name) > LONGEST or not name.isprintable():
        raise InvalidRequest(
            f"{app[:40]!r} is not the name of an app", hint="give its name or bundle identifier"
        )
    if set(name) <= set("*?"):
        raise InvalidRequest(
            "that would exclude every app", hint="`fazm-memory recording pause` stops recording"
        )
    return name


def literal_pattern(name: str) -> str:
    """A name as a pattern that matches only itself."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _write(home: Path, listed: Iterable[str], file: str = APPS) -> None:
    write_private(home / file, json.dumps(list(listed), ensure_ascii=False, indent=1).encode())


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
    """A folder in which an agent works.

    How and since when it is watched, or why it is not.
    """

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
    """Store where the watched folders are.

    A folder that becomes a link is then noticed after a restart too.
    """
    with db.transaction():
        value = json.dumps(dict(list(places.items())[-MOST_PLACES:]))
        db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (PLACES, value))


def load_places(db: Database) -> dict[str, str]:
    """The real path of each folder when it was first watched."""
    found = db.execute("SELECT value FROM meta WHERE key=?", (PLACES,)).fetchone()
    return {} if found is None else dict(json.loads(found[0]))


def forget_place(db: Database, folder: str) -> None:
    """Follow a folder wherever it is at the next start.

    Called when the user adds it again.
    """
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
    """The folders of sessions at work and those that the user added.

    A refused folder says why.
    """
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
        """The innermost watched root around a folder.

        None if it was not scanned before that moment.
        """
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
