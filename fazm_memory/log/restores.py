"""The journal of rewinds that write files: what is to be done is durable before the first byte changes.

It lies beside the versions it draws on. `planned`: the copies are kept and nothing is written yet; `running`:
the log has the rewind, and files follow; `done`; `dropped`: the log did not take it, so nothing was written.
Whatever is found planned or running when nobody is at work was cut short, and is finished.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fazm_memory.errors import StoreBusy
from fazm_memory.log.versions import Versions
from fazm_memory.private import private_file, private_folder

LOCK = "rewind.lock"

PLANNED, RUNNING, DONE, DROPPED, UNDONE = "planned", "running", "done", "dropped", "undone"
COLUMNS = "id, session, root, stage, began, ended, told"


@dataclass(frozen=True)
class Restore:
    """One rewind of files: where, of which session, how far it got, and all that was to be done."""

    id: int
    session: str
    root: str
    stage: str
    began: int
    ended: int | None
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What makes its event in the log one, however often it is told."""
        return f"restore:{self.session}:{self.began}:{self.id}"


class Restores:
    def __init__(self, versions: Versions) -> None:
        self.db = versions.db

    def begin(self, session: str, root: str, at: int, told: dict[str, Any]) -> Restore:
        """In the transaction that keeps the copies."""
        text = json.dumps(told)
        made = self.db.execute(
            "INSERT INTO restore (session, root, stage, began, told) VALUES (?,?,?,?,?)",
            (session, root, PLANNED, at, text),
        )
        return Restore(int(made.lastrowid), session, root, PLANNED, at, None, told)

    def move(
        self, one: Restore, stage: str, *, ended: int | None = None, told: dict[str, Any] | None = None
    ) -> Restore:
        made = Restore(
            one.id, one.session, one.root, stage, one.began, ended or one.ended, one.told | (told or {})
        )
        with self.db.transaction():
            self.db.execute(
                "UPDATE restore SET stage=?, ended=?, told=? WHERE id=?",
                (stage, made.ended, json.dumps(made.told), one.id),
            )
        return made

    def unfinished(self) -> list[Restore]:
        return self._where("stage IN ('planned', 'running') ORDER BY id")

    def last(self, session: str) -> Restore | None:
        """The latest rewind of this session's files that has not been undone."""
        found = self._where("session=? AND stage='done' ORDER BY id DESC LIMIT 1", session)
        return found[0] if found else None

    def get(self, number: int) -> Restore:
        return self._where("id=?", number)[0]

    def _where(self, condition: str, *values: object) -> list[Restore]:
        rows = self.db.execute(f"SELECT {COLUMNS} FROM restore WHERE {condition}", values).fetchall()
        return [
            Restore(id_, session, root, stage, began, ended, json.loads(told))
            for id_, session, root, stage, began, ended, told in rows
        ]


@contextmanager
def only_one(home: Path) -> Iterator[None]:
    """One rewind of files at a time; the system lets go of the lock however the process ends."""
    private_folder(home)
    descriptor = os.open(private_file(home / LOCK), os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreBusy(
                "another rewind is bringing files back at this moment", hint="try again when it is done"
            ) from None
        yield
    finally:
        os.close(descriptor)
