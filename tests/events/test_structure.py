"""What says how others are read loses its words when it is forgotten, and keeps its meaning: here, on another
machine, and after a recovery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.events.event import DAY, RETAINED_FIELDS, TRANSIENT, RetentionPolicy
from fazm_memory.recall import exports
from fazm_memory.store import retention
from fazm_memory.store.event_log import event_id, unpack
from tests.app.memory_fixture import START, MemoryFixture

WORD = "zanzibar"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryFixture]:
    made = MemoryFixture(tmp_path / "memory")
    yield made
    made.close()


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Memory]:
    config = Config(home=tmp_path / "there", user_home=tmp_path / "user", key="file")
    made = Memory(config, lambda: START + DAY)
    yield made
    made.close()


def lived(memory: MemoryFixture) -> tuple[str, str]:
    """A session that was rewound, of which something is held back and something else was let go again, and
    its fork; all with words of which none may stay."""
    session = memory.begin(f"/{WORD}", title=WORD)
    first = memory.say(session, "decision", what="first")
    memory.say(session, "decision", what="second")
    memory.say(session, "decision", what="third")
    memory.rewind.apply(session, first + 2, reason=WORD)
    memory.say(session, "decision", what="fourth")
    memory.maintenance.quarantine(session, seq=first, reason=WORD)
    memory.maintenance.quarantine(session, seq=first + 1, reason=WORD)
    memory.maintenance.quarantine(session, seq=first + 1, lift=True, reason=WORD)
    fork = memory.rewind.fork(session, title=WORD)["id"]
    memory.say(fork, "decision", what="in the fork")
    memory.maintenance.quarantine(fork, reason=WORD)
    return session, str(fork)


def forget_marks(memory: MemoryFixture, *sessions: str) -> int:
    """Forget every event that is structure; how many are told to be kept."""
    kept = 0
    for session in sessions:
        seqs = [one["seq"] for one in memory.history.events(session) if one["kind"] in RETAINED_FIELDS]
        kept += memory.maintenance.forget(session, seqs=seqs)["kept"]
    return kept


def stands(memory: Memory, *sessions: str) -> list[Any]:
    """Where sessions stand, at the head and before, and what of them exports may see."""
    results: list[Any] = []
    for session in sessions:
        row = memory.store.sessions.resolve(session)
        with memory.store.db.reading():
            states = [memory.store.snapshots.state_at(row.n, row.id, at) for at in range(row.head + 1)]
            seen = memory.store.quarantine_view.state_at(row.n, row.id, row.head)
            held = memory.store.quarantine_view.marks_of(row.n)
        results.append((row.parent, row.parent_seq, row.background, row.lifecycle, states, seen, held))
    return results


def stored(memory: Memory) -> str:
    rows = memory.store.db.execute("SELECT payload FROM event WHERE payload IS NOT NULL").fetchall()
    return " ".join(unpack(row[0]).decode() for row in rows)


def decided(memory: Memory, session: str) -> list[str]:
    return [one["what"] for one in memory.history.state(session)["decisions_made"]]


def test_the_words_go_and_the_meaning_stays(memory: MemoryFixture) -> None:
    sessions = lived(memory)
    before = stands(memory, *sessions)
    assert (
        forget_marks(memory, *sessions) == 6
    )  # the plain opening says nothing that its being there does not
    assert WORD not in stored(memory)
    assert memory.maintenance.verify().clean
    assert memory.maintenance.verify(full=False).clean
    assert decided(memory, sessions[0]) == ["first", "second", "fourth"]
    after = stands(memory, *sessions)
    assert [one[6] for one in after] == [one[6] for one in before]  # what is held back
    assert after[1][:2] == (sessions[0], before[1][1])  # the parent
    assert forget_marks(memory, *sessions) == 6
    assert [one["kind"] for one in memory.history.events(sessions[0])].count(
        "forgotten"
    ) == 1  # nothing was left to go


def test_a_forgotten_mark_means_the_same_on_another_machine(
    memory: MemoryFixture, there: Memory, tmp_path: Path
) -> None:
    sessions = lived(memory)
    forget_marks(memory, *sessions)
    memory.bundles.export(sessions[1], tmp_path / "f", passphrase="four words for it", quarantined=True)
    memory.bundles.export(sessions[0], tmp_path / "s", passphrase="four words for it", quarantined=True)
    for name in "fs":
        there.bundles.import_(tmp_path / name, passphrase="four words for it")
    assert stands(there, *sessions) == stands(memory, *sessions)
    assert there.maintenance.verify().clean
    assert WORD not in stored(there)


def test_what_was_moved_before_it_was_forgotten_is_still_the_same_session(
    memory: MemoryFixture, there: Memory, tmp_path: Path
) -> None:
    session, _ = lived(memory)
    memory.bundles.export(session, tmp_path / "1", passphrase="four words for it", quarantined=True)
    there.bundles.import_(tmp_path / "1", passphrase="four words for it")
    forget_marks(memory, session)
    memory.bundles.export(session, tmp_path / "2", passphrase="four words for it", quarantined=True)
    assert there.bundles.import_(tmp_path / "2", passphrase="four words for it")["added"] == 1
    assert decided(there, session) == decided(memory, session)


def test_a_forgotten_mark_means_the_same_after_a_recovery(memory: MemoryFixture) -> None:
    sessions = lived(memory)
    broken = memory.begin("/elsewhere")
    lost = memory.say(broken, "decision", what="will be lost")
    forget_marks(memory, *sessions)
    memory.recall.choose_item(f"{sessions[0][:8]}:decision:2", "pin")
    before = stands(memory, *sessions)
    number = memory.store.sessions.resolve(broken).n
    with memory.store.db.transaction():
        memory.store.db.execute("UPDATE event SET payload='{}' WHERE id=?", (event_id(number, lost),))
    result = memory.maintenance.recover()
    assert (result["needed"], result["lost"]) == (True, 1)
    assert stands(memory, *sessions) == before
    assert exports.read_choices(memory.store) == {f"{sessions[0][:8]}:decision:2": "pin"}
    assert memory.maintenance.verify().clean


def test_what_is_left_cannot_be_taken_away_or_altered(memory: MemoryFixture) -> None:
    session, _ = lived(memory)
    forget_marks(memory, session)
    number = memory.store.sessions.resolve(session).n
    (seq,) = [one["seq"] for one in memory.history.events(session, kind="rewind")]
    for payload, what in (
        (None, "its payload is missing, and no forget event covers it"),
        (b'{"to":1}', "its payload was altered"),
    ):
        memory.store.db.execute("UPDATE event SET payload=? WHERE id=?", (payload, event_id(number, seq)))
        assert [(one.seq, one.what) for one in memory.maintenance.verify().findings] == [(seq, what)]
    result = memory.maintenance.recover()  # altered is lost: it is not believed
    assert (result["needed"], result["lost"]) == (True, 1)


def test_a_mark_is_forgotten_without_what_retention_has_kept_of_the_state(memory: MemoryFixture) -> None:
    """A checkpoint holds none of its words, so that it may stay."""
    session = memory.begin()
    memory.act(session, "Write", files=[{"path": "/w/a.txt", "change": "created"}])
    memory.rewind.apply(session, 2, reason=WORD)
    later = memory.now() + 3 * DAY
    retention.apply_plan(memory.store, retention.plan(memory.store, RetentionPolicy(actions=1), later), later)
    assert [one["payload"] for one in memory.history.events(session, kind="action")] == [None]
    assert memory.maintenance.forget(session, seqs=[2])["events"] == 1
    assert [one["path"] for one in memory.history.state(session)["files_modified"]] == ["/w/a.txt"]


def test_retention_lets_go_of_no_structure() -> None:
    assert not TRANSIENT & RETAINED_FIELDS.keys()


def test_a_fork_whose_parent_forgot_something_since_arrives_whole(
    memory: MemoryFixture, there: Memory, tmp_path: Path
) -> None:
    """What says that it was forgotten comes after the part of the parent that goes along."""
    session = memory.begin()
    seq = memory.say(session, "decision", what=WORD)
    fork = memory.rewind.fork(session)["id"]
    memory.say(session, "decision", what="later")
    memory.maintenance.forget(session, seqs=[seq])
    memory.bundles.export(fork, tmp_path / "f", passphrase="four words for it")
    there.bundles.import_(tmp_path / "f", passphrase="four words for it")
    assert (there.maintenance.verify().clean, there.maintenance.verify().forgotten) == (True, 1)
    head = memory.store.sessions.resolve(fork).head  # what the log says: a day later the session is silent
    assert there.history.state(fork, at=head) == memory.history.state(fork, at=head)
    number = there.store.sessions.resolve(session).n
    for payload in (b"{}", b""):
        there.store.db.execute("UPDATE event SET payload=? WHERE id=?", (payload, event_id(number, seq)))
        assert not there.maintenance.verify().clean
    there.store.db.execute("UPDATE event SET payload=NULL WHERE id=?", (event_id(number, seq),))
    memory.bundles.export(session, tmp_path / "s", passphrase="four words for it")
    assert there.bundles.import_(tmp_path / "s", passphrase="four words for it")["known"] == 2
    assert there.maintenance.verify().clean


def test_what_is_quarantined_of_a_parent_since_the_fork_is_quarantined_on_another_machine(
    memory: MemoryFixture, there: Memory, tmp_path: Path
) -> None:
    session = memory.begin()
    first = memory.say(session, "decision", what=WORD)
    memory.say(session, "decision", what="second")
    memory.maintenance.quarantine(session, seq=first + 1)
    fork = memory.rewind.fork(session)["id"]
    memory.maintenance.quarantine(session, seq=first)
    memory.maintenance.quarantine(session, seq=first + 1, lift=True)
    for nth, (one, other) in enumerate(((memory, there), (there, MemoryFixture(tmp_path / "third")))):
        one.bundles.export(fork, tmp_path / str(nth), passphrase="four words for it", quarantined=True)
        other.bundles.import_(tmp_path / str(nth), passphrase="four words for it")
        row = other.store.sessions.resolve(fork)
        with other.store.db.reading():
            seen = other.store.quarantine_view.state_at(row.n, row.id, row.head)
        assert [entry["what"] for entry in seen.decisions_made.values()] == ["second"]
    other.close()
    assert (tmp_path / "0").stat().st_size == (tmp_path / "1").stat().st_size


def test_a_session_of_which_only_marks_are_left_is_not_listed(memory: MemoryFixture) -> None:
    session, fork = lived(memory)
    assert memory.maintenance.forget(fork)["kept"] == 2
    assert [one["id"] for one in memory.sessions.listing()] == [session]
    assert memory.maintenance.forget(session)["kept"] == 4
    assert memory.sessions.listing() == []
    result = memory.maintenance.forget(session)
    assert (result["sessions"], result["events"], result["kept"]) == (0, 0, 4)
    assert (WORD in stored(memory), memory.maintenance.verify().clean) == (False, True)
