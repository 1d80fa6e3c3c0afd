"""All verbs over time as the rules of one machine: whatever is done, in whatever order, the world holds."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fazm_memory.errors import InvalidTransition
from fazm_memory.events.event import DAY, KINDS_WITHOUT_TEXT, RETAINED_FIELDS, RetentionPolicy
from fazm_memory.store import retention
from tests.laws.going import NAMES, Going, files_of

names = st.sampled_from(NAMES)
whats = st.sampled_from(["write", "delete", "move", "chmod"])


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
        to = data.draw(st.integers(1, self.world.head()))
        self.world.memory.rewind.apply(self.world.session, to, force=True)
        assert self.world.files() == files

    @rule()
    def take_it_back(self) -> None:
        self.world.takes_back()

    @precondition(lambda self: self.world.stood and len(self.forks) < 3)
    @rule(data=st.data())
    def fork_into_a_folder(self, data: st.DataObject) -> None:
        at = data.draw(st.sampled_from(sorted(self.world.stood)))
        before, into = self.world.files(), self.base / f"fork{len(self.forks) + 1}"
        made = self.world.memory.rewind.fork(self.world.session, at=at, into=str(into))
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
        before = memory.history.state(self.world.session), self.world.files()
        if memory.sessions.get(fork)["lifecycle"] == "closed":
            self.settle(fork)
            memory.sessions.move(fork, "resume")
        memory.sessions.move(fork, "close")
        with pytest.raises(InvalidTransition):
            memory.sessions.append(fork, "decision", what="too late")
        if again:
            self.settle(fork)
            memory.sessions.move(fork, "resume")
            memory.sessions.append(fork, "decision", what="gone on")
        assert (memory.history.state(self.world.session), self.world.files()) == before

    def settle(self, session: str) -> None:
        for one in self.world.memory.history.state(session)["open_questions"]:  # a rewind opens them again
            self.world.memory.sessions.answer(session, one["id"], waived=True)

    @rule(moves=st.sampled_from([("pause",), ("close",), ("pause", "close")]))
    def put_aside_and_take_up(self, moves: tuple[str, ...]) -> None:
        memory, session = self.world.memory, self.world.session
        self.settle(session)
        for move in moves:
            memory.sessions.move(session, move)
        files = self.world.files()
        with pytest.raises(InvalidTransition):
            memory.sessions.append(session, "decision", what="too late")
        with pytest.raises(InvalidTransition):
            memory.rewind.apply(session, 1, files=True, force=True)
        assert self.world.files() == files
        assert memory.sessions.move(session, "resume")["lifecycle"] == "resumed"

    @rule(kept=st.sampled_from(["nothing", "cleaned", "forgotten", "quarantined", "recovered"]))
    def archive_and_back(self, kept: str) -> None:
        """Housekeeping goes on in the archive, and wakes nothing."""
        memory, session = self.world.memory, self.world.session
        self.settle(session)
        memory.sessions.move(session, "close")
        memory.sessions.move(session, "archive")
        if kept == "cleaned":
            self.clean()
        elif kept == "forgotten":
            self.world.forgets([self.world.head() - 1])
        elif kept == "quarantined":
            memory.maintenance.quarantine(session, seq=self.world.head() - 1)
        elif kept == "recovered" and self.recoveries < 2:
            self.recoveries += 1
            self.world.recovers_a_copy(self.base / f"copy{self.recoveries}", *self.forks)
        assert memory.sessions.get(session)["lifecycle"] == "archived"
        assert memory.history.state(session)["lifecycle"] == "archived"
        with pytest.raises(InvalidTransition):
            memory.sessions.move(session, "resume")
        assert memory.sessions.move(session, "restore")["lifecycle"] == "closed"
        memory.sessions.move(session, "resume")

    @rule(what=st.text(max_size=10))
    def decide(self, what: str) -> None:
        self.world.memory.sessions.append(self.world.session, "decision", what=what)

    @rule()
    def ask_and_answer(self) -> None:
        question = self.world.memory.sessions.handoff(self.world.session, to="human", note="?")["question"]
        self.world.memory.sessions.answer(self.world.session, question, "yes")

    @precondition(lambda self: self.world.head() > 1)
    @rule(data=st.data(), lift=st.booleans())
    def quarantine_an_event(self, data: st.DataObject, lift: bool) -> None:
        memory, session = self.world.memory, self.world.session
        before, seq = memory.history.state(session), data.draw(st.integers(1, self.world.head() - 1))
        memory.maintenance.quarantine(session, seq=seq)
        if lift:
            memory.maintenance.quarantine(session, seq=seq, lift=True)
        after = memory.history.state(session)
        assert (
            after["decisions_made"] == before["decisions_made"]
        )  # held back from exports, not from a person

    @precondition(lambda self: any(True for _ in self.decisions()))
    @rule(data=st.data())
    def forget_a_decision(self, data: st.DataObject) -> None:
        seq = data.draw(st.sampled_from(list(self.decisions())))
        result = self.world.memory.maintenance.forget(self.world.session, seqs=[seq])
        assert result["events"] >= 1  # and the checkpoints that held it
        assert seq not in [
            one["seq"] for one in self.world.memory.history.state(self.world.session)["decisions_made"]
        ]

    @rule(data=st.data(), marks=st.booleans())
    def forget_anything(self, data: st.DataObject, marks: bool) -> None:
        """Also what says how all else is read; but the opening, which names the folder of this world."""
        memory, session = self.world.memory, data.draw(st.sampled_from([self.world.session, *self.forks]))
        events = memory.history.events(session, start=int(session == self.world.session))
        kinds = {one["seq"]: one["kind"] for one in events if one["kind"] != "forgotten"}
        seqs = [seq for seq, kind in kinds.items() if kind in RETAINED_FIELDS or not marks]
        if not seqs:
            return
        chosen = sorted(data.draw(st.sets(st.sampled_from(seqs), min_size=1, max_size=3)))
        before, held = self.world.files(), self.held_back()
        stood = memory.history.state(session)["decisions_made"]
        self.world.forgets(chosen, session)
        assert (self.world.files(), self.held_back()) == (before, held)
        if all(kinds[seq] in KINDS_WITHOUT_TEXT for seq in chosen):
            assert memory.history.state(session)["decisions_made"] == stood

    def held_back(self) -> dict[str, Any]:
        store = self.world.memory.store
        rows = [store.sessions.resolve(one) for one in (self.world.session, *self.forks)]
        return {row.id: (row.parent, row.parent_seq, store.quarantine_view.marks_of(row.n)) for row in rows}

    def decisions(self) -> Iterator[int]:
        events = self.world.memory.history.events(self.world.session, kind="decision")
        return (one["seq"] for one in events if one["payload"] is not None)

    @precondition(lambda self: self.moves < 3)
    @rule(data=st.data())
    def move_to_another_machine(self, data: st.DataObject) -> None:
        self.moves += 1
        session = data.draw(st.sampled_from([self.world.session, *self.forks]))
        self.world.moves(session, self.base / f"there{self.moves}", self.base / f"moved{self.moves}.fazm")

    @precondition(lambda self: self.recoveries < 3)
    @rule()
    def recover_a_copy(self) -> None:
        self.recoveries += 1
        self.world.recovers_a_copy(self.base / f"copy{self.recoveries}", *self.forks)

    @precondition(lambda self: self.cleanings < 3)
    @rule()
    def let_go_of_old_details(self) -> None:
        self.cleanings += 1
        self.clean()

    def clean(self) -> None:
        """Days pass; what calls were given and gave is let go of, and the session stands where it stood."""
        memory, session, before = self.world.memory, self.world.session, self.world.files()
        stood = memory.history.state(session)
        self.world.clock += 3 * DAY
        plan = retention.plan(memory.store, RetentionPolicy(actions=1, files=1), self.world.clock)
        result = retention.apply_plan(memory.store, plan, self.world.clock)
        assert result["left_alone"] == []
        after = memory.history.state(session)
        for name in ("decisions_made", "files_modified", "errors", "open_questions", "lifecycle"):
            assert after[name] == stood[name]
        assert self.world.files() == before

    @rule()
    def plan_a_replay(self) -> None:
        before = self.world.files(), self.world.head()
        self.world.memory.replay.plan(self.world.session)
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
