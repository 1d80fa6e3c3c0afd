"""Laws of going back, with real files: whatever was done before, files are what the plan promised, the log
verifies, the state is the full fold, and no byte that a person wrote is lost."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fazm_memory.config import Config
from fazm_memory.errors import Declined, InvalidTransition, NotFound
from fazm_memory.log import retain
from fazm_memory.log.forget import files_named
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.versions import digest_of
from fazm_memory.memory import Memory
from fazm_memory.model.fold import fold, initial
from fazm_memory.model.inheritance import inherited
from fazm_memory.model.retention import DAY, Policy
from fazm_memory.model.state import SessionState
from fazm_memory.verbs.replaying import TRASH
from tests.files_world import World

NAMES = ("a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt", "e.txt")
names = st.sampled_from(NAMES)


class Going(World):
    """A world that remembers what its files were before each thing the agent did, and all a person wrote."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        for name in NAMES[:3]:
            self.write(name, f"{name} at first")()
        self.begin()
        self.stood: dict[int, dict[str, bytes]] = {}
        self.theirs: list[bytes] = []
        self.told = 0
        self.unknown: set[str] = set()  # names of files that the memory was asked to forget

    def text(self, who: str) -> bytes:
        self.told += 1
        return f"{who} {self.told}".encode()

    def changes(self, what: str, name: str, other: str, content: bytes) -> None:
        path, target = self.folder / name, self.folder / other
        if what == "delete" and path.is_file():
            path.unlink()
        elif what == "move" and path.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        else:
            self.write(name, content)()

    def works(self, what: str, name: str, other: str) -> None:
        self.stood[self.head()] = self.files()
        content = self.text("agent")
        self.agent(lambda: self.changes(what, name, other, content))

    def interferes(self, what: str, name: str, other: str, *, looks: bool = True) -> None:
        content = self.text("person")
        self.person(lambda: self.changes(what, name, other, content), looks=looks)
        if content in self.files().values():
            self.theirs.append(content)

    def goes_back(self, to: int, *, force: bool) -> None:
        """Rewind, and hold the files against what the plan said."""
        before, head = self.files(), self.head()
        plan = self.memory.rewind_plan(self.session, to)
        try:
            made = self.memory.rewind(self.session, to, files=True, force=force, plan=plan["digest"])
        except Declined:
            assert plan["needs_force"]
            assert not force
            assert (self.files(), self.head()) == (before, head)
            self.look()
            return
        assert force or not plan["needs_force"]
        self.holds(plan, before, self.stood.get(to))
        assert all(one["done"] for one in made["files"])
        self.look()
        brought = {one["path"] for one in made["files"]}
        later = self.memory.events(self.session, start=head + 1)
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

    def takes_back(self) -> None:
        try:
            self.memory.undo_rewind(self.session, force=True)
        except NotFound:
            return
        self.look()

    def lost(self) -> list[bytes]:
        here = set(self.files().values())
        return [one for one in self.theirs if one not in here and self.versions.read(digest_of(one)) is None]

    def forgets(self, seqs: list[int]) -> None:
        """Forget events of any kind. What is kept of the files they name goes too, and is owed no more."""
        held = [one for one in seqs if self.payload(one) is not None]
        named = files_named(self.memory.store, {self.memory.store.sessions.resolve(self.session).n: seqs})
        self.unknown |= {os.path.relpath(one, self.folder) for one in named}
        told = self.memory.forget(self.session, seqs=seqs)
        assert told["events"] >= len(held)  # and the checkpoints that held the same
        assert [self.payload(one) for one in held] == [None] * len(held)
        self.theirs = [one for one in self.theirs if self.versions.read(digest_of(one)) is not None]

    def payload(self, seq: int) -> Any:
        (event,) = self.memory.events(self.session, start=seq, stop=seq + 1)
        return event["payload"]

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
        plan = self.memory.replay_run(self.session, onto=onto, execute=False, confirm=confirm)
        assert files_of(folder) == expected
        told = self.memory.replay_run(self.session, onto=onto, execute=True, confirm=confirm)
        assert [one["what"] for one in told["steps"]] == [one["what"] for one in plan["steps"]]
        for one in told["steps"]:
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
        if told["recorded"] is not None:
            self.memory.move(told["recorded"], "close")

    def recovers_a_copy(self, home: Path) -> None:
        """A sound store needs no recovery: a copy of it is the same before and after."""
        shutil.copytree(self.memory.config.home, home)
        copy = Memory(replace(self.memory.config, home=home), self.now)
        try:
            assert copy.recover()["needed"] is False
            assert copy.state(self.session) == self.memory.state(self.session)
        finally:
            copy.close()

    def check(self) -> None:
        assert self.lost() == []
        assert self.memory.verify().clean
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
        store, first = self.memory.store, initial(row.id)
        if row.parent is not None and row.parent_seq is not None:
            first = inherited(self.folded(store.sessions.resolve(row.parent), row.parent_seq), row.id)
        went = dict(store.db.execute("SELECT seq, target FROM rewind WHERE session=?", (row.n,)).fetchall())
        states = [first]
        for event in store.log.slice(row.n, row.id, 0, at):
            states.append(fold(states[went.get(event.seq, -1)], [event]))
        return states[-1]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


