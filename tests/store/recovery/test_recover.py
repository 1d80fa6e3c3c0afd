"""Recovery from a damaged page, whichever it is: what it held is lost, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fazm_memory.errors import StoreBusy
from fazm_memory.events.event import Event, Forgotten, Message, UnknownRecord
from fazm_memory.store import forget
from fazm_memory.store.event_log import EVENT_COLUMNS, INSERT_EVENT, SEQ_MASK, event_id
from fazm_memory.store.forget import forget_events
from fazm_memory.store.recovery.journal import RecoveryFolder
from fazm_memory.store.recovery.page_reader import PageReader
from fazm_memory.store.recovery.recover import UNTOLD, RecoveryReport, recover
from fazm_memory.store.store import PAGE, Store
from fazm_memory.store.verify import verify_store
from tests.conftest import OpenStore
from tests.scribe import T0, Scribe
from tests.store.recovery.damaged_stores import copied, database, fill, flip, raw

EVERYTHING = 0, event_id(99, 0)


def recovered(home: Path) -> tuple[RecoveryReport, dict[tuple[str, int], Event]]:
    """What recovery told, and all events of the store that it made, which must verify."""
    result = recover(home, key="file", now=T0, aside=RecoveryFolder(home / "quarantine" / "then"))
    store = Store(home, key="file")
    try:
        assert verify_store(store.log).clean, result
        rows = store.sessions.listing(limit=None, background=True)
        found = {(row.id, one.seq): one for row in rows for one in store.log.slice(row.n, row.id)}
    finally:
        store.close()
    return result, found


def is_lost(event: Event) -> bool:
    return event.payload == UnknownRecord(type="lost")


def test_each_damaged_page_costs_what_it_held_and_nothing_else(
    home: Path, tmp_path: Path, store: Store
) -> None:
    sessions = fill(store)
    scribe = Scribe(store)
    before = {(session, one.seq): one for session in sessions for one in scribe.events(session)}
    store.close()
    times: Counter[tuple[str, int]] = Counter()
    for page in range(1, database(home).stat().st_size // PAGE + 1):
        copy = copied(home, tmp_path / "copy")
        flip(database(copy), page)
        results, after = recovered(copy)
        lost = [place for place in before if is_lost(after[place])]
        times.update(lost)
        same = {place: one for place, one in before.items() if place not in lost}
        assert {place: after[place].payload for place in same} == {
            place: one.payload for place, one in same.items()
        }
        assert not results.needed or (results.kept, results.lost) == (len(same), len(lost))
        if lost:
            assert any(note.startswith("its pages were read one by one: 1 of") for note in results.notes)
    for place, one in before.items():  # each lies on one page, a long one on some more
        size = len(getattr(one.payload, "text", ""))
        assert (times[place] == 1) if size < 5000 else (2 <= times[place] <= 4), (place, size)


def test_the_salt_is_known_from_the_spare(home: Path, store: Store) -> None:
    fill(store)
    store.close()
    flip(database(home), 1, at=3)
    result, _ = recovered(home)
    assert (result.kept, result.lost) == (75 - 3, 0)


def test_the_names_of_sessions_outlive_their_rows(home: Path, store: Store) -> None:
    sessions = fill(store)
    rows = [Scribe(store).row(session) for session in sessions]
    store.close()
    rows_at = raw(home)
    (page,) = rows_at.found.pages["session"]
    rows_at.pages.close()
    flip(database(home), page)
    result, after = recovered(home)
    assert (result.kept, result.lost) == (72, 0)
    assert {session for session, _ in after} == set(sessions)
    store = Store(home, key="file")
    again = [Scribe(store).row(session) for session in sessions]
    store.close()
    assert [(one.agent, one.agent_session_id, one.opened_at) for one in again] == [
        (one.agent, one.agent_session_id, one.opened_at) for one in rows
    ]


def test_what_only_the_write_ahead_log_has_is_saved(home: Path, tmp_path: Path, store: Store) -> None:
    """Also when a page of the database is damaged by which the others are found."""
    sessions = fill(store)
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    Scribe(store).tell(sessions[1], *[Message(f"only there {n}") for n in range(20)])
    assert database(home).with_name("memory.db-wal").stat().st_size > PAGE
    kept = {}
    for page in range(1, database(home).stat().st_size // PAGE + 1):
        copy = copied(home, tmp_path / "copy")
        flip(database(copy), page)
        result, _ = recovered(copy)
        kept[page] = 92 if not result.needed else result.kept
    assert min(kept.values()) >= 92 - 12
    assert kept[1] == kept[2] == 92


@pytest.mark.parametrize("how", ["vacuumed", "given up", "logged"])
def test_what_was_forgotten_never_comes_back(
    home: Path, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Also when another process kept the old pages from being given back, so that the file holds it still."""
    scribe = Scribe(store)
    session = scribe.open()
    scribe.tell(session, *[Message(f"between us {n} " + "x" * 600) for n in range(40)])
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if how == "given up":
        with store.db.transaction():  # a table made anew: the pages it had still hold their rows
            rows = store.db.execute(f"SELECT {EVENT_COLUMNS} FROM event").fetchall()
            store.db.execute("PRAGMA secure_delete=OFF")
            store.db.execute("DELETE FROM event")
            bare = [(*row[:9], None if 3 <= row[0] & SEQ_MASK < 38 else row[9], *row[10:]) for row in rows]
            store.db.executemany(INSERT_EVENT, bare)
        scribe.tell(session, Forgotten(35, "asked", ((3, 38),)))
    else:
        if how == "logged":
            monkeypatch.setattr(forget, "vacuum", lambda store: None)
        forget_events(store, {scribe.row(session).n: list(range(3, 38))}, reason="asked", at=T0, source="cli")
    if how != "logged":
        store.close()
    pages = raw(home).pages
    if how == "logged":
        pages.frames[0].clear()  # the file alone
    held = [n for n in range(1, pages.count + 1) if b"between us 20" in (pages.read(n) or b"")]
    pages.close()
    assert bool(held) == (how != "vacuumed")  # or this would prove nothing
    for page in range(1, database(home).stat().st_size // PAGE + 1):
        copy = copied(home, tmp_path / "copy")
        flip(database(copy), page)
        result, after = recovered(copy)
        back = [
            n for n in range(3, 38) if after[session, n].payload not in (None, UnknownRecord(type="lost"))
        ]
        assert back == [], (page, result)


def test_what_was_forgotten_stays_so_when_nothing_tells_of_it_any_more(
    home: Path, open_store: OpenStore
) -> None:
    store = open_store()
    (session,) = fill(store, sessions=1, events=40)
    number = Scribe(store).row(session).n
    forget_events(store, {number: [2, 3, 4, 8]}, reason="asked", at=T0, source="cli")
    store.close()
    rows = raw(home)
    page = rows.found.events[-1][2]
    assert any(one[3] == "forgotten" for one in rows.events(rows.found.events[-1][0], EVERYTHING[1]))
    rows.pages.close()
    flip(database(home), page)
    _, after = recovered(home)
    result = next(one.payload for one in after.values() if one.kind == "forgotten")
    assert result == Forgotten(4, UNTOLD, ((2, 5), (8, 9)))


def test_a_page_without_its_code_is_never_read_from_an_older_copy(home: Path, store: Store) -> None:
    fill(store)
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    Scribe(store).tell(store.sessions.listing()[0].id, Message("newer"))
    pages = PageReader(database(home), store.keys.database, None)
    number, at = next(iter(pages.frames[0].items()))
    pages.close()
    log = database(home).with_name("memory.db-wal")
    flip(log, 1, at=at + PAGE - 1)
    again = PageReader(database(home), store.keys.database, None)
    again.frames[0][number] = at  # as if its checksum had not told
    found = again.read(number)
    again.close()
    assert found is None


def test_a_recovery_that_is_interrupted_leaves_all_as_it_was(home: Path, store: Store) -> None:
    fill(store)
    store.close()
    flip(database(home), 5)
    wreck, heads = database(home).read_bytes(), (home / "keys" / "heads").read_bytes()

    def interrupted(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recover(
            home,
            key="file",
            now=T0,
            aside=RecoveryFolder(home / "quarantine" / "first"),
            progress=interrupted,
        )
    assert (database(home).read_bytes(), (home / "keys" / "heads").read_bytes()) == (wreck, heads)
    result, _ = recovered(home)
    assert result.kept > 60


HAS_IT_OPEN = """
import sys
from pathlib import Path
from fazm_memory.store.store import Store
store = Store(Path(sys.argv[1]), key="file")
store.db.execute("SELECT count(*) FROM session").fetchone()
print("begun", flush=True)
sys.stdin.read()
"""


def test_a_store_that_another_process_has_open_is_left_until_it_is_not(home: Path, store: Store) -> None:
    fill(store)
    store.close()
    with subprocess.Popen(
        [sys.executable, "-c", HAS_IT_OPEN, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        flip(database(home), 5)
        before = database(home).read_bytes()
        with pytest.raises(StoreBusy, match="another process has it open"):
            recover(home, key="file", now=T0, aside=RecoveryFolder(home / "quarantine" / "now"))
        process.kill()
    assert database(home).read_bytes() == before
    assert not (home / "quarantine").exists()
    result, _ = recovered(home)
    assert result.kept > 60
