"""A transaction that ends badly, however that is, leaves nothing open and nothing half told."""

from __future__ import annotations

from typing import Any

import pytest
from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.errors import StoreDamaged, StoreFull
from fazm_memory.events.event import Action, Message
from fazm_memory.store import projections, writer
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from tests.scribe import Scribe, entry


class Wired:
    """A connection that does a statement and then fails as it is told to."""

    def __init__(self, connection: Any, statement: str, error: BaseException) -> None:
        self.connection, self.statement, self.error = connection, statement, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, sql: str, *more: Any) -> Any:
        done = self.connection.execute(sql, *more)
        if sql.startswith(self.statement):
            raise self.error
        return done


class Refusing(Wired):
    """One that does not do the statement at all."""

    def execute(self, sql: str, *more: Any) -> Any:
        if sql.startswith(self.statement):
            raise self.error
        return self.connection.execute(sql, *more)


def goes_on(scribe: Scribe, session: str, events: int) -> None:
    """Nothing of the failed one is left, and the next one is done as ever."""
    db = scribe.store.db
    assert (db.writing, db.connection.in_transaction) == (False, False)
    assert scribe.row(session).head == events
    scribe.tell(session, Message("after"))
    assert scribe.payloads(session)[-1] == Message("after")
    assert verify_store(scribe.store.log).clean


def test_a_head_that_was_made_ready_is_not_put_when_the_commit_is_refused(scribe: Scribe) -> None:
    session = scribe.open()
    db, heads = scribe.store.db, scribe.store.heads
    whole, before = db.connection, heads.path.read_bytes()
    db.connection = Refusing(whole, "COMMIT", sqlcipher.OperationalError("database or disk is full"))
    with pytest.raises(StoreFull):
        scribe.tell(session, Message("lost"))
    db.connection = whole
    assert heads.path.read_bytes() == before
    goes_on(scribe, session, 1)


def test_a_head_that_comes_late_is_behind_and_no_alarm(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = scribe.open()
    other = Scribe(Store(scribe.store.home, key="file"))
    put = scribe.store.heads.put

    def late(*made: Any) -> None:
        monkeypatch.undo()
        other.tell(session, Message("in between"), Message("and one more"))
        put(*made)

    monkeypatch.setattr(scribe.store.heads, "put", late)
    scribe.tell(session, Message("first"))
    assert [verify_store(one.store.log).clean for one in (scribe, other)] == [True, True]
    other.tell(session, Message("after"))
    goes_on(scribe, session, 5)
    other.store.close()


def test_an_interrupt_when_it_has_just_begun_leaves_it_ended(scribe: Scribe) -> None:
    session = scribe.open()
    db = scribe.store.db
    whole = db.connection
    db.connection = Wired(whole, "BEGIN", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt), db.transaction():
        pytest.fail("it never begins")
    db.connection = whole
    goes_on(scribe, session, 1)


def test_an_interrupt_before_there_is_a_writer_leaves_it_ended(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    session = scribe.open()
    with monkeypatch.context() as patched:
        patched.setattr(writer, "Writer", interrupted)
        with pytest.raises(KeyboardInterrupt), scribe.store.writing():
            pytest.fail("it never begins")
    goes_on(scribe, session, 1)


def test_a_rollback_that_fails_is_reported_and_leaves_the_store_usable(scribe: Scribe) -> None:
    session = scribe.open()
    db = scribe.store.db
    whole = db.connection
    db.connection = Wired(whole, "ROLLBACK", sqlcipher.OperationalError("disk I/O error"))
    with pytest.raises(StoreDamaged, match="disk failed"), db.transaction():
        raise ValueError("for some reason")
    assert not db.writing
    db.connection = whole
    goes_on(scribe, session, 1)


@pytest.mark.parametrize("around", ["transaction", "reading"])
def test_one_within_another_is_refused_and_the_other_goes_on(scribe: Scribe, around: str) -> None:
    db = scribe.store.db
    with getattr(db, around)():
        with pytest.raises(StoreDamaged, match="within a transaction"), db.transaction():
            pytest.fail("it never begins")
        assert db.connection.in_transaction
        assert db.writing == (around == "transaction")
        assert db.execute("SELECT count(*) FROM session").fetchone()[0] == 0
    assert not db.connection.in_transaction


def test_a_session_taken_in_at_once_is_reported_with_calls_after_a_look_at_it(
    scribe: Scribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes may look at the rows in between; calls after that are told by the row all the same."""
    session = scribe.open()
    number = scribe.row(session).n
    scribe.store.index_all()
    monkeypatch.setattr(projections, "INDEX_AFTER", 3)
    scribe.store.projections.room = 0
    with scribe.store.writing() as writer:
        head = writer.head(number)
        writer.append(head, entry(Message("first")))
        writer.flush()
        writer.append(head, entry(Action("Bash")))
        writer.append(head, entry(Action("Bash", outcome="error")))
    row = scribe.row(session)
    assert (row.head, row.actions, row.failures) == (4, 2, 1)
    assert scribe.store.projections.behind() == []
    goes_on(scribe, session, 4)