# A session's opening names its folder; the others say which of its events count, are held back, or went.
KEPT = frozenset({"session.open", "rewind", "quarantine", "forgotten"})
whats = st.sampled_from(["write", "delete", "move"])


class Travel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="travel"))
        self.world = Going(self.base)
        self.forks: list[str] = []
        self.moves = self.cleanings = self.replays = self.recoveries = 0

    def teardown(self) -> None:
        try:
            self.world.check()
        finally:
            self.world.close()
            shutil.rmtree(self.base)

    @rule(what=whats, name=names, other=names)
    def the_agent_works(self, what: str, name: str, other: str) -> None:
        self.world.works(what, name, other)

    @rule(what=whats, name=names, other=names)
    def a_person_works(self, what: str, name: str, other: str) -> None:
        self.world.interferes(what, name, other)

    @precondition(lambda self: self.world.stood)
    @rule(data=st.data(), force=st.booleans(), last=st.none() | names)
    def rewind_with_files(self, data: st.DataObject, force: bool, last: str | None) -> None:
        if last is not None:  # somebody saves a file, and nobody has looked since
            self.world.interferes("write", last, last, looks=False)
        self.world.goes_back(data.draw(st.sampled_from(sorted(self.world.stood))), force=force)

    @rule(data=st.data())
    def rewind_without_files(self, data: st.DataObject) -> None:
        files = self.world.files()
        self.world.memory.rewind(self.world.session, data.draw(st.integers(1, self.world.head())), force=True)
        assert self.world.files() == files

    @rule()
    def take_it_back(self) -> None:
        self.world.takes_back()

    @precondition(lambda self: self.world.stood and len(self.forks) < 3)
    @rule(data=st.data())
    def fork_into_a_folder(self, data: st.DataObject) -> None:
        at = data.draw(st.sampled_from(sorted(self.world.stood)))
        before, into = self.world.files(), self.base / f"fork{len(self.forks) + 1}"
        made = self.world.memory.fork(self.world.session, at=at, into=str(into))
        self.forks.append(made["id"])
        written, then, unknown = files_of(Path(made["folder"])), self.world.stood[at], self.world.unknown
        assert {name: written.get(name) for name in {*written, *then} - unknown} == {
            name: then.get(name) for name in {*written, *then} - unknown
        }
        assert self.world.files() == before

    @precondition(lambda self: self.forks)
    @rule(data=st.data(), again=st.booleans())
    def close_a_fork(self, data: st.DataObject, again: bool) -> None:
        """It takes nothing more until it is resumed; its parent goes on as if nothing had been."""
        memory, fork = self.world.memory, data.draw(st.sampled_from(self.forks))
        before = memory.state(self.world.session), self.world.files()
        if memory.session(fork)["lifecycle"] == "closed":
            self.settle(fork)
            memory.move(fork, "resume")
        memory.move(fork, "close")
        with pytest.raises(InvalidTransition):
            memory.tell(fork, "decision", what="too late")
        if again:
            self.settle(fork)
            memory.move(fork, "resume")
            memory.tell(fork, "decision", what="gone on")
        assert (memory.state(self.world.session), self.world.files()) == before

    def settle(self, session: str) -> None:
        for one in self.world.memory.state(session)["open_questions"]:  # a rewind opens them again
            self.world.memory.answer(session, one["id"], waived=True)

    @rule(moves=st.sampled_from([("pause",), ("close",), ("pause", "close")]))
    def put_aside_and_take_up(self, moves: tuple[str, ...]) -> None:
        memory, session = self.world.memory, self.world.session
        self.settle(session)
        for move in moves:
            memory.move(session, move)
        files = self.world.files()
        with pytest.raises(InvalidTransition):
            memory.tell(session, "decision", what="too late")
        with pytest.raises(InvalidTransition):
            memory.rewind(session, 1, files=True, force=True)
        assert self.world.files() == files
        assert memory.move(session, "resume")["lifecycle"] == "resumed"

    @rule(kept=st.sampled_from(["nothing", "cleaned", "forgotten", "quarantined", "recovered"]))
    def archive_and_back(self, kept: str) -> None:
        """Housekeeping goes on in the archive, and wakes nothing."""
        memory, session = self.world.memory, self.world.session
        self.settle(session)
        memory.move(session, "close")
        memory.move(session, "archive")
        if kept == "cleaned":
            self.clean()
        elif kept == "forgotten":
            self.world.forgets([self.world.head() - 1])
        elif kept == "quarantined":
            memory.quarantine(session, seq=self.world.head() - 1)
        elif kept == "recovered" and self.recoveries < 2:
            self.recoveries += 1
            self.world.recovers_a_copy(self.base / f"copy{self.recoveries}")
        assert memory.session(session)["lifecycle"] == memory.state(session)["lifecycle"] == "archived"
        with pytest.raises(InvalidTransition):
            memory.move(session, "resume")
        assert memory.move(session, "restore")["lifecycle"] == "closed"
        memory.move(session, "resume")

    @rule(what=st.text(max_size=10))
    def decide(self, what: str) -> None:
        self.world.memory.tell(self.world.session, "decision", what=what)

    @rule()
    def ask_and_answer(self) -> None:
        question = self.world.memory.handoff(self.world.session, to="human", note="?")["question"]
        self.world.memory.answer(self.world.session, question, "yes")

    @precondition(lambda self: self.world.head() > 1)
    @rule(data=st.data(), lift=st.booleans())
    def quarantine_an_event(self, data: st.DataObject, lift: bool) -> None:
        memory, session = self.world.memory, self.world.session
        before, seq = memory.state(session), data.draw(st.integers(1, self.world.head() - 1))
        memory.quarantine(session, seq=seq)
        if lift:
            memory.quarantine(session, seq=seq, lift=True)
        after = memory.state(session)
        assert (
            after["decisions_made"] == before["decisions_made"]
        )  # held back from exports, not from a person

    @precondition(lambda self: any(True for _ in self.decisions()))
    @rule(data=st.data())
    def forget_a_decision(self, data: st.DataObject) -> None:
        seq = data.draw(st.sampled_from(list(self.decisions())))
        told = self.world.memory.forget(self.world.session, seqs=[seq])
        assert told["events"] >= 1  # and the checkpoints that held it
        assert seq not in [
            one["seq"] for one in self.world.memory.state(self.world.session)["decisions_made"]
        ]

    @rule(data=st.data())
    def forget_anything(self, data: st.DataObject) -> None:
        """But what says how all else is read."""
        events = self.world.memory.events(self.world.session, start=1)
        seqs = [one["seq"] for one in events if one["kind"] not in KEPT]
        if seqs:
            before = self.world.files()
            self.world.forgets(sorted(data.draw(st.sets(st.sampled_from(seqs), min_size=1, max_size=3))))
            assert self.world.files() == before

    def decisions(self) -> Iterator[int]:
        events = self.world.memory.events(self.world.session, kind="decision")
        return (one["seq"] for one in events if one["payload"] is not None)

    @precondition(lambda self: self.moves < 2)
    @rule()
    def move_to_another_machine(self) -> None:
        """There it stands where it stands here, and nothing here has changed."""
        self.moves += 1
        memory, session, before = self.world.memory, self.world.session, self.world.files()
        bundle = self.base / f"moved{self.moves}.fazm"
        memory.export_bundle(session, bundle, passphrase="four words for it", quarantined=True)
        config = Config(home=self.base / f"there{self.moves}", user_home=self.base / "user", key="file")
        there = Memory(config, self.world.now)
        try:
            there.import_bundle(bundle, passphrase="four words for it")
            assert there.verify().clean
            assert there.state(session, at=self.world.head()) == memory.state(session)
        finally:
            there.close()
        assert self.world.files() == before

    @precondition(lambda self: self.cleanings < 3)
    @rule()
    def let_go_of_old_details(self) -> None:
        self.cleanings += 1
        self.clean()

    def clean(self) -> None:
        """Days pass; what calls were given and gave is let go of, and the session stands where it stood."""
        memory, session, before = self.world.memory, self.world.session, self.world.files()
        stood = memory.state(session)
        self.world.clock += 3 * DAY
        plan = retain.plan(memory.store, Policy(actions=1, files=1), self.world.clock)
        told = retain.carry_out(memory.store, plan, self.world.clock)
        assert told["left_alone"] == []
        after = memory.state(session)
        for name in ("decisions_made", "files_modified", "errors", "open_questions", "lifecycle"):
            assert after[name] == stood[name]
        assert self.world.files() == before

    @rule()
    def plan_a_replay(self) -> None:
        before = self.world.files(), self.world.head()
        self.world.memory.replay_plan(self.world.session)
        assert (self.world.files(), self.world.head()) == before

    @precondition(lambda self: self.replays < 3)
    @rule(data=st.data(), works=st.lists(st.tuples(whats, names, names), max_size=3))
    def replay_onto_copies(self, data: st.DataObject, works: list[tuple[str, str, str]]) -> None:
        self.replays += 1
        for one in works:
            self.world.works(*one)
        yes = iter(lambda: data.draw(st.sampled_from([True, True, False])), None)
        self.world.does_it_again(self.base / f"again{self.replays}", yes)

    @invariant()
    def nobodys_bytes_are_lost(self) -> None:
        assert self.world.lost() == []


class TestTravel(Travel.TestCase):  # type: ignore[valid-type,misc]
    settings = settings(max_examples=6, stateful_step_count=15, phases=[Phase.generate])


@pytest.mark.campaign
class TestLongTravel(Travel.TestCase):  # type: ignore[valid-type,misc]
    settings = settings(max_examples=100, stateful_step_count=30, phases=[Phase.generate])


@pytest.mark.parametrize("rewinds", [50, pytest.param(1000, marks=pytest.mark.campaign)])
def test_no_byte_of_a_persons_is_lost_to_rewinds(rewinds: int, tmp_path: Path) -> None:
    world = Going(tmp_path)
    chance = random.Random(rewinds)

    def some() -> tuple[str, str, str]:
        return chance.choice(("write", "write", "delete", "move")), chance.choice(NAMES), chance.choice(NAMES)

    try:
        for _ in range(rewinds):
            world.works(*some())
            if chance.random() < 0.6:
                world.interferes(*some(), looks=chance.random() < 0.5)
            to = chance.choice(sorted(world.stood)[-8:])
            world.goes_back(to, force=chance.random() < 0.7)
            if chance.random() < 0.2:
                world.takes_back()
        world.check()
        assert len(world.theirs) > rewinds // 4
    finally:
        world.close()
