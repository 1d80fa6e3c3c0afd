"""A workspace with an agent, a person and the watcher's eye, in a time of its own: for rewinds of files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.events.event import Draft
from fazm_memory.store.file_versions import FileVersions, digest_of
from fazm_memory.watch.scanner import PendingScan, Scanner
from fazm_memory.watch.versions import Baseline, VersionRecorder
from fazm_memory.watch.workspaces import WorkspaceWatcher

SECOND = 1_000_000
T0 = 1_900_000_000 * SECOND  # later than any real time of a file here, so that only this clock counts


class World:
    """`agent` and `person` change files; after each the watcher looks, unless told not to."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.clock = T0
        self.folder = base / "work"
        self.folder.mkdir(parents=True)
        config = Config(home=base / "memory", user_home=base / "user", key="file")
        self.memory = Memory(config, self.now)
        self.calls = 0
        self.looker = Scanner(self.now, never=[str(config.home)])
        self.versions = FileVersions(config.home, self.memory.store.keys.database)
        self.keeper = VersionRecorder(self.versions, Baseline(self.versions))
        self.teller = WorkspaceWatcher(
            self.memory.store, self.memory.sessions.record, self.now, user_home=config.user_home, hold=0,
            observer=lambda lost: None,
        )  # fmt: skip
        self.session = ""

    def begin(self) -> World:
        """The session opens and the watcher reads all there is."""
        made = self.memory.sessions.open("fazm", workspace=str(self.folder), source="hook")
        self.session = str(made["id"])
        self.looker.add(str(self.folder))
        self.look()
        while self.keeper.baseline.left():
            self.keeper.baseline.go_on(self.now())
        return self

    def close(self) -> None:
        self.teller.stop()
        self.versions.close()
        self.memory.close()

    def now(self) -> int:
        return self.clock

    def look(self) -> None:
        """The watcher looks, and says who it was."""
        for _ in range(2):  # the second look is a later beginning for what comes next
            self.clock += 10 * SECOND
            flush = self.looker.look(PendingScan(polled={os.path.realpath(self.folder)}))
            noted = self.keeper.note(flush, self.looker.roots.values())
            self.teller._tell([(flush, noted)])

    def head(self) -> int:
        return int(self.memory.sessions.get(self.session)["events"])

    def agent(self, act: Callable[[], object], *, looks: bool = True) -> int:
        """A shell call that says nothing of what it did; the position before it."""
        before, self.calls = self.head(), self.calls + 1
        call: dict[str, object] = {
            "tool": "Bash",
            "input": {"command": "sh work.sh"},
            "call_id": f"c{self.calls}",
        }
        self._record("action.start", call)
        self.clock += SECOND
        act()
        self.clock += SECOND
        self._record("action", call | {"output": ""})
        if looks:
            self.look()
        return before

    def person(self, act: Callable[[], object], *, looks: bool = True) -> None:
        self.clock += 60 * SECOND
        act()
        if looks:
            self.look()

    def _record(self, kind: str, payload: dict[str, object]) -> None:
        draft = Draft(self.session, kind, payload, at=self.now(), source="hook")
        (result,) = self.memory.sessions.record([draft])
        assert result.error is None, result.error

    def write(self, path: str, text: str | bytes) -> Callable[[], None]:
        def act() -> None:
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text if isinstance(text, bytes) else text.encode())

        return act

    def chmod(self, path: str, mode: int) -> Callable[[], None]:
        return lambda: os.chmod(self.folder / path, mode)

    def modes(self) -> dict[str, int]:
        """Who may use what the workspace holds."""
        return {path: os.stat(self.folder / path).st_mode & 0o7777 for path in self.files()}

    def files(self) -> dict[str, bytes]:
        """All that the workspace holds."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }

    def kept(self, data: bytes) -> bool:
        """Whether a content lies in the workspace or among the kept copies."""
        return data in self.files().values() or self.versions.read(digest_of(data)) is not None
