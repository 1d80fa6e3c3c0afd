"""Apps and folders that the user excluded from recording, and the apps that are always excluded.

The lists in the data folder, which a click changes, and the settings only add exclusions. Password managers
stay excluded.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from fnmatch import translate
from functools import cache
from pathlib import Path

from fazm_memory.errors import ConfigError, InvalidRequest
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import exclusive_lock, private_folder, write_private
from fazm_memory.records import dataclass
from fazm_memory.store import Database

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
            f"{home / file} cannot be read ({error}), so nothing that it may name is looked at",
            hint="mend it, or remove it and choose again what is not recorded",
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
        raise InvalidRequest(f"{folder[:60]!r} is not the whole path of a folder")
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
