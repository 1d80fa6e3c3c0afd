"""What a session's file operations show: learned from its state, whenever somebody asks.

A pure function of the state, so that conventions are never stored and never stale. A session that renamed
thousands is judged by its latest few hundred: the program that names them is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from unicodedata import normalize

from fazm_memory.model.learned import Folder, Learned
from fazm_memory.model.state import SessionState
from fazm_memory.model.working_set import FileEntry, parent_folder

ENOUGH = 400

TimeOf = Callable[[str], str | None]


def unknown_time(path: str) -> str | None:
    return None


def organized(state: SessionState, time_of: TimeOf = unknown_time) -> Learned:
    """The conventions, the skipped files and the folders of a session.

    `time_of` tells when a file was last written, for names that are made of that; renaming keeps it.
    """
    renamed = [entry for entry in state.files_modified.values() if entry.change == "renamed" and entry.origin]
    if not renamed:
        return Learned()
    # Late: the learner takes a moment to load, and most sessions rename nothing.
    from fazm_memory.model.conventions import Renamed, Seen, learn

    renames = [
        Renamed(entry.origin or "", entry.path, seq=entry.seq, mtime=time_of(entry.path))
        for entry in renamed[-ENOUGH:]
    ]
    handled = {name for entry in renamed[:-ENOUGH] for name in (entry.origin, entry.path)}
    seen = [
        Seen(path)
        for folder, listing in state.seen.items()
        for name in listing["files"]
        if (path := name if name.startswith("/") else f"{folder.rstrip('/')}/{name}") not in handled
    ]
    learned = learn(renames, seen)
    return replace(learned, folders=_progress(state, learned.folders, renamed[:-ENOUGH]))


def _progress(
    state: SessionState, folders: Sequence[Folder], before: Sequence[FileEntry]
) -> tuple[Folder, ...]:
    """How far each folder came, by all that was renamed and by its listing: the learner looks at the latest
    only, and the state keeps no more than the beginning of a long listing."""
    more = Counter(normalize("NFC", parent_folder(entry.origin or "")) for entry in before)
    listings = {normalize("NFC", folder.rstrip("/") or "/"): one for folder, one in state.seen.items()}
    known = {folder.path: folder for folder in folders}
    made = []
    for path in [*known, *(path for path in more if path not in known)]:
        folder = known.get(path, Folder(path, 0, 0))
        listing = listings.get(path)
        listed = 0 if listing is None or listing["total"] <= len(listing["files"]) else listing["total"]
        processed = folder.processed + more[path]
        if state.omitted.get("files_modified"):  # more was renamed than is kept by name: its count is kept
            visits = state.folders.get(path, {})
            counted = visits.get("renamed", 0) + visits.get("moved_out", 0)
            processed = max(processed, min(counted, listed or counted))
        total = max(folder.total + more[path], processed, listed)
        made.append(Folder(path, processed, total, listing is not None))
    return tuple(made)


def taken_names(state: SessionState) -> set[str]:
    """The paths that are in use as far as the session knows: a proposal must not be one of them."""
    return {entry.path for entry in state.files_modified.values() if entry.change != "deleted"}


def organized_json(learned: Learned) -> dict[str, Any]:
    """`conventions` and `skipped` as the contract has them, and how far each folder came."""
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
            {"folder": one.path, "processed": one.processed, "total": one.total, "listed": one.listed}
            for one in learned.folders
        ],
    }
