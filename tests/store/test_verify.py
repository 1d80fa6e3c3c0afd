"""Verification names what was altered, and says nothing when nothing was."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Event as Flag
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.events import codec
from fazm_memory.events.event import Forgotten, Message, Prompt
from fazm_memory.store.event_log import event_id
from fazm_memory.store.forget import forget_events
from fazm_memory.store.hash_chain import digest_of
from fazm_memory.store.store import Store
from fazm_memory.store.verify import VerifyReport, verify_store
from tests.conftest import OpenStore
from tests.scribe import T0, Scribe


def found(report: VerifyReport) -> list[tuple[str, int | None, str]]:
    return [(one.session, one.seq, one.what) for one in report.findings]


def whats(scribe: Scribe, **more: Any) -> list[tuple[int | None, str]]:
    return [(seq, what) for _, seq, what in found(verify_store(scribe.store.log, **more))]


@pytest.fixture
def session(scribe: Scribe) -> str:
    return scribe.open(*(Message(f"word {n}") for n in range(5)))


@pytest.fixture
def number(scribe: Scribe, session: str) -> int:
    return scribe.row(session).n


def run(scribe: Scribe, sql: str, *values: Any) -> None:
    scribe.store.db.execute(sql, values)


def test_an_untouched_log_is_clean_and_counted(scribe: Scribe, session: str) -> None:
    scribe.open(Prompt("x"))
    report = verify_store(scribe.store.log)
    assert (report.clean, report.sessions, report.events, report.findings) == (True, 2, 8, [])
    assert report.to_json()["clean"] is True


def test_an_empty_store_is_clean(scribe: Scribe) -> None:
    assert verify_store(scribe.store.log).clean


def test_an_altered_payload_is_named(scribe: Scribe, session: str, number: int) -> None:
    run(scribe, "UPDATE event SET payload=? WHERE id=?", b'{"text":"lie"}', event_id(number, 2))
    assert found(verify_store(scribe.store.log)) == [(session, 2, "its payload was altered")]


def test_an_altered_payload_with_its_digest_made_to_fit_is_named(scribe: Scribe, number: int) -> None:
    lie = b'{"text":"lie"}'
    run(scribe, "UPDATE event SET payload=?, digest=? WHERE id=?", lie, digest_of(lie), event_id(number, 2))
    assert [seq for seq, _ in whats(scribe)] == [2]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("at", 1), ("turn", 3), ("kind", "prompt"), ("version", 2), ("actor", "person"), ("source", "cli"),
        ("trust", "user"), ("key", "k"), ("key", ""), ("digest", b""), ("mac", b""), ("payload", "text"),
        ("digest", "text"), ("mac", "text"), ("kind", b"blob"), ("at", "never"), ("kind", "forgotten"),
    ],
)  # fmt: skip
def test_every_column_of_an_event_is_guarded(scribe: Scribe, number: int, column: str, value: Any) -> None:
    run(scribe, f"UPDATE event SET {column}=? WHERE id=?", value, event_id(number, 3))
    assert 3 in [seq for seq, _ in whats(scribe)]


def test_a_deleted_event_is_named(scribe: Scribe, number: int) -> None:
    run(scribe, "DELETE FROM event WHERE id=?", event_id(number, 2))
    assert whats(scribe)[0] == (2, "position 2 is missing")


def test_deleted_events_are_named_with_the_first_of_them(scribe: Scribe, number: int) -> None:
    run(scribe, "DELETE FROM event WHERE id IN (?,?)", event_id(number, 2), event_id(number, 3))
    assert whats(scribe)[0] == (2, "position 2 to 3 is missing")


def test_a_deleted_last_event_is_named(scribe: Scribe, number: int) -> None:
    run(scribe, "DELETE FROM event WHERE id=?", event_id(number, 5))
    assert (5, "the session's row says 6 events, the log has 5") in whats(scribe)


def test_a_tail_cut_with_the_row_made_to_fit_is_named(scribe: Scribe, number: int) -> None:
    last = scribe.store.db.execute("SELECT mac FROM event WHERE id=?", (event_id(number, 3),)).fetchone()[0]
    run(scribe, "DELETE FROM event WHERE id >= ?", event_id(number, 4))
    run(scribe, "UPDATE session SET head=4, mac=? WHERE n=?", last, number)
    assert whats(scribe) == [
        (4, "events at the end are missing: the heads file counts 6 events, the log has 4")
    ]


def test_an_event_that_was_put_in_is_named(scribe: Scribe, number: int) -> None:
    run(scribe, "INSERT INTO event SELECT id+1, at, turn, kind, version, actor, source, trust, key, payload,"
        " digest, mac, tally FROM event WHERE id=?", event_id(number, 5))  # fmt: skip
    assert 6 in [seq for seq, _ in whats(scribe)]


def test_swapped_events_are_both_named(scribe: Scribe, number: int) -> None:
    one, other = event_id(number, 2), event_id(number, 4)
    for sql, values in (
        ("id=-1 WHERE id=?", (one,)),
        ("id=? WHERE id=?", (one, other)),
        ("id=? WHERE id=-1", (other,)),
    ):
        run(scribe, f"UPDATE event SET {sql}", *values)
    assert {2, 4} <= {seq for seq, _ in whats(scribe)}


def test_an_event_moved_to_another_session_is_missed_here_and_named_there(
    scribe: Scribe, session: str, number: int
) -> None:
    other = scribe.open()
    target = event_id(scribe.row(other).n, 1)
    run(scribe, "UPDATE event SET id=? WHERE id=?", target, event_id(number, 5))
    named = {(where, seq) for where, seq, _ in found(verify_store(scribe.store.log))}
    assert {(session, 5), (other, 1)} <= named


def test_a_payload_taken_away_is_reported_from_one_forgotten(scribe: Scribe, number: int) -> None:
    forget_events(scribe.store, {number: [1, 2]}, reason="asked", at=T0, source="cli")
    report = verify_store(scribe.store.log)
    assert (report.clean, report.forgotten) == (True, 2)
    run(scribe, "UPDATE event SET payload=NULL WHERE id=?", event_id(number, 4))
    assert whats(scribe) == [(4, "its payload is missing, and no forget event covers it")]


def test_a_forgotten_event_made_to_allow_more_is_noticed(scribe: Scribe, number: int) -> None:
    forget_events(scribe.store, {number: [1]}, reason="asked", at=T0, source="cli")
    wider = codec.to_bytes(Forgotten(2, "asked", ((1, 4),)))
    run(
        scribe,
        "UPDATE event SET payload=?, digest=? WHERE id=?",
        wider,
        digest_of(wider),
        event_id(number, 6),
    )
    run(scribe, "UPDATE event SET payload=NULL WHERE id=?", event_id(number, 3))
    assert {3, 6} <= {seq for seq, _ in whats(scribe)}


@pytest.mark.parametrize("payload", [b"{", b"[1]", b'{"ranges":7}', "text", b"\x28\xb5\x2f\xfd"])
def test_a_forgotten_event_that_cannot_be_read_is_a_finding_not_a_crash(
    scribe: Scribe, number: int, payload: Any
) -> None:
    forget_events(scribe.store, {number: [1]}, reason="asked", at=T0, source="cli")
    run(scribe, "UPDATE event SET payload=? WHERE id=?", payload, event_id(number, 6))
    assert {1, 6} <= {seq for seq, _ in whats(scribe)}
    assert whats(scribe, full=False)


def test_a_deleted_session_is_missed(scribe: Scribe, number: int) -> None:
    run(scribe, "DELETE FROM event")
    run(scribe, "DELETE FROM session")
    assert found(verify_store(scribe.store.log)) == [
        (f"#{number}", None, "the whole session is missing from the database")
    ]


def test_events_without_their_session_are_named(scribe: Scribe, number: int) -> None:
    run(scribe, "DELETE FROM session")
    assert (f"#{number}", 0, "events without a session: its row is missing") in found(
        verify_store(scribe.store.log)
    )


@pytest.mark.parametrize(
    ("column", "value"),
    [("head", 5), ("head", 9), ("head", "many"), ("mac", b"x" * 32), ("mac", "text"), ("id", "other")],
)
def test_the_sessions_row_cannot_deny_its_events(
    scribe: Scribe, number: int, column: str, value: Any
) -> None:
    run(scribe, f"UPDATE session SET {column}=? WHERE n=?", value, number)
    assert whats(scribe)


def test_an_altered_head_outside_is_noticed(scribe: Scribe, number: int) -> None:
    path = scribe.store.heads.path
    data = bytearray(path.read_bytes())
    data[number * 64 + 7] ^= 1
    path.write_bytes(data)
    assert (None, "its entry in the heads file was altered") in whats(scribe)


def test_missing_heads_are_noticed(scribe: Scribe, session: str, open_store: OpenStore) -> None:
    scribe.store.heads.path.unlink()
    assert "events removed at the end cannot be detected" in whats(scribe)[0][1]
    other = Scribe(open_store())
    other.open()
    assert (5, "the session has no entry in the heads file") in whats(other)


def test_a_head_that_lags_behind_is_no_alarm(scribe: Scribe, session: str, number: int) -> None:
    kept = scribe.store.heads.path.read_bytes()
    scribe.tell(session, Message("more"))
    scribe.store.heads.path.write_bytes(kept)
    assert verify_store(scribe.store.log).clean


def test_a_session_announced_and_never_committed_is_no_alarm(scribe: Scribe, session: str) -> None:
    scribe.store.heads.announce([77])
    assert verify_store(scribe.store.log).clean
    assert scribe.row(scribe.open()).n == 78


def test_an_empty_session_is_clean(scribe: Scribe) -> None:
    with scribe.store.writing() as writer:
        writer.create("fazm", T0)
    assert verify_store(scribe.store.log).clean


def test_checking_on_reads_only_what_was_added(scribe: Scribe, session: str) -> None:
    assert verify_store(scribe.store.log, full=False).events == 6
    assert verify_store(scribe.store.log, full=False).events == 0
    scribe.tell(session, Message("more"))
    assert verify_store(scribe.store.log, full=False).events == 1
    assert verify_store(scribe.store.log).events == 7


def test_a_full_check_trusts_nothing_that_was_verified_before(scribe: Scribe, number: int) -> None:
    assert verify_store(scribe.store.log).clean
    run(scribe, "UPDATE event SET payload=? WHERE id=?", b"{}", event_id(number, 1))
    assert verify_store(scribe.store.log, full=False).clean
    assert not verify_store(scribe.store.log).clean


def test_checking_on_notices_a_new_last_event(scribe: Scribe, number: int) -> None:
    assert verify_store(scribe.store.log).clean
    run(scribe, "UPDATE event SET mac=? WHERE id=?", b"x" * 32, event_id(number, 5))
    run(scribe, "UPDATE session SET mac=? WHERE n=?", b"x" * 32, number)
    assert whats(scribe, full=False) == [(5, "it is not the event that the heads file names")]


def test_a_session_with_a_finding_is_not_marked_as_verified(scribe: Scribe, number: int) -> None:
    run(scribe, "UPDATE event SET payload=? WHERE id=?", b"{}", event_id(number, 1))
    verify_store(scribe.store.log)
    assert scribe.store.db.execute("SELECT verified FROM session").fetchone()[0] == 0


def test_one_session_can_be_checked_alone(scribe: Scribe, number: int) -> None:
    other = scribe.row(scribe.open())
    run(scribe, "UPDATE event SET payload=? WHERE id=?", b"{}", event_id(number, 1))
    assert verify_store(scribe.store.log, only=other.n).clean
    assert not verify_store(scribe.store.log, only=number).clean


def test_progress_is_reported_on_the_way(scribe: Scribe) -> None:
    scribe.open(*(Message("x") for _ in range(2100)))
    results: list[int] = []
    verify_store(scribe.store.log, progress=results.append)
    assert results == [1000, 2000]


def test_pages_that_cannot_be_checked_are_reported(
    scribe: Scribe, session: str, open_store: OpenStore
) -> None:
    reader = open_store()
    with reader.db.reading():
        reader.sessions.totals()
        scribe.tell(session, Message("more"))
        report = verify_store(scribe.store.log)
    assert report.clean
    assert report.notes == ["pages without events were not checked: another process is reading or writing"]
    assert verify_store(scribe.store.log).notes == []


def test_a_damaged_page_without_events_is_found(scribe: Scribe, open_store: OpenStore, session: str) -> None:
    page = scribe.store.db.execute("SELECT rootpage FROM sqlite_master WHERE name='minute_all'").fetchone()[0]
    scribe.store.close()
    data = bytearray(scribe.store.path.read_bytes())
    data[(page - 1) * 4096 + 99] ^= 1
    scribe.store.path.write_bytes(data)
    (finding,) = verify_store(open_store().log).findings
    assert finding.what == f"the file is damaged: HMAC verification failed for page {page}"


GROWS = 150


def _appending(home: Path, session: str, begun: Flag) -> None:
    scribe = Scribe(Store(home, key="file"))
    for _ in range(GROWS):
        scribe.tell(session, Message("more"))
        scribe.open(Message("new"))
        begun.set()
    scribe.store.close()


def test_a_log_that_grows_while_it_is_verified_is_clean(scribe: Scribe, session: str, home: Path) -> None:
    context = multiprocessing.get_context("fork")
    begun = context.Event()
    writer = context.Process(target=_appending, args=(home, session, begun))
    writer.start()
    assert begun.wait(30)
    reports = []
    while writer.is_alive():
        reports.append(verify_store(scribe.store.log))
    writer.join()
    assert writer.exitcode == 0
    assert [found(one) for one in reports if not one.clean] == []
    assert reports[0].events < verify_store(scribe.store.log).events == 6 + GROWS * 3
