"""The working set: which files and folders a session touched, in what way, and by whose hand.

A file's entry tells the net change since the session began: a file created and then edited was created, a
file renamed twice was renamed once from its first name, a file renamed back was not renamed at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fazm_memory.model.words import By, Change


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One changed file: the `files_modified` entry of the contract.

    `was` is what had happened to a renamed file besides, so that renaming it back does not lose that.
    `doubted_by` is the position of something of doubtful origin that its last change followed, see `doubts`.
    `session` is whose positions these are, when that is the parent of a fork.
    """

    path: str
    change: Change
    origin: str | None
    by: By
    evidence: str
    seq: int
    was: Change | None = None
    session: str | None = None
    doubted_by: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "change": self.change,
            "from": self.origin,
            "by": self.by,
            "evidence": self.evidence,
            "seq": self.seq,
            **({} if self.was is None else {"was": self.was}),
            **({} if self.session is None else {"session": self.session}),
            **({} if self.doubted_by is None else {"doubted_by": self.doubted_by}),
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> FileEntry:
        return cls(
            raw["path"], raw["change"], raw["from"], raw["by"], raw["evidence"], raw["seq"],
            raw.get("was"), raw.get("session"), raw.get("doubted_by"),
        )  # fmt: skip


def parent_folder(path: str) -> str:
    """The folder of a path as text: no file system is asked."""
    head, _, _ = path.rstrip("/").rpartition("/")
    return head or ("/" if path.startswith("/") else ".")


def apply_change(
    files: dict[str, FileEntry],
    path: str,
    change: Change,
    *,
    origin: str | None,
    by: By,
    evidence: str,
    seq: int,
    doubted_by: int | None = None,
) -> None:
    """Fold one change into the net changes, newest last, so that the oldest can be let go first."""

    def put(path: str, change: Change, origin: str | None = None, was: Change | None = None) -> None:
        files[path] = FileEntry(path, change, origin, by, evidence, seq, was, doubted_by=doubted_by)

    before = files.pop(path, None)
    if change == "renamed" and origin is not None and origin != path:
        moved = files.pop(origin, None)
        first, was = origin, None
        if moved is not None and moved.change == "renamed":
            first, was = moved.origin or origin, moved.was
        elif moved is not None and moved.change != "deleted":
            was = moved.change
        if first != path:
            put(path, "renamed", first, was)
        elif was is not None:
            put(path, was)
        return  # renamed back to where it was, and nothing else: no change
    if before is not None and change == "modified" and before.change in ("created", "renamed"):
        was = before.was or ("modified" if before.change == "renamed" else None)
        put(path, before.change, before.origin, was)
        return
    if before is not None and change == "created" and before.change == "deleted":
        change = "modified"  # gone and back: the path holds something else now
    if before is not None and change == "deleted" and before.change == "renamed":
        # Under its first name the file is gone; that is the name people know it by.
        first = before.origin or path
        taken = files.pop(first, None)
        gone = taken is None or taken.change == "deleted"  # else something new has that name by now
        put(first, "deleted" if gone else "modified")
        return
    put(path, change)
