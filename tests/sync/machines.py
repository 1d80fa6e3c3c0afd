"""Machines for tests: each with a memory of its own, in one vault over a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fazm_memory.sync.vault import Vault
from tests.app.memory_fixture import MemoryFixture


class Machine(MemoryFixture):
    """A memory with a name that syncs over a folder."""

    def __init__(self, root: Path, name: str) -> None:
        super().__init__(root / name / "memory")
        self.machine_name = name
        self.config.user_home.mkdir(parents=True, exist_ok=True)

    def states(self) -> dict[str, Any]:
        """What can be read of every session, without what differs between machines."""
        found = {}
        for row in self.store.sessions.listing(limit=None, background=True):
            events = [
                (event.seq, event.at, event.turn, event.kind, event.actor, event.trust, self._plain(event))
                for event in self.store.log.slice(row.n, row.id)
            ]
            found[row.id] = (row.title, row.lifecycle, row.actions, row.parent, row.parent_seq, events)
        return found

    def _plain(self, event: Any) -> Any:
        if event.kind == "session.open" and event.payload is not None:
            return (event.payload.agent, event.payload.title, event.payload.parent)
        if event.kind == "forgotten" and event.payload is not None:
            return (event.payload.count, event.payload.ranges)
        return event.payload

    def texts(self) -> str:
        return repr(self.states())

    def pass_time(self, *, days: int) -> None:
        self.now.at += days * 86_400_000_000  # type: ignore[attr-defined]

    def vault(self) -> Vault:
        return self.sync._vault()


class Machines:
    """Machines of one vault. The first one made it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "shared"
        self.folder.mkdir()
        self.recovery = ""
        self.all: list[Machine] = []

    def add(self, name: str) -> Machine:
        machine = Machine(self.root, name)
        self.all.append(machine)
        if not self.recovery:
            self.recovery = machine.sync.init(folder=str(self.folder), name=name)["recovery_key"]
            machine.sync.round()
        else:
            machine.sync.join(recovery=self.recovery, folder=str(self.folder), name=name)
        return machine

    def settle(self) -> None:
        """Sync all machines until nobody has anything new."""
        for _ in range(3):
            for machine in self.all:
                machine.sync.round()

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file())

    def close(self) -> None:
        for machine in self.all:
            machine.close()
