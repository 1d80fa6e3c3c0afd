"""The folders of workspaces that came and went, and by whose hand: what a rewind may take away with files.

They lie beside the versions of files. A folder that nobody saw come was there, as far as anybody knows.
"""

from __future__ import annotations

from dataclasses import dataclass

from fazm_memory.log.versions import Versions
from fazm_memory.model.rewinding import REWIND


@dataclass(frozen=True, slots=True)
class FolderSeen:
    """A folder came or went at a moment, by the hand of the agent of a session, a person, a rewind, or nobody
    knows whose."""

    at: int
    came: bool
    hand: str
    session: str | None = None
    seq: int | None = None  # the call of that session which did it


class FoldersSeen:
    def __init__(self, versions: Versions) -> None:
        self.db = versions.db

    def note_sighting(self, root: str, path: str, seen: FolderSeen, earliest: int) -> None:
        """What the watcher saw, which happened after `earliest`. In a transaction. What a rewind did then is
        known already, and nobody else's, though another rewind may have undone it before this is told."""
        rewound = (row for row in self.history(root, path) if row.hand == REWIND and row.came == seen.came)
        if not any(row.at >= earliest for row in rewound):
            self.note(root, path, seen)

    def note(self, root: str, path: str, seen: FolderSeen) -> None:
        """In a transaction."""
        self.db.execute(
            "INSERT INTO folder (root, path, at, came, hand, session, seq) VALUES (?,?,?,?,?,?,?)",
            (root, path, seen.at, int(seen.came), seen.hand, seen.session, seen.seq),
        )

    def history(self, root: str, path: str) -> list[FolderSeen]:
        """Each time it came or went, the first one first."""
        rows = self.db.execute(
            "SELECT at, came, hand, session, seq FROM folder WHERE root=? AND path=? ORDER BY id",
            (root, path),
        )
        return [FolderSeen(at, bool(came), *more) for at, came, *more in rows.fetchall()]
