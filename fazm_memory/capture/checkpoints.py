"""Where each watched root stood at the last look, kept in the store between runs."""

from __future__ import annotations

from fazm_memory.capture.tree import Tree
from fazm_memory.log.database import Database


class Checkpoints:
    """Through a connection of its own: the watcher's thread uses it, and the log has another."""

    def __init__(self, database: Database) -> None:
        self.db = database

    def around(self, folder: str, before: int) -> str | None:
        """The innermost root around a folder, if it was last looked at before that moment."""
        found = self.db.execute(
            "SELECT root, at FROM tree WHERE ? = root OR substr(?, 1, length(root) + 1) = root || '/'"
            " ORDER BY length(root) DESC LIMIT 1",
            (folder, folder),
        ).fetchone()
        return None if found is None or int(found[1]) > before else str(found[0])

    def at(self, root: str) -> int | None:
        row = self.db.execute("SELECT at FROM tree WHERE root=?", (root,)).fetchone()
        return None if row is None else int(row[0])

    def load(self, root: str) -> Tree | None:
        row = self.db.execute("SELECT at, state FROM tree WHERE root=?", (root,)).fetchone()
        return None if row is None else Tree.from_bytes(root, int(row[0]), bytes(row[1]))

    def save(self, tree: Tree) -> None:
        state = tree.to_bytes()
        with self.db.transaction():
            self.db.execute("INSERT OR REPLACE INTO tree VALUES (?,?,?)", (tree.root, tree.at, state))

    def forget(self, root: str) -> None:
        with self.db.transaction():
            self.db.execute("DELETE FROM tree WHERE root=?", (root,))
