"""A store put back to an older state does not become clean by writing on in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.events.event import Decision, Forgotten, Message, Recovered
from fazm_memory.store.event_log import event_id
from fazm_memory.store.hash_chain import SLOT, ChainHeads
from fazm_memory.store.recovery.journal import RecoveryFolder
from fazm_memory.store.recovery.recover import recover
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from tests.conftest import OpenStore
from tests.scribe import T0, Scribe


def whats(store: Store, **more: bool) -> list[str]:
    return [one.what for one in verify_store(store.log, **more).findings]


def rolled_back(store: Store, home: Path, open_store: OpenStore, session: str, more: int) -> Store:
    """The store after `more` decisions were recorded and its folder was put back as it was before them."""
    store.close()
    folder = home / "store.noindex"
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    later = open_store()
    Scribe(later).tell(session, *(Decision(f"number {n}") for n in range(more)))
    later.close()
    for path in folder.iterdir():
        path.unlink()
    for path, data in kept.items():
        path.write_bytes(data)
    return open_store()


def test_a_store_rolled_back_is_reported_of_however_much_is_written_on(
    store: Store, home: Path, open_store: OpenStore
) -> None:
    session = Scribe(store).open(Message("one"))
    again = rolled_back(store, home, open_store, session, 3)
    assert whats(again) == ["events at the end are missing: the heads file counts 5 events, the log has 2"]
    for n in range(5):
        Scribe(again).tell(session, Message(f"written on {n}"))
        expected = "events at the end are missing: 5 were known when the log had only 2"
        assert expected in whats(again)
        assert expected in whats(again, full=False)


def test_recovery_says_what_was_cut_and_is_clean_after(
    store: Store, home: Path, open_store: OpenStore
) -> None:
    session = Scribe(store).open(Message("one"))
    again = rolled_back(store, home, open_store, session, 3)
    Scribe(again).tell(session, Message("written on"))
    again.close()
    assert recover(home, key="file", now=T0, aside=RecoveryFolder(home / "quarantine" / "then")).needed
    saved = open_store()
    assert whats(saved) == []
    results = [one for one in Scribe(saved).payloads(session) if isinstance(one, Recovered)]
    assert [(one.kept, one.lost) for one in results] == [(3, 0)]
    assert "5 were known when the log had only 2" in (results[0].note or "")


def test_a_lost_write_ahead_log_is_reported_and_recovered_from(
    store: Store, home: Path, open_store: OpenStore
) -> None:
    """What was committed was only in the file that went: as after a crash and a copy without it."""
    session = Scribe(store).open(Message("one"))
    store.close()  # so far all is in the database itself
    open_again = open_store()
    Scribe(open_again).tell(session, *(Decision(f"number {n}") for n in range(3)))
    folder = home / "store.noindex"
    crashed = {path: path.read_bytes() for path in folder.iterdir() if path.suffix == ".db"}
    assert (folder / "memory.db-wal").stat().st_size > 0
    open_again.close()
    for path in folder.iterdir():
        path.unlink()
    for path, data in crashed.items():
        path.write_bytes(data)
    damaged = open_store()
    assert whats(damaged) == ["events at the end are missing: the heads file counts 5 events, the log has 2"]
    damaged.close()
    result = recover(home, key="file", now=T0, aside=RecoveryFolder(home / "quarantine" / "then"))
    assert (result.needed, result.kept, result.lost) == (True, 2, 3)
    saved = open_store()
    assert whats(saved) == []
    (reply,) = [one for one in Scribe(saved).payloads(session) if isinstance(one, Recovered)]
    assert (reply.kept, reply.lost) == (2, 3)


@pytest.mark.parametrize(
    ("harm", "what"),
    [("missing", "heads file was missing"), ("altered", "heads file was altered")],
)
def test_a_head_that_was_tampered_with_is_reported_of_after_writing_on(
    scribe: Scribe, harm: str, what: str
) -> None:
    session = scribe.open(Message("one"))
    at = scribe.row(session).n * SLOT.size
    descriptor = os.open(scribe.store.heads.path, os.O_RDWR)
    os.pwrite(descriptor, bytes(SLOT.size) if harm == "missing" else b"\xff", at)
    os.close(descriptor)
    scribe.tell(session, Message("two"))
    scribe.tell(session, Message("three"))
    assert [one for one in whats(scribe.store) if what in one]


def test_another_event_in_the_place_of_the_last_is_reported_of_after_writing_on(scribe: Scribe) -> None:
    session = scribe.open(Message("one"))
    number = scribe.row(session).n
    scribe.store.heads.write([(number, 2, b"x" * 32)])
    scribe.tell(session, Message("two"))
    assert whats(scribe.store) == ["event 1 does not match the heads file"]


def test_a_head_that_lags_is_no_alarm_when_it_is_written_on(scribe: Scribe) -> None:
    session = scribe.open(Message("one"))
    kept = scribe.store.heads.path.read_bytes()
    scribe.tell(session, Message("two"), Message("three"))
    scribe.store.heads.path.write_bytes(kept)
    scribe.tell(session, Message("four"))
    assert verify_store(scribe.store.log).clean


@given(there=st.integers(1, 50), had=st.integers(0, 50), more=st.lists(st.integers(1, 9), max_size=5))
def test_only_a_head_that_is_ahead_is_an_alarm_and_it_stays(
    tmp_path_factory: pytest.TempPathFactory, there: int, had: int, more: list[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "alarmed heads"
    path.unlink(missing_ok=True)
    heads = ChainHeads(path, b"k" * 32)

    def mac(seq: int) -> bytes:
        return bytes([seq % 256]) * 32

    heads.write([(1, there, mac(there - 1))])
    heads.check(1, had, mac(had - 1), mac)
    for one in more:
        had += one
        heads.write([(1, had, mac(had - 1))])
        heads.check(1, had, mac(had - 1), mac)
    found, altered = heads.read_all()
    heads.close()
    assert altered == []
    assert (found[1].alarm is not None) == (there > had - sum(more))


def test_a_forgotten_event_allows_nothing_that_comes_after_it(scribe: Scribe) -> None:
    session = scribe.open(Message("one"), Forgotten(9, "asked", ((0, 1000),)), Message("later"))
    number = scribe.row(session).n
    for seq in (1, 3):
        scribe.store.db.execute("UPDATE event SET payload=NULL WHERE id=?", (event_id(number, seq),))
    found = [(one.seq, one.what) for one in verify_store(scribe.store.log).findings]
    assert found == [(3, "its payload is missing, and no forget event covers it")]
