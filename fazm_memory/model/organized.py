"""What a session's file operations show: learned from its state, whenever somebody asks.

A pure function of the state, so that conventions are never stored and never stale. A session that renamed
thousands is judged by its latest few hundred: the program that names them is the same.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.model.conventions import Learned, Renamed, Seen, learn
from fazm_memory.model.state import SessionState

ENOUGH = 400


def organized(state: SessionState) -> Learned:
    """The conventions, the skipped files and the folders of a session."""
    renamed = [entry for entry in state.files_modified.values() if entry.change == "renamed" and entry.origin]
    if not renamed:
        return Learned()
    renames = [Renamed(entry.origin or "", entry.path, seq=entry.seq) for entry in renamed[-ENOUGH:]]
    seen = [
        Seen(name if name.startswith("/") else f"{folder.rstrip('/')}/{name}")
        for folder, listing in state.seen.items()
        for name in listing["files"]
    ]
    return learn(renames, seen)


def organized_json(state: SessionState) -> dict[str, Any]:
    """`conventions` and `skipped` as the contract has them, and how far each folder came."""
    learned = organized(state)
    return {
        "conventions": [
            {
                "folder": one.folder,
                "pattern": one.pattern,
                "examples": [list(pair) for pair in one.examples],
                "support": one.support,
                "exceptions": list(one.exceptions),
                "ambiguous": list(one.ambiguous),
                "destination": one.destination,
            }
            for one in learned.conventions
        ],
        "skipped": [
            {"folder": one.folder, "rule": one.rule, "files": list(one.files), "count": one.count}
            for one in learned.skipped
        ],
        "folders_processed": [
            {"folder": one.path, "processed": one.processed, "total": one.total} for one in learned.folders
        ],
    }
