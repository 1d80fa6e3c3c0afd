"""Naming conventions and skip rules of a session.

They are learned from its state on demand. Nothing is stored, so nothing can be stale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from fazm_memory.records import replace
from fazm_memory.session.state import FileEntry, parent_folder
from fazm_memory.text import plural

if TYPE_CHECKING:
    from fazm_memory.engines import naming
    from fazm_memory.session.state import SessionState


MAX_RENAMES = 400  # the latest ones; more would not change what is learned

CODE = (
    ".c", ".cc", ".cpp", ".cs", ".css", ".go", ".h", ".html", ".java", ".js", ".jsx", ".kt", ".lua", ".m",
    ".php", ".py", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".ts", ".tsx", ".vue",
)  # fmt: skip

ModifiedAt = Callable[[str], str | None]


def unknown_time(path: str) -> str | None:
    return None


def learn_from_session(state: SessionState, modified_at: ModifiedAt = unknown_time) -> naming.NamingReport:
    """The conventions, skipped files and folders of a session.

    `modified_at` gives a file's modification time, for names that contain it. Renaming does not change it.
    """
    from fazm_memory.engines import naming  # slow, and most sessions rename nothing

    renamed = _renamed(state)
    if not renamed:
        return naming.NamingReport()
    renames = [
        naming.Rename(entry.origin or "", entry.path, seq=entry.seq, mtime=modified_at(entry.path))
        for entry in renamed[-MAX_RENAMES:]
    ]
    earlier = renamed[:-MAX_RENAMES]
    renamed_earlier = {name for entry in earlier for name in (entry.origin, entry.path)}
    listed = [
        naming.ListedFile(path)
        for folder, listing in state.seen.items()
        for name in listing["files"]
        if (path := name if name.startswith("/") else f"{folder.rstrip('/')}/{name}") not in renamed_earlier
    ]
    # As an attribute, which loads the learner: most sessions rename nothing and do not need it.
    report = naming.learn(renames, listed)
    return replace(report, folders=_progress(state, report.folders, earlier))


def _renamed(state: SessionState) -> list[FileEntry]:
    return [
        entry for entry in state.files_modified.values() if entry.change == "renamed" and _filed(state, entry)
    ]


def _filed(state: SessionState, entry: FileEntry) -> bool:
    """Whether a rename files a document, and is no refactoring in a code repository."""
    if not entry.origin or entry.path.endswith(CODE):
        return False
    inside = state.workspace is not None and entry.path.startswith(f"{state.workspace}/")
    return not (inside and (state.branch is not None or state.commits))


def _progress(
    state: SessionState, folders: Sequence[naming.FolderProgress], earlier: Sequence[FileEntry]
) -> tuple[naming.FolderProgress, ...]:
    """Progress per folder, corrected for all renames and for the whole listing.

    The learner reads the latest renames only, and the state keeps only the beginning of a long listing.
    """
    from fazm_memory.engines import naming  # as above

    more = Counter(normalize("NFC", parent_folder(entry.origin or "")) for entry in earlier)
    listings = {normalize("NFC", folder.rstrip("/") or "/"): row for folder, row in state.seen.items()}
    known = {folder.path: folder for folder in folders}
    corrected = []
    for path in [*known, *(path for path in more if path not in known)]:
        folder = known.get(path, naming.FolderProgress(path, 0, 0))
        listing = listings.get(path)
        listed = 0 if listing is None or listing["total"] <= len(listing["files"]) else listing["total"]
        processed = folder.processed + more[path]
        if state.omitted.get("files_modified"):  # the state dropped some renames but still counts them
            visits = state.folders.get(path, {})
            counted = visits.get("renamed", 0) + visits.get("moved_out", 0)
            processed = max(processed, min(counted, listed or counted))
        total = max(folder.total + more[path], processed, listed)
        corrected.append(naming.FolderProgress(path, processed, total, listing is not None))
    return tuple(corrected)


def paths_in_use(state: SessionState) -> set[str]:
    """Paths that exist as far as the session knows.

    A proposal must not be one of them.
    """
    return {entry.path for entry in state.files_modified.values() if entry.change != "deleted"}


def folder_progress_text(processed: int, total: int, listed: bool, verb: str = "") -> str:
    """Progress as text: `3 of 5 files processed`."""
    if listed:
        return f"{processed:,} of {plural(total, 'file')}{verb}"
    return f"{plural(processed, 'file')}{verb}, of how many is not known"


def naming_json(state: SessionState, modified_at: ModifiedAt = unknown_time) -> dict[str, Any]:
    """What was learned from a session, as JSON.

    Loads the engine only if the session renamed anything.
    """
    if not _renamed(state):
        return {"conventions": [], "skipped": [], "folders_processed": []}
    return naming_report_json(learn_from_session(state, modified_at))


def naming_report_json(report: naming.NamingReport) -> dict[str, Any]:
    """The report as JSON: `conventions`, `skipped` and `folders_processed`."""
    return {
        "conventions": [
            {
                "folder": convention.folder,
                "pattern": convention.pattern,
                "examples": [list(pair) for pair in convention.examples],
                "support": convention.support,
                "exceptions": list(convention.exceptions),
                "ambiguous": list(convention.ambiguous),
                "destination": convention.destination,
            }
            for convention in report.conventions
        ],
        "skipped": [
            {"folder": row.folder, "rule": row.rule, "files": list(row.files), "count": row.count}
            for row in report.skipped
        ],
        "folders_processed": [
            {"folder": row.path, "processed": row.processed, "total": row.total, "listed": row.listed}
            for row in report.folders
        ],
    }
