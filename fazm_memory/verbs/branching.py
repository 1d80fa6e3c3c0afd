"""Branches: a fork stands at a position of its parent, shares its past, and may have a folder of its own.

In the log a fork is a reference and costs nothing. Its files are the workspace's own unless it is given a
folder: then they are written there as they were at that position, and the two go on side by side.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from fazm_memory.capture.baseline import SECRET, secret
from fazm_memory.capture.copying import Entry as Copied
from fazm_memory.capture.copying import manifest, write_out
from fazm_memory.capture.enclosure import Enclosure
from fazm_memory.capture.files_then import candidates
from fazm_memory.errors import Declined, InvalidRequest
from fazm_memory.log.entries import Entry
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.tables import SEQ_MASK
from fazm_memory.model.clock import iso
from fazm_memory.model.payloads import SessionOpen
from fazm_memory.model.trust import PERSONS_DOORS, SOURCES, ceiling, default_actor
from fazm_memory.verbs.excluding import Excluding
from fazm_memory.verbs.files_back import FilesBack
from fazm_memory.verbs.files_plan import Desk

MISSING_SHOWN = 100
SESSIONS = 200  # of a folder, that are asked who told of it
EXCLUDED = "left out: you excluded its folder"
OTHERS = tuple(one for one in SOURCES if one not in ("mcp", "record", "import"))


class Branching(FilesBack, Excluding):
    """What `Memory` can do with branches. Mixed into it; not for use alone."""

    def fork(
        self,
        session: str,
        *,
        at: int | None = None,
        title: str | None = None,
        into: str | None = None,
        source: str = "cli",
    ) -> dict[str, Any]:
        """A new session that stands where this one stood after its first `at` events.

        With `into` its files are written into that folder, which must be new or empty, and it works there.
        """
        self.check_recording()
        row = self.store.sessions.resolve(session)
        position = self.position(row, at)
        name = row.title if title is None else self.recorder.scrubber.text(title, 500).text
        told: dict[str, Any] = {"folder": row.workspace, "manifest": None}
        if into is not None:
            told = self._into(row, position, into, source)
        opening = SessionOpen(
            agent=row.agent, workspace=told["folder"], title=name, parent=row.id, parent_seq=position
        )
        with self.store.db.reading():
            turn = self.store.snapshots.state_at(row.n, row.id, position).turn
        with self.store.writing() as writer:
            head = writer.create(row.agent, self.now())
            actor, trust = default_actor("session.open", source), ceiling("session.open", source)
            writer.append(head, Entry("session.open", opening, self.now(), actor, source, trust, turn))
            made = head.id
        return self.session(made) | told

    def manifest(self, session: str, *, at: int | None = None) -> dict[str, Any]:
        """The files of a session's workspace as they were at a position, and where their content is."""
        row = self.store.sessions.resolve(session)
        position = self.position(row, at)
        with self._desk(row) as desk:
            entries = self._manifest(desk, position, "cli")
        return {
            "session": row.id,
            "at": position,
            "workspace": row.workspace,
            "files": [_entry_json(one) for one in entries],
            "counts": _counts(entries),
        }

    def branches(self, session: str) -> list[dict[str, Any]]:
        """The family of a session: its first ancestor and all forked from it, each under its parent."""
        row = self.store.sessions.resolve(session)
        seen = {row.id}
        while row.parent is not None and row.parent not in seen:
            seen.add(row.parent)
            above = self.store.sessions.by_key(row.parent, None)
            if above is None:  # the parent is not in this store
                break
            row = above
        return [_branch_json(one, depth) for one, depth in self._below(row, 0, set())]

    def _below(self, row: SessionRow, depth: int, seen: set[str]) -> Iterator[tuple[SessionRow, int]]:
        if row.id in seen:
            return
        seen.add(row.id)
        yield row, depth
        for child in self.store.sessions.children(row.id):
            if not child.forgotten:
                yield from self._below(child, depth + 1, seen)

    # -- a folder of its own -----------------------------------------------------------------------------

    def _manifest(self, desk: Desk, position: int, source: str) -> list[Copied]:
        where = self._spot(desk.row, position)
        never = os.path.realpath(self.config.home)
        roots = {desk.place.root, desk.names.workspace}
        excluded = self._excluded()

        def barred(path: str) -> str | None:
            if any(_within(f"{root}/{path}", one) for root in roots for one in excluded):
                return EXCLUDED
            return SECRET if source not in PERSONS_DOORS and secret(path.rpartition("/")[2]) else None

        told, _ = candidates(self.store, desk.versions, desk.names, desk.row, where)
        return list(manifest(desk.place, desk.versions, desk.names, where, never, barred, told))

    def _excluded(self) -> set[str]:
        """The folders the user excluded, by the names they gave and by where those lead."""
        return {name for one in self.excluded_folders() for name in (one, os.path.realpath(one))}

    def _into(self, row: SessionRow, position: int, into: str, source: str) -> dict[str, Any]:
        self.finish_rewinds()
        folder = os.path.abspath(os.path.expanduser(into))
        with self._desk(row) as desk:
            self._check_folder(folder, desk.place.root)
            if source not in PERSONS_DOORS:
                self._check_reach(row, folder, desk.place.root)
            entries = self._manifest(desk, position, source)
            os.makedirs(folder, exist_ok=True)
            folder = os.path.realpath(folder)
            with Enclosure(folder) as target:
                kept = None if any(_within(folder, one) for one in self._excluded()) else folder
                done = write_out(entries, desk.place, target, desk.versions, kept, self.now())
        missing = [{"path": one.path, "why": one.missing} for one in done if one.missing is not None]
        return {
            "folder": folder,
            "manifest": _counts(done) | {"digest": _digest(done), "left_out": missing[:MISSING_SHOWN]},
        }

    def _check_folder(self, folder: str, workspace: str) -> None:
        real, home = os.path.realpath(folder), os.path.realpath(self.config.home)
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise InvalidRequest(f"{folder} is not a folder", hint="name a new folder, or an empty one")
        if os.path.isdir(folder) and os.listdir(folder):
            raise InvalidRequest(f"{folder} is not empty", hint="name a new folder, or an empty one")
        for other, what in ((workspace, "the session's own workspace"), (home, "the memory itself")):
            if _within(real, other) or _within(other, real):
                raise InvalidRequest(
                    f"{folder} and {what} would lie in one another", hint="name a folder beside it"
                )

    def _check_reach(self, row: SessionRow, folder: str, workspace: str) -> None:
        """An agent names its workspace itself: only beside one that others told of may it have files written,
        and nowhere that programs are started or set up from."""
        real, around = os.path.realpath(folder), os.path.dirname(workspace)
        home = os.path.realpath(self.config.user_home)
        inner = [os.path.relpath(real, one) for one in (around, home) if _within(real, one)]
        hidden = any(part.startswith(".") for one in inner for part in one.split("/"))
        system = _within(real, os.path.join(home, "Library"))
        if around == "/" or not _within(real, around) or hidden or system:
            raise Declined(
                f"an agent may not have files written to {folder}",
                hint=f"name a new folder in {around}, or let a person run `fazm-memory fork ID --into DIR`",
            )
        if not self._told_by_others(row):
            raise Declined(
                f"only an agent says that session {row.id[:8]} works in {workspace}; nothing was copied",
                hint="a person may run `fazm-memory fork ID --into DIR`",
            )

    def _told_by_others(self, row: SessionRow) -> bool:
        """Whether any session in this folder was opened there through another door than an agent's own.

        A source in words of its own is an agent's word, too, and that of a bundle nobody answers for a
        stranger's.
        """
        marks = ",".join("?" * len(OTHERS))
        for one in (row, *self.store.sessions.listing(workspace=row.workspace, limit=SESSIONS)):
            found = self.store.db.execute(
                f"SELECT id FROM event WHERE id>=? AND id<? AND kind='session.open' AND source IN ({marks})"
                " AND trust != 'unverified'",
                (one.n << 32, (one.n + 1) << 32, *OTHERS),
            )
            for (number,) in found.fetchall():
                seq = int(number) & SEQ_MASK
                opening = next(self.store.log.slice(one.n, one.id, seq, seq + 1)).payload
                if isinstance(opening, SessionOpen) and opening.workspace == row.workspace:
                    return True
        return False


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _counts(entries: Sequence[Copied]) -> dict[str, int]:
    return {
        "files": len(entries),
        "from_versions": sum(one.kept for one in entries),
        "from_workspace": sum(one.here for one in entries),
        "missing": sum(one.missing is not None for one in entries),
    }


def _digest(entries: Sequence[Copied]) -> str:
    """Of the whole manifest: two folders with one digest began alike."""
    made = hashlib.sha256()
    for one in sorted(entries, key=lambda one: one.path):
        made.update(f"{one.path}\0{one.held.digest or one.held.size}\0".encode("utf-8", "surrogateescape"))
    return made.hexdigest()


def _entry_json(one: Copied) -> dict[str, Any]:
    told: dict[str, Any] = {"path": one.path, "digest": one.held.digest, "bytes": one.held.size}
    if one.missing is not None:
        return told | {"where": None, "why": one.missing}
    return told | {"where": "versions" if one.kept else "workspace"}


def _branch_json(row: SessionRow, depth: int) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": row.title,
        "parent": row.parent,
        "parent_seq": row.parent_seq,
        "lifecycle": row.lifecycle,
        "head": row.head,
        "workspace": row.workspace,
        "opened_at": iso(row.opened_at),
        "last_at": iso(row.last_at),
        "depth": depth,
    }
