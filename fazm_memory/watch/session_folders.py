"""The folder contents that each session knows before a call, for reading shell commands.

A command such as `mv *.pdf archive/` names no files. They are found in the watcher's last scan, if that is
newer than everything the session itself has shown.
"""

from __future__ import annotations

import os
from functools import partial

from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.paths import inside
from fazm_memory.store import Database
from fazm_memory.watch.tree import Tree, TreeCheckpoints

MAX_SESSIONS = 50
MAX_TREES = 4


class SessionFolders:
    def __init__(self, database: Database) -> None:
        self.checkpoints = TreeCheckpoints(database)
        self._sessions: dict[str, tuple[KnownFolders, int]] = {}
        self._trees: dict[str, Tree] = {}

    def known_to(self, session: str, cwd: str, at: int, begins: bool) -> KnownFolders:
        """What a session knows when a call in `cwd` ends, or `begins`."""
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
