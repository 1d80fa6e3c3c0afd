"""A world to go back in, with real files, and what must hold there.

Files are what the plan promised, the log verifies, the state is the full fold here and wherever the session
is moved, and no byte that a person wrote is lost.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fazm_memory.app.memory import Memory
from fazm_memory.app.replay import TRASH
from fazm_memory.config import Config
from fazm_memory.errors import Declined, NotFound
from fazm_memory.events.event import Event, is_fully_retained, retained_payload
from fazm_memory.session.reducer import fold, fork_state, initial_state
from fazm_memory.session.state import SessionState
from fazm_memory.store.event_log import event_id
from fazm_memory.store.file_versions import digest_of
from fazm_memory.store.forget import files_named
from fazm_memory.store.sessions import SessionRow
from tests.files_world import World

NAMES = ("a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt", "e.txt", "empty/f.txt")


class Going(World):
    """A world that remembers what its files were before each thing the agent did, and all a person wrote."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        for name in NAMES[:3]:
            self.write(name, f"{name} at first")()
        (self.folder / "empty").mkdir()  # a person's; nobody here ever takes a folder away
        self.begin()
        self.stood: dict[int, dict[str, bytes]] = {}
        self.stood_modes: dict[int, dict[str, int]] = {}
        self.theirs: list[bytes] = []
        self.count = 0
        self.unknown: set[str] = set()  # names of files that the memory was asked to forget

    def text(self, who: str) -> bytes:
        self.count += 1
        return f"{who} {self.count}".encode()

    def changes(self, what: str, name: str, other: str, content: bytes) -> None:
        path, target = self.folder / name, self.folder / other
        if what == "delete" and path.is_file():
            path.unlink()
        elif what == "move" and path.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        elif what == "chmod" and path.is_file():
            path.chmod(path.stat().st_mode ^ 0o111)
        else:
            self.write(name, content)()

    def works(self, what: str, name: str, other: str) -> None:
        self.stood[self.head()] = self.files()
        self.stood_modes[self.head()] = self.modes()
        content = self.text("agent")
        self.agent(lambda: self.changes(what, name, other, content))

    def interferes(self, what: str, name: str, other: str, *, looks: bool = True) -> None:
        content = self.text("person")
        self.person(lambda: self.changes(what, name, other, content), looks=looks)
        if content in self.files().values():
            self.theirs.append(content)

    def goes_back(self, to: int, *, force: bool) -> None:
        """Rewind, and hold the files against what the plan said."""
        before, modes, head = self.files(), self.modes(), self.head()
        plan = self.memory.rewind.plan(self.session, to)
        try:
            made = self.memory.rewind.apply(self.session, to, files=True, force=force, plan=plan["digest"])
        except Declined:
            assert plan["needs_force"]
            assert not force
            assert (self.files(), self.modes(), self.head()) == (before, modes, head)
            self.look()
            return
        assert force or not plan["needs_force"]
        self.holds(plan, before, self.stood.get(to))
        self.holds_modes(plan, modes, self.stood_modes.get(to))
        assert all(one["done"] for one in made["files"])
        self.look()
        brought = {one["path"] for one in made["files"]}
        later = self.memory.history.events(self.session, start=head + 1)
        assert [
            one for one in later if one["payload"].get("path") in brought
        ] == []  # it is nobody else's work

    def holds(self, plan: dict[str, Any], before: dict[str, bytes], then: dict[str, bytes] | None) -> None:
        """The files are what they were before, but for what the plan names; and that is what it was then."""
        now, expected = self.files(), dict(before)
        for one in plan["files"]:
            action = one.get("would", one["action"])
            path = os.path.relpath(one["path"], self.folder)
            if action == "rename_back":
                expected[path] = expected.pop(os.path.relpath(one["from"], self.folder))
            elif action == "delete":
                del expected[path]
            elif action in ("restore", "recreate"):
                expected[path] = now[path]
                assert then is None or now[path] == then[path]
        assert now == expected

    def holds_modes(self, plan: dict[str, Any], before: dict[str, int], then: dict[str, int] | None) -> None:
        """The same for who may use them."""
        now, expected = self.modes(), dict(before)
        for one in plan["files"]:
            action = one.get("would", one["action"])
            path = os.path.relpath(one["path"], self.folder)
            if action in ("delete", "rename_back"):
                del expected[os.path.relpath(one.get("from", one["path"]), self.folder)]
            if action in ("restore", "recreate", "rename_back"):
                expected[path] = now[path]
                assert then is None or now[path] == then[path] or "its mode then is not known" in one["why"]
        assert now == expected

    def takes_back(self) -> None:
        try:
            self.memory.rewind.undo(self.session, force=True)
        except NotFound:
            return
        self.look()

    def lost(self) -> list[bytes]:
        here = set(self.files().values())
        return [one for one in self.theirs if one not in here and self.versions.read(digest_of(one)) is None]

    def forgets(self, seqs: list[int], session: str | None = None) -> None:
        """Forget events of any kind. What is kept of the files they name goes too, and is owed no more. What
        says how others are read loses its words alone, and every session stands where it stood."""
        row = self.memory.store.sessions.resolve(session or self.session)
        held = [event for seq in seqs if not is_fully_retained(event := self.event(row, seq))]
        named = files_named(self.memory.store, {row.n: seqs})
        self.unknown |= {os.path.relpath(one, self.folder) for one in named}
        result = self.memory.maintenance.forget(row.id, seqs=seqs)
        assert result["events"] >= len(held)  # and the checkpoints that held the same
        left = [self.event(row, event.seq).payload for event in held]
        assert left == [retained_payload(event.kind, event.payload) for event in held]
        self.theirs = [one for one in self.theirs if self.versions.read(digest_of(one)) is not None]

    def event(self, row: SessionRow, seq: int) -> Event:
        return next(self.memory.store.log.slice(row.n, row.id, seq, seq + 1))

    def stands(self, memory: Memory, session: str, heads: Mapping[str, int]) -> list[Any]:
        """Where a session and those it stands on are, at every position up to these, and what is held back of
        them; as any machine tells it."""
        results: list[Any] = []
        row = memory.store.sessions.resolve(session)
        while True:
            with memory.store.db.reading():
                head = heads.get(row.id, row.head)
                results.append([memory.store.snapshots.state_at(row.n, row.id, at) for at in range(head + 1)])
                held = memory.store.quarantine_view.marks_of(row.n)
                results.append((held.whole, sorted(seq for seq in held.seqs if seq < head)))
                results.append((row.parent, row.parent_seq, row.background))
            if row.parent is None or row.parent_seq is None:
                return results
            heads = {row.parent: row.parent_seq}
            row = memory.store.sessions.resolve(row.parent)

    def moves(self, session: str, home: Path, bundle: Path) -> None:
        """On another machine a session stands where it stands here, at every position."""
        before, head = self.files(), self.memory.sessions.get(session)["events"]
        self.memory.bundles.export(session, bundle, passphrase="four words for it", quarantined=True)
        there = Memory(Config(home=home, user_home=self.base / "user", key="file"), self.now)
        try:
            there.bundles.import_(bundle, passphrase="four words for it")
            assert there.maintenance.verify().clean
            heads = {session: head}
            here = self.stands(self.memory, session, heads)
            assert self.stands(there, session, heads) == here
        finally:
            there.close()
        assert self.files() == before

    def does_it_again(self, folder: Path, yes: Iterator[bool]) -> None:
        """Replay onto the files of the beginning: there happens what was confirmed and told, elsewhere
        nothing."""
        for name, data in (self.stood[min(self.stood)] if self.stood else self.files()).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        folder.mkdir(exist_ok=True)
        (folder / f"{folder.name}.sh").write_text("echo again >> made.txt\n")  # what the recording calls
        before, head, expected = self.files(), self.head(), files_of(folder)

        def confirm(step: dict[str, Any]) -> bool:
            return "outside" not in step and next(yes)

        onto = {"folder": str(folder)}
        plan = self.memory.replay.run(self.session, onto=onto, execute=False, confirm=confirm)
        assert files_of(folder) == expected
        results = self.memory.replay.run(self.session, onto=onto, execute=True, confirm=confirm)
        assert [one["what"] for one in results["steps"]] == [one["what"] for one in plan["steps"]]
        for one in results["steps"]:
            if one["outcome"] != "done":
                continue
            if one["kind"] == "command":
                expected["made.txt"] = expected.get("made.txt", b"") + b"again\n"
                continue
            source = os.path.relpath(one["from"], folder)
            target = (
                f"{TRASH}/{Path(source).name}" if one["to"] is None else os.path.relpath(one["to"], folder)
            )
            assert target not in expected
            expected[target] = expected.pop(source)
        assert files_of(folder) == expected
        assert (self.files(), self.head()) == (before, head)
        if results["recorded"] is not None:
            self.memory.sessions.move(results["recorded"], "close")

    def recovers_a_copy(self, home: Path, *sessions: str) -> None:
        """A sound store needs no recovery; in one that does all that is whole stands where it stood."""
        shutil.copytree(self.memory.config.home, home)
        copy = Memory(replace(self.memory.config, home=home), self.now)
        try:
            assert copy.maintenance.recover()["needed"] is False
            damaged = copy.sessions.open("fazm", title="damaged", source="hook")["id"]
            number = copy.store.sessions.resolve(damaged).n
            copy.store.db.execute("UPDATE event SET payload=x'7b7d' WHERE id=?", (event_id(number, 0),))
            result = copy.maintenance.recover()
            assert (result["needed"], result["lost"]) == (True, 1)
            for session in (self.session, *sessions):
                assert self.stands(copy, session, {}) == self.stands(self.memory, session, {})
                ours = self.memory.sessions.get(session)
                assert copy.sessions.get(session)["lifecycle"] == ours["lifecycle"]
            assert copy.maintenance.verify().clean
        finally:
            copy.close()

    def check(self) -> None:
        assert self.lost() == []
        assert (self.folder / "sub").is_dir()
        assert (self.folder / "empty").is_dir()
        assert self.memory.maintenance.verify().clean
        store = self.memory.store
        for row in store.sessions.listing(limit=None, background=True):
            state = self.folded(row, row.head)
            with store.db.reading():
                assert store.snapshots.state_at(row.n, row.id, row.head) == state
            assert row.lifecycle == state.lifecycle
            counts = [state.counts.get(name, 0) for name in ("actions", "failures", "files_modified")]
            assert [row.actions, row.failures, row.files_modified] == counts
            assert row.questions == len(state.questions)

    def folded(self, row: SessionRow, at: int) -> SessionState:
        """The state from events alone, with no snapshot in between."""
        store, first = self.memory.store, initial_state(row.id)
        if row.parent is not None and row.parent_seq is not None:
            first = fork_state(self.folded(store.sessions.resolve(row.parent), row.parent_seq), row.id)
        states = [first]
        for event in store.log.slice(row.n, row.id, 0, at):
            states.append(fold(states[event.payload.to if event.kind == "rewind" else -1], [event]))
        return states[-1]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}
