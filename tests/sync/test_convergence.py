"""Three machines, a store that delays, truncates and reorders, and crashes: all end with the same memory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from fazm_memory.app import sync as app_sync
from fazm_memory.errors import SyncRefused
from fazm_memory.sync.transports import PART
from tests.sync.machines import Machine

NAMES = ("mini", "laptop", "studio")
SKEW = {"mini": 0, "laptop": 3_600_000_000, "studio": -86_400_000_000}  # microseconds
LONG = bool(os.environ.get("CAMPAIGN"))


class Crash(BaseException):
    """The process is killed here."""


class LateStore:
    """What each machine sees: its own writes at once, those of others when they are delivered."""

    def __init__(self) -> None:
        self.shared: dict[str, bytes] = {}
        self.own: dict[str, dict[str, bytes | None]] = {name: {} for name in NAMES}
        self.left = -1  # requests until the crash; negative: none
        self.hidden: set[str] = set()  # names that listings leave out
        self.earlier: list[tuple[str, bytes]] = []  # what others were shown before
        self.replaced: dict[str, bytes | None] = {}  # what an earlier content was put back over

    def view(self, machine: str, name: str) -> bytes | None:
        own = self.own[machine]
        return own[name] if name in own else self.shared.get(name)

    def read(self, machine: str, name: str) -> bytes | None:
        if self.left == 0:
            raise Crash
        self.left -= self.left > 0
        return self.view(machine, name)

    def write(self, machine: str, name: str, data: bytes | None) -> None:
        if self.left == 0:
            raise Crash  # before it happened
        self.own[machine][name] = data
        if self.left == 1:
            self.left = 0
            raise Crash  # after it happened, before anybody knew
        self.left -= self.left > 0

    def deliver(self, machine: str, pick: int, keep: float = 1.0) -> None:
        """Show one write to the others, perhaps only the beginning of it."""
        names = list(self.own[machine])
        if not names:
            return
        name = names[pick % len(names)]
        data = self.own[machine][name]
        self.replaced.pop(name, None)
        if name in self.shared:
            self.earlier.append((name, self.shared[name]))
        if data is None:
            self.shared.pop(name, None)
        else:
            self.shared[name] = data[: int(len(data) * keep)]
        if keep == 1.0:
            del self.own[machine][name]

    def put_back(self, pick: int) -> None:
        """Show the others what was there before: an older head, a deleted object."""
        if self.earlier:
            name, data = self.earlier[pick % len(self.earlier)]
            self.replaced.setdefault(name, self.shared.get(name))
            self.shared[name] = data

    def heal(self) -> None:
        """Take back what `put_back` did."""
        for name, data in self.replaced.items():
            if data is None:
                self.shared.pop(name, None)
            else:
                self.shared[name] = data
        self.replaced.clear()


class LateTransport:
    def __init__(self, store: LateStore, machine: str) -> None:
        self.store, self.machine = store, machine

    def put(self, name: str, data: bytes) -> str:
        self.store.write(self.machine, name, data)
        return str(hash(data))

    def get(self, name: str) -> bytes | None:
        return self.store.read(self.machine, name)

    def delete(self, name: str) -> None:
        self.store.write(self.machine, name, None)

    def list(self, prefix: str) -> dict[str, str]:
        names = {*self.store.shared, *self.store.own[self.machine]}
        found = {name: self.store.view(self.machine, name) for name in names if name.startswith(f"{prefix}/")}
        return {
            name.rpartition("/")[2]: str(hash(data))
            for name, data in found.items()
            if data is not None and PART.fullmatch(name.rpartition("/")[2]) and name not in self.store.hidden
        }

    def vaults(self) -> set[str]:
        return set()

    def probe(self) -> bool:
        return False


class SyncMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = LateStore()
        self.machines: dict[str, Machine] = {}
        self.words: dict[str, str] = {}  # word: session
        self.forgotten: set[str] = set()
        self.count = 0
        self.patches: list[Any] = [
            mock.patch.object(
                app_sync, "open_transport", lambda place: LateTransport(self.store, place["at"])
            ),
            mock.patch.object(app_sync, "place_of", lambda folder, url: {"at": folder, "folder": folder}),
        ]
        for patch in self.patches:
            patch.start()

    @initialize()
    def make(self) -> None:
        self.recovery = ""
        for name in NAMES:
            machine = self.machines[name] = Machine(Path(self.folder.name), name)
            machine.now.at += SKEW[name]  # type: ignore[attr-defined]
            if self.recovery:
                machine.sync.join(recovery=self.recovery, folder=name, name=name)
            else:
                self.recovery = machine.sync.init(folder=name, name=name)["recovery_key"]
            self.deliver_all()

    def deliver_all(self) -> None:
        self.store.heal()
        for name in NAMES:
            while self.store.own[name]:
                self.store.deliver(name, 0)

    def word(self) -> str:
        self.count += 1
        return f"word{self.count:04d}end"

    def own_sessions(self, name: str) -> list[str]:
        rows = self.machines[name].store.sessions.listing(limit=None)
        return sorted(row.id for row in rows if row.device is None and not row.forgotten)

    @rule(name=st.sampled_from(NAMES), pick=st.integers(0, 5))
    def work(self, name: str, pick: int) -> None:
        machine, sessions = self.machines[name], self.own_sessions(name)
        session = sessions[pick % len(sessions)] if sessions and pick else machine.begin()
        word = self.word()
        machine.say(session, "prompt", text=f"do {word}")
        machine.act(session, "Bash", {"command": "ls"})
        self.words[word] = session

    @rule(name=st.sampled_from(NAMES), pick=st.integers(0, 5))
    def take_over(self, name: str, pick: int) -> None:
        machine = self.machines[name]
        rows = [row for row in machine.store.sessions.listing(limit=None) if row.device is not None]
        if rows:
            row = sorted(rows, key=lambda row: row.id)[pick % len(rows)]
            fork = machine.rewind.fork(row.id, at=max(1, row.head - pick))["id"]
            word = self.word()
            machine.say(fork, "prompt", text=f"go on with {word}")
            self.words[word] = fork

    @precondition(lambda self: self.words)
    @rule(name=st.sampled_from(NAMES), pick=st.integers(0, 50))
    def forget(self, name: str, pick: int) -> None:
        word = sorted(self.words)[pick % len(self.words)]
        if self.machines[name].maintenance.forget(match=word)["events"]:
            self.forgotten.add(word)
            assert word not in self.machines[name].texts()

    @rule(name=st.sampled_from(NAMES), pick=st.integers(0, 5))
    def quarantine(self, name: str, pick: int) -> None:
        machine = self.machines[name]
        rows = [row for row in machine.store.sessions.listing(limit=None) if not row.forgotten]
        if rows:
            machine.maintenance.quarantine(sorted(row.id for row in rows)[pick % len(rows)])

    @rule(name=st.sampled_from(NAMES))
    def retain(self, name: str) -> None:
        self.machines[name].pass_time(days=200)
        self.machines[name].maintenance.retain()

    @rule(name=st.sampled_from(NAMES))
    def leave_and_join_again(self, name: str) -> None:
        """The machine gets new keys, as after a removal, and uploads its sessions again."""
        self.machines[name].sync.leave(forget_keys=True)
        self.deliver_all()
        self.machines[name].sync.join(recovery=self.recovery, folder=name, name=name)

    @rule(name=st.sampled_from(NAMES), other=st.sampled_from(NAMES))
    def remove(self, name: str, other: str) -> None:
        """A machine is removed, learns of it, and joins again with the recovery key."""
        if name == other:
            return
        self.deliver_all()
        self.machines[name].sync.round()
        self.machines[name].sync.remove(self.machines[other].vault().identity.device)
        self.deliver_all()
        with pytest.raises(SyncRefused):
            self.machines[other].sync.round()
        self.machines[other].sync.join(recovery=self.recovery, folder=other, name=other)

    @rule(pick=st.integers(0, 20))
    def put_back(self, pick: int) -> None:
        self.store.put_back(pick)

    @rule(name=st.sampled_from(NAMES), after=st.integers(-1, 12), hide=st.integers(0, 7))
    def sync(self, name: str, after: int, hide: int) -> None:
        machine = self.machines[name]
        self.store.left = after
        heads = sorted(name for name in self.store.shared if "/h/" in name)
        self.store.hidden = {name for nth, name in enumerate(heads) if hide & 1 << nth}
        try:
            machine.sync.round()
        except Crash:
            machine.close()  # the next use opens everything anew, as a new process would
        finally:
            self.store.left = -1
            self.store.hidden = set()

    @rule(name=st.sampled_from(NAMES), pick=st.integers(0, 20), keep=st.sampled_from([1.0, 1.0, 0.0, 0.7]))
    def deliver(self, name: str, pick: int, keep: float) -> None:
        self.store.deliver(name, pick, keep)

    def teardown(self) -> None:
        try:
            if self.machines:
                self.check()
        finally:
            for machine in self.machines.values():
                machine.close()
            for patch in self.patches:
                patch.stop()
            self.folder.cleanup()

    @staticmethod
    def states(machine: Machine) -> dict[str, Any]:
        """All sessions. A fork counts the inherited actions whose details are still there when it arrives."""
        found = machine.states()
        return {
            session: (title, lifecycle, None if parent else actions, parent, *rest)
            for session, (title, lifecycle, actions, parent, *rest) in found.items()
        }

    def check(self) -> None:
        reports: list[dict[str, Any]] = []
        for _ in range(5):
            reports = []
            for machine in self.machines.values():
                reports.append(machine.sync.round())
                self.deliver_all()
        # A machine that did not know that it was removed may have deleted what the others had not read yet.
        problems = [problem for report in reports for problem in report["problems"]]
        assert [problem for problem in problems if "the removed “" not in problem] == []
        first, *others = [self.states(machine) for machine in self.machines.values()]
        assert all(other == first for other in others)
        held, *also = [machine.sessions.quarantined() for machine in self.machines.values()]
        assert all(other == held for other in also)
        text = repr(first)
        for word in self.words:
            assert (word in text) == (word not in self.forgotten), word
        for machine in self.machines.values():
            report = machine.maintenance.verify()
            assert report.clean, report.findings


SyncMachine.TestCase.settings = settings(
    max_examples=100 if LONG else 6,
    stateful_step_count=50 if LONG else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
TestConvergence = SyncMachine.TestCase
