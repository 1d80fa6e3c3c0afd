"""What changed in a folder since it was last watched, asked now: nothing is recorded, nothing is kept.

A session that is put aside is not watched over. Whoever takes it up again is told at once, before the
companion has looked; who it was that changed a file, nobody can say of that time.
"""

from __future__ import annotations

import os
from typing import Any

from fazm_memory.capture.attribution import inside
from fazm_memory.capture.checkpoints import Checkpoints
from fazm_memory.capture.ignore import Ignore
from fazm_memory.capture.pairing import changes
from fazm_memory.capture.tree import refresh
from fazm_memory.log.database import Database
from fazm_memory.model.clock import iso

MOST_FILES = 50_000  # of a tree that is looked through while somebody waits
MOST = 500


def meanwhile(db: Database, folder: str, now: int) -> list[dict[str, Any]]:
    """The changes below a folder since the last look at it; none where there was no look."""
    checkpoints, real = Checkpoints(db), os.path.realpath(folder)
    root = checkpoints.around(real, now)
    tree = None if root is None else checkpoints.load(root)
    if tree is None or len(tree) > MOST_FILES:
        return []
    since = tree.at
    delta = refresh(tree, Ignore(tree.root), now)
    return [
        {
            "path": folder + one.path[len(real) :],
            "change": one.change,
            "by": "unknown",
            "evidence": f"changed between {iso(since)} and {iso(now)}, while it was not watched",
            **({} if one.origin is None else {"from": one.origin}),
        }
        for one in changes(delta)
        if inside(one.path, real)
    ][:MOST]
