"""What the folders of a session held just before its calls, for those that are told as they happen.

The watcher keeps the last look at each workspace. It is of use only for a call that began after that look;
so it is taken when a call is announced, and stands until its session announces the next.
"""

from __future__ import annotations

import os
from functools import partial

from fazm_memory.capture.checkpoints import Checkpoints
from fazm_memory.capture.shell import Known
from fazm_memory.capture.tree import Tree
from fazm_memory.log.database import Database

MOST_SESSIONS = 50
MOST_TREES = 4


class Folders:
    """Of each session at work what it knows; the trees are those of the watcher's last look."""

    def __init__(self, database: Database) -> None:
        self.checkpoints = Checkpoints(database)
        self._known: dict[str, tuple[Known, int]] = {}
        self._trees: dict[str, Tree] = {}

    def known_to(self, session: str, cwd: str, at: int, begins: bool) -> Known:
        """What a session knows at a moment, which is when a call in `cwd` ended or `begins`."""
        known, heard = self._known.pop(session, (Known(), 0))
        self._known[session] = known, at
        if len(self._known) > MOST_SESSIONS:
            del self._known[next(iter(self._known))]
        tree = self._tree(os.path.normpath(cwd), at) if begins and cwd.startswith("/") else None
        if tree is not None:
            if tree.at > heard:  # the look is newer than all that the session told
                known.forget(tree.root)
            known.base = partial(_listing, tree)
        known.carry()  # lets go of what it heard of long ago
        return known

    def _tree(self, cwd: str, before: int) -> Tree | None:
        """The innermost watched root around a folder, if it was looked at before that moment."""
        root = self.checkpoints.around(cwd, before)
        if root is None:
            return None
        kept = self._trees.pop(root, None)
        tree = kept if kept is not None and kept.at == self.checkpoints.at(root) else None
        tree = tree or self.checkpoints.load(root)
        if tree is not None:
            self._trees[root] = tree
            if len(self._trees) > MOST_TREES:
                del self._trees[next(iter(self._trees))]
        return tree


def _listing(tree: Tree, folder: str) -> list[str]:
    """The names in a folder as the tree has it; LookupError when it is not in it."""
    if folder != tree.root and not folder.startswith(tree.root.rstrip("/") + "/"):
        raise LookupError(folder)
    found = tree.folders[os.path.relpath(folder, tree.root) if folder != tree.root else ""]
    return [*found.files, *(f"{name}/" for name in found.folders)]
