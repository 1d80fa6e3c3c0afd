"""Letting go of versions: all those of forgotten files, those older than a policy keeps, or the oldest.

Age and room never take what a file holds now: that would leave nothing to go back to.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath

from fazm_memory.log.database import Database

AGED = "let go: it was older than the retention policy keeps"
CROWDED = "let go to make room"


class LettingGo:
    """What `Versions` lets go of. Mixed into it; not for use alone."""

    db: Database
    cap: int

    def forget(self, root: str, paths: Collection[str] | None = None) -> int:
        """Let go of all versions of these files, or of a whole root; how many there were."""
        with self.db.transaction():
            if paths is None:
                gone = self.db.execute("DELETE FROM version WHERE root=?", (root,)).rowcount
                self.db.execute("DELETE FROM folder WHERE root=?", (root,))
            else:
                deleted = self.db.executemany(
                    "DELETE FROM version WHERE root=? AND path=?", [(root, path) for path in paths]
                )
                gone = deleted.rowcount
                above = {one.as_posix() for path in paths for one in PurePosixPath(path).parents}
                self.db.executemany(
                    "DELETE FROM folder WHERE root=? AND path=?", [(root, folder) for folder in above]
                )
            sweep(self.db)
        return int(gone)

    def _by_root(self, paths: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
        """Whole paths as those below each root that is known."""
        wanted = sorted(set(paths))
        for (root,) in self.db.execute("SELECT DISTINCT root FROM version ORDER BY root").fetchall():
            inside = f"{root.rstrip('/')}/"
            own = [path.removeprefix(inside) for path in wanted if path.startswith(inside)]
            if own:
                yield root, own

    def forget_files(self, paths: Iterable[str]) -> int:
        """Let go of all versions of these files, named by their whole paths; how many there were."""
        wanted = set(paths)
        gone = sum(self.forget(root, own) for root, own in list(self._by_root(wanted)))
        gone += self._forget_rewinds(wanted)
        if gone:
            self.db.execute("VACUUM")
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone

    def _forget_rewinds(self, paths: set[str]) -> int:
        """Finished rewinds that wrote any of these files; they can no longer be taken back."""
        rows = self.db.execute("SELECT id, told FROM restore WHERE stage NOT IN ('planned', 'running')")
        gone = []
        for id_, told in rows.fetchall():
            made = json.loads(told)
            written = (step[name] for step in made["steps"] for name in ("path", "origin") if step[name])
            if any(f"{made['workspace']}/{path}" in paths for path in written):
                gone.append((id_,))
        with self.db.transaction():
            self.db.executemany("DELETE FROM restore WHERE id=?", gone)
        return len(gone)

    def let_go_before(self, moment: int, *, dry_run: bool = False) -> int:
        """Content older than a moment goes, never that of a file's last version; how many lose it."""
        old = (
            "digest IS NOT NULL AND at < ? AND id <"
            " (SELECT max(id) FROM version w WHERE w.root=version.root AND w.path=version.path)"
        )
        count = int(self.db.execute(f"SELECT count(*) FROM version WHERE {old}", (moment,)).fetchone()[0])
        if count and not dry_run:
            with self.db.transaction():
                self.db.execute(f"UPDATE version SET digest=NULL, reason=? WHERE {old}", (AGED, moment))
                self.db.execute("DELETE FROM folder WHERE at < ?", (moment,))
                sweep(self.db)
            self.db.execute("VACUUM")
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return count

    def size(self) -> int:
        """Bytes of content kept, compressed."""
        return int(self.db.execute("SELECT bytes FROM total").fetchone()[0])

    def _make_room(self) -> None:
        """Over the cap the oldest versions lose their content first, never the last one of a file."""
        while self.size() > self.cap:
            old = self.db.execute(
                "SELECT id FROM version v WHERE digest IS NOT NULL AND id <"
                " (SELECT max(id) FROM version w WHERE w.root=v.root AND w.path=v.path) ORDER BY at LIMIT 200"
            ).fetchall()
            if not old:
                return  # only what files hold now: letting go of that would leave nothing to go back to
            self.db.executemany("UPDATE version SET digest=NULL, reason=? WHERE id=?",
                                [(CROWDED, one[0]) for one in old])  # fmt: skip
            sweep(self.db)


def sweep(db: Database) -> None:
    """Content that no version holds any more goes."""
    db.execute("DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM version WHERE version.digest = blob.digest)")
    db.execute("UPDATE total SET bytes = (SELECT coalesce(sum(length(data)), 0) FROM blob)")
