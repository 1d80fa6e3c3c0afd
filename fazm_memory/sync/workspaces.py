"""Folders of another machine as folders of this one: by git remote, then relative to the home folder.

A folder that does not exist here when a session arrives may be found later, when a repository with the same
remote is worked in, or be named by a person. This is remembered in the log's database, where sessions are
looked up by folder.
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fazm_memory.paths import read_regular
from fazm_memory.store import Store

LARGEST_CONFIG = 1 << 20  # bytes of a repository's settings
RECENT = 200  # sessions whose folders are looked at
REMOTES = "remotes"  # setting: a folder of another machine to its remote and its path in the repository


class Repository(NamedTuple):
    """Where a folder lies: the `origin` of its repository in one form, and its path below the top."""

    remote: str
    inside: str
    top: str

    def place(self, inside: str) -> str:
        """The folder with a path in this repository."""
        return os.path.join(self.top, inside) if inside else self.top


def repository(workspace: str | None) -> Repository | None:
    """The repository around a folder. A remote looks like `github.com/mia/shop`."""
    folder = Path(workspace) if workspace else None
    while folder is not None:
        config = folder / ".git" / "config"
        if config.is_file():
            remote = _origin(config)
            inside = os.path.relpath(str(workspace), folder)
            return (
                None if remote is None else Repository(remote, "" if inside == "." else inside, str(folder))
            )
        folder = folder.parent if folder.parent != folder else None
    return None


def _origin(config: Path) -> str | None:
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        parser.read_string(read_regular(config, LARGEST_CONFIG).decode("utf-8", "replace"))
        url = parser.get('remote "origin"', "url", fallback=None)
    except (configparser.Error, OSError):
        return None
    if not url:
        return None
    plain = re.sub(r"^[a-z+]+://", "", url.strip(), flags=re.IGNORECASE)
    plain = re.sub(r"^[^/@]*@", "", plain)  # never the user or a token
    return plain.replace(":", "/", 1).removesuffix("/").removesuffix(".git").lower() or None


def moved_folders(store: Store, theirs: dict[str, Any], their_home: str, home: str) -> dict[str, str]:
    """Their folders that have other names here, longest first: the workspace, then the home folder."""
    moved: dict[str, str] = {}
    workspace = theirs.get("workspace")
    if isinstance(workspace, str) and workspace.strip("/"):
        remote, inside = theirs.get("remote"), theirs.get("inside") or ""
        here = _with_remote(own_folders(store), remote, inside) if isinstance(remote, str) else None
        if here is not None and here != workspace:
            moved[workspace.rstrip("/")] = here.rstrip("/")
    if their_home.strip("/") and their_home.rstrip("/") != home.rstrip("/"):
        moved[their_home.rstrip("/")] = home.rstrip("/")
    return moved


def own_folders(store: Store) -> Iterator[str]:
    """The folders of the latest sessions of this machine."""
    rows = store.sessions.listing(limit=RECENT)
    yield from dict.fromkeys(row.workspace for row in rows if row.device is None and row.workspace)


def _with_remote(folders: Iterable[str], remote: str, inside: str) -> str | None:
    """The folder of a repository with this remote, if one of these folders is in such a repository."""
    for folder in folders:
        found = repository(folder)
        if found is not None and found.remote == remote:
            return found.place(inside)
    return None


def find_folders(store: Store, remotes: dict[str, list[str]], folders: Iterable[str]) -> dict[str, str]:
    """Folders of other machines that are not here under their name, and where their repository is here."""
    known = store.sessions.folder_names()
    missing = [theirs for theirs in remotes if theirs not in known and not os.path.isdir(theirs)]
    if not missing:
        return {}
    candidates = list(folders)
    found = {theirs: _with_remote(candidates, *remotes[theirs]) for theirs in missing}
    return {theirs: here for theirs, here in found.items() if here is not None}
