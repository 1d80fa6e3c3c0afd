"""Apps and folders the user does not want watched: short lists in the home folder that hold from the next
look on.

The settings name apps for good; these lists are what a click adds. Both only add to what is never looked at:
nothing takes a password manager off the list.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from fazm_memory.capture.exclusions import Exclusions
from fazm_memory.errors import ConfigError, InvalidRequest
from fazm_memory.private import alone, private_folder, write_private

FILE = "excluded-apps.json"
FOLDERS = "excluded-folders.json"
MOST = 1000
LONGEST = 200
LONGEST_PATH = 4096


def read(home: Path, file: str = FILE) -> tuple[str, ...]:
    """The names and bundle identifiers on the list, as they were added; or the folders on theirs."""
    try:
        listed = json.loads((home / file).read_text(encoding="utf-8"))
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise ValueError("not a list of names")
    except FileNotFoundError:
        return ()
    except ValueError as error:
        # To go on without it would be to look at what somebody asked us not to.
        raise ConfigError(
            f"{home / file} cannot be read ({error}), so nothing that it may name is looked at",
            hint="mend it, or remove it and choose again what is not recorded",
        ) from None
    return tuple(listed)


def add(home: Path, apps: Iterable[str]) -> tuple[str, ...]:
    """Leave these alone from now on; the list as it is then."""
    named = [checked(app) for app in apps]
    with alone(private_folder(home)):
        listed = tuple(dict.fromkeys((*read(home), *named)))
        if len(listed) > MOST:
            raise InvalidRequest(f"more than {MOST} apps cannot be excluded one by one", hint="use a pattern")
        _write(home, listed)
    return listed


def remove(home: Path, app: str) -> tuple[str, ...]:
    """Take one off the list; the list as it is then."""
    with alone(private_folder(home)):
        listed = tuple(one for one in read(home) if one.casefold() != app.strip().casefold())
        _write(home, listed)
    return listed


def add_folder(home: Path, folder: str) -> tuple[str, ...]:
    """Neither watch a folder nor keep what its files hold; the list as it is then."""
    if not os.path.isabs(folder) or "\0" in folder or len(folder) > LONGEST_PATH:
        raise InvalidRequest(f"{folder[:60]!r} is not the whole path of a folder")
    with alone(private_folder(home)):
        listed = tuple(dict.fromkeys((*read(home, FOLDERS), os.path.normpath(folder))))
        if len(listed) > MOST:
            raise InvalidRequest(f"more than {MOST} folders cannot be excluded one by one")
        _write(home, listed, FOLDERS)
    return listed


def remove_folder(home: Path, folder: str) -> tuple[str, ...]:
    """Take a folder off the list; the list as it is then."""
    with alone(private_folder(home)):
        listed = tuple(one for one in read(home, FOLDERS) if one != os.path.normpath(folder))
        _write(home, listed, FOLDERS)
    return listed


def exclusions(configured: Iterable[str], home: Path) -> Exclusions:
    """What is left alone here: the seeded apps, those of the settings and those of the list."""
    own = (*configured, *read(home))
    # A person says "Signal" or "org.whispersystems.*": either may be meant.
    return Exclusions().also(bundles=own, names=own)


def checked(app: str) -> str:
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


def literally(name: str) -> str:
    """A name as a pattern that matches only itself."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


def _write(home: Path, listed: Iterable[str], file: str = FILE) -> None:
    write_private(home / file, json.dumps(list(listed), ensure_ascii=False, indent=1).encode())
