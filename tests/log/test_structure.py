"""What says how others are read loses its words when it is forgotten, and keeps its meaning: here, on another
machine, and after a recovery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.config import Config
from fazm_memory.log import retain
from fazm_memory.log.rows import unpack
from fazm_memory.log.tables import event_id
from fazm_memory.memory import Memory
from fazm_memory.model.retention import DAY, TRANSIENT, Policy
from fazm_memory.model.structure import BONES
from fazm_memory.recall import choices
from tests.verbs.desk import Desk

WORD = "zanzibar"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "memory")
    yield made
    made.close()


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Memory]:
    made = Memory(Config(home=tmp_path / "there", user_home=tmp_path / "user", key="file"), lambda: 1)
    yield made
    made.close()


def lived(desk: Desk) -> tuple[str, str]:
    """A session that was rewound, of which something is held back and something else was let go again, and
    its fork; all with words of which none may stay."""
    session = desk.begin(f"/{WORD}", title=WORD)
    first = desk.say(session, "decision", what="first")
    desk.say(session, "decision", what="second")
    desk.say(session, "decision", what="third")
    desk.rewind(session, first + 2, reason=WORD)
    desk.say(session, "decision", what="fourth")
    desk.quarantine(session, seq=first, reason=WORD)
    desk.quarantine(session, seq=first + 1, reason=WORD)
    desk.quarantine(session, seq=first + 1, lift=True, reason=WORD)
    fork = desk.fork(session, title=WORD)["id"]
    desk.say(fork, "decision", what="in the fork")
    desk.quarantine(fork, reason=WORD)
    return session, str(fork)


def forget_marks(desk: Desk, *sessions: str) -> int:
    """Forget every event that is structure; how many are told to be kept."""
    kept = 0
    for session in sessions:
        seqs = [one["seq"] for one in desk.events(session) if one["kind"] in BONES]
        kept += desk.forget(session, seqs=seqs)["kept"]
    return kept


def stands(memory: Memory, *sessions: str) -> list[Any]:
    """Where sessions stand, at the head and before, and what of them exports may see."""
    told: list[Any] = []
    for session in sessions:
        row = memory.store.sessions.resolve(session)
        with memory.store.db.reading():
            states = [memory.store.snapshots.state_at(row.n, row.id, at) for at in range(row.head + 1)]
            seen = memory.store.ward.state_at(row.n, row.id, row.head)
            held = memory.store.ward.held(row.n)
        told.append((row.parent, row.parent_seq, row.background, row.lifecycle, states, seen, held))
    return told


def stored(memory: Memory) -> str:
    rows = memory.store.db.execute("SELECT payload FROM event WHERE payload IS NOT NULL").fetchall()
    return " ".join(unpack(row[0]).decode() for row in rows)


def decided(memory: Memory, session: str) -> list[str]:
    return [one["what"] for one in memory.state(session)["decisions_made"]]


def test_the_words_go_and_the_meaning_stays(desk: Desk) -> None:
    sessions = lived(desk)
    before = stands(desk, *sessions)
    assert forget_marks(desk, *sessions) == 6  # the plain opening says nothing that its being there does not
    assert WORD not in stored(desk)
    assert desk.verify().clean
    assert desk.verify(full=False).clean
    assert decided(desk, sessions[0]) == ["first", "second", "fourth"]
    after = stands(desk, *sessions)
    assert [one[6] for one in after] == [one[6] for one in before]  # what is held back
    assert after[1][:2] == (sessions[0], before[1][1])  # the parent
    assert forget_marks(desk, *sessions) == 6
    assert [one["kind"] for one in desk.events(sessions[0])].count("forgotten") == 1  # nothing was left to go


def test_a_forgotten_mark_means_the_same_on_another_machine(
    desk: Desk, there: Memory, tmp_path: Path
) -> None:
    sessions = lived(desk)
    forget_marks(desk, *sessions)
    desk.export_bundle(sessions[1], tmp_path / "f", passphrase="four words for it", quarantined=True)
    desk.export_bundle(sessions[0], tmp_path / "s", passphrase="four words for it", quarantined=True)
    for name in "fs":
        there.import_bundle(tmp_path / name, passphrase="four words for it")
    assert stands(there, *sessions) == stands(desk, *sessions)
    assert there.verify().clean
    assert WORD not in stored(there)


def test_what_was_moved_before_it_was_forgotten_is_still_the_same_session(
    desk: Desk, there: Memory, tmp_path: Path
) -> None:
    session, _ = lived(desk)
    desk.export_bundle(session, tmp_path / "1", passphrase="four words for it", quarantined=True)
    there.import_bundle(tmp_path / "1", passphrase="four words for it")
    forget_marks(desk, session)
    desk.export_bundle(session, tmp_path / "2", passphrase="four words for it", quarantined=True)
    assert there.import_bundle(tmp_path / "2", passphrase="four words for it")["added"] == 1
    assert decided(there, session) == decided(desk, session)


def test_a_forgotten_mark_means_the_same_after_a_recovery(desk: Desk) -> None:
    sessions = lived(desk)
    broken = desk.begin("/elsewhere")
    lost = desk.say(broken, "decision", what="will be lost")
    forget_marks(desk, *sessions)
    desk.choose(f"{sessions[0][:8]}:decision:2", "pin")
    before = stands(desk, *sessions)
    number = desk.store.sessions.resolve(broken).n
    with desk.store.db.transaction():
        desk.store.db.execute("UPDATE event SET payload='{}' WHERE id=?", (event_id(number, lost),))
    told = desk.recover()
    assert (told["needed"], told["lost"]) == (True, 1)
    assert stands(desk, *sessions) == before
    assert choices.read(desk.store) == {f"{sessions[0][:8]}:decision:2": "pin"}
    assert desk.verify().clean


def test_what_is_left_cannot_be_taken_away_or_altered(desk: Desk) -> None:
    session, _ = lived(desk)
    forget_marks(desk, session)
    number = desk.store.sessions.resolve(session).n
    (seq,) = [one["seq"] for one in desk.events(session, kind="rewind")]
    for payload, what in (
        (None, "its payload is missing, and nobody asked to forget it"),
        (b'{"to":1}', "its payload was altered"),
    ):
        desk.store.db.execute("UPDATE event SET payload=? WHERE id=?", (payload, event_id(number, seq)))
        assert [(one.seq, one.what) for one in desk.verify().findings] == [(seq, what)]
    told = desk.recover()  # altered is lost: it is not believed
    assert (told["needed"], told["lost"]) == (True, 1)


def test_a_mark_is_forgotten_without_what_retention_has_kept_of_the_state(desk: Desk) -> None:
    """A checkpoint holds none of its words, so that it may stay."""
    session = desk.begin()
    desk.act(session, "Write", files=[{"path": "/w/a.txt", "change": "created"}])
    desk.rewind(session, 2, reason=WORD)
    later = desk.now() + 3 * DAY
    retain.carry_out(desk.store, retain.plan(desk.store, Policy(actions=1), later), later)
    assert [one["payload"] for one in desk.events(session, kind="action")] == [None]
    assert desk.forget(session, seqs=[2])["events"] == 1
    assert [one["path"] for one in desk.state(session)["files_modified"]] == ["/w/a.txt"]


def test_retention_lets_go_of_no_structure() -> None:
    assert not TRANSIENT & BONES.keys()


def test_a_fork_whose_parent_forgot_something_since_arrives_whole(
    desk: Desk, there: Memory, tmp_path: Path
) -> None:
    """What says that it was forgotten comes after the part of the parent that goes along."""
    session = desk.begin()
    seq = desk.say(session, "decision", what=WORD)
    fork = desk.fork(session)["id"]
    desk.say(session, "decision", what="later")
    desk.forget(session, seqs=[seq])
    desk.export_bundle(fork, tmp_path / "f", passphrase="four words for it")
    there.import_bundle(tmp_path / "f", passphrase="four words for it")
    assert (there.verify().clean, there.verify().forgotten) == (True, 1)
    assert there.state(fork) == desk.state(fork)
    number = there.store.sessions.resolve(session).n
    for payload in (b"{}", b""):
        there.store.db.execute("UPDATE event SET payload=? WHERE id=?", (payload, event_id(number, seq)))
        assert not there.verify().clean
    there.store.db.execute("UPDATE event SET payload=NULL WHERE id=?", (event_id(number, seq),))
    desk.export_bundle(session, tmp_path / "s", passphrase="four words for it")
    assert there.import_bundle(tmp_path / "s", passphrase="four words for it")["known"] == 2
    assert there.verify().clean


def test_what_is_held_back_of_a_parent_since_the_fork_is_held_back_on_another_machine(
    desk: Desk, there: Memory, tmp_path: Path
) -> None:
    session = desk.begin()
    first = desk.say(session, "decision", what=WORD)
    desk.say(session, "decision", what="second")
    desk.quarantine(session, seq=first + 1)
    fork = desk.fork(session)["id"]
    desk.quarantine(session, seq=first)
    desk.quarantine(session, seq=first + 1, lift=True)
    for nth, (one, other) in enumerate(((desk, there), (there, Desk(tmp_path / "third")))):
        one.export_bundle(fork, tmp_path / str(nth), passphrase="four words for it", quarantined=True)
        other.import_bundle(tmp_path / str(nth), passphrase="four words for it")
        row = other.store.sessions.resolve(fork)
        with other.store.db.reading():
            seen = other.store.ward.state_at(row.n, row.id, row.head)
        assert [entry["what"] for entry in seen.decisions_made.values()] == ["second"]
    other.close()
    assert (tmp_path / "0").stat().st_size == (tmp_path / "1").stat().st_size


def test_a_session_of_which_only_marks_are_left_is_not_listed(desk: Desk) -> None:
    session, fork = lived(desk)
    assert desk.forget(fork)["kept"] == 2
    assert [one["id"] for one in desk.sessions()] == [session]
    assert desk.forget(session)["kept"] == 4
    assert desk.sessions() == []
    assert desk.forget(session) == {"sessions": 0, "events": 0, "kept": 4, "dry_run": False}
    assert (WORD in stored(desk), desk.verify().clean) == (False, True)
