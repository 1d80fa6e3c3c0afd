"""Verification of payloads, the hash chain and the heads outside the database.

Each finding names its event. A quick check continues from the last verified position; a full check starts
from the beginning.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator
from typing import Any

from fazm_memory.errors import StoreFull, StoreReadOnly
from fazm_memory.events import RETAINED_FIELDS
from fazm_memory.records import dataclass, field
from fazm_memory.store import hash_chain
from fazm_memory.store.database import translated_errors
from fazm_memory.store.event_log import EVENT_COLUMNS, SEQ_MASK, EventLog, event_id
from fazm_memory.store.forget import Tombstones
from fazm_memory.text import plural

ALTERED = "its payload was altered"
ROWS = (
    "SELECT s.n, s.id, s.head, s.mac, s.verified, t.head"
    " FROM session s JOIN standing t ON t.n = s.n ORDER BY s.n"
)


@dataclass(frozen=True)
class _Row:
    """The event count and last MAC of a session row.

    `stands` also counts calls that the row may not show yet.
    """

    head: int
    mac: bytes
    stands: int


@dataclass(frozen=True)
class VerifyFinding:
    """Something that is not as it was written."""

    session: str
    seq: int | None
    what: str

    def to_json(self) -> dict[str, Any]:
        return {"session": self.session, "seq": self.seq, "what": self.what}


@dataclass
class VerifyReport:
    sessions: int = 0
    events: int = 0
    forgotten: int = 0
    findings: list[VerifyFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        return {
            "clean": self.clean,
            "sessions": self.sessions,
            "events": self.events,
            "forgotten": self.forgotten,
            "findings": [finding.to_json() for finding in self.findings],
            "notes": self.notes,
        }


def verify_store(
    log: EventLog,
    *,
    full: bool = True,
    only: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> VerifyReport:
    """Check the log, from the end of the last clean check or, with `full`, whole."""
    with translated_errors(log.db.path):
        return _verify(log, full, only, progress)


def _verify(log: EventLog, full: bool, only: int | None, progress: Callable[[int], None]) -> VerifyReport:
    report = VerifyReport()
    # Heads first: they are written after their events, so what they name must be in the view taken then.
    heads, altered = log.outside.read_all()
    if altered:  # perhaps read during a write
        heads, altered = log.outside.read_all()
    clean: list[tuple[int, int]] = []
    with log.db.reading():  # one view of all tables, whatever others append meanwhile
        rows = log.db.execute(ROWS).fetchall()
        if any(row[0] not in heads for row in rows):  # slots come before their sessions: look again
            late = log.outside.read_all()[0]
            heads |= {n: hash_chain.ChainHead(0, b"") for n in late if n not in heads}
        for number in altered:
            report.findings.append(
                VerifyFinding(f"#{number}", None, "its entry in the heads file was altered")
            )
        if rows and not log.outside.exists():
            what = "the heads file is missing: events removed at the end cannot be detected"
            report.findings.append(VerifyFinding("*", None, what))
        listed = {row[0] for row in rows}
        for number in sorted(set(heads) - listed):
            if heads[number].count:  # else it was announced and never committed
                what = "the whole session is missing from the database"
                report.findings.append(VerifyFinding(f"#{number}", None, what))
        _orphans(log, listed, report)
        for number, session, head, mac, verified, stands in rows:
            if only is not None and number != only:
                continue
            before = len(report.findings)
            start = 0 if full else _whole(verified)
            for seq, what in _session(
                log,
                number,
                str(session),
                _Row(_whole(head), _bytes(mac), _whole(stands)),
                start,
                heads.get(number),
                report,
                progress,
            ):
                report.findings.append(VerifyFinding(str(session), seq, what))
            report.sessions += 1
            if len(report.findings) == before and verified != stands:
                clean.append((stands, number))
    if full and only is None:
        report.findings += [
            VerifyFinding("*", None, f"the file is damaged: {problem}") for problem in _pages(log, report)
        ]
    if clean:
        try:
            with log.db.transaction():
                log.db.executemany("UPDATE session SET verified=? WHERE n=?", clean)
        except StoreFull:
            report.notes.append("the disk is full: the progress for `--quick` was not saved")
        except StoreReadOnly:
            report.notes.append("the store is read-only: the progress for `--quick` was not saved")
    return report


def _pages(log: EventLog, report: VerifyReport) -> list[str]:
    """Damaged pages, including those without events."""
    # After a power cut a page may be half written in the file and complete in the write-ahead log.
    try:
        settled = _settled(log)
    except StoreFull:
        report.notes.append("pages without events were not checked: the disk is full")
        return []
    except StoreReadOnly:
        report.notes.append("pages without events were not checked: the store is read-only")
        return []
    if not settled:
        report.notes.append("pages without events were not checked: another process is reading or writing")
        return []

    def found() -> dict[str, None]:
        rows = log.db.execute("PRAGMA cipher_integrity_check").fetchall()
        return dict.fromkeys(str(row[0]) for row in rows)

    first = found()
    # Check twice, because another process may be writing a page.
    again = found() if first else {}
    return [problem for problem in first if problem in again]


def _settled(log: EventLog) -> bool:
    """Copy the write-ahead log into the file. Return whether all of it is there now."""
    if log.db.connection.in_transaction:
        return False
    _, waiting, taken = log.db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return bool(waiting == taken)


def _bytes(value: Any) -> bytes:
    """The bytes of a column, if it has the right type. SQLite does not enforce it."""
    return value if isinstance(value, bytes) else b""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _orphans(log: EventLog, listed: set[int], report: VerifyReport) -> None:
    """Report events without a session row. One seek per session."""
    at = 0
    while True:
        row = log.db.execute("SELECT id FROM event WHERE id >= ? ORDER BY id LIMIT 1", (at,)).fetchone()
        if row is None:
            return
        number = row[0] >> 32
        if number not in listed:
            report.findings.append(
                VerifyFinding(f"#{number}", row[0] & SEQ_MASK, "events without a session: its row is missing")
            )
        at = event_id(number + 1, 0)


def _session(
    log: EventLog,
    number: int,
    session: str,
    row: _Row,
    start: int,
    outside: hash_chain.ChainHead | None,
    report: VerifyReport,
    progress: Callable[[int], None],
) -> Iterator[tuple[int | None, str]]:
    prev = log._mac_before(number, session, start)
    expected = start
    covered = True  # whether only calls follow the events that the row counts
    gone: list[int] = []
    reduced: list[tuple[int, str]] = []  # with the digest of what is there now
    tombstones = Tombstones()
    outside_mac = prev if outside is not None and 0 < start == outside.count else None
    cursor = log.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id <= ? ORDER BY id",
        (event_id(number, start), event_id(number, SEQ_MASK)),
    )
    for id_, at, turn, kind, version, actor, source, trust, key, stored, digest, stored_mac in cursor:
        seq = id_ & SEQ_MASK
        digest, stored_mac = _bytes(digest), _bytes(stored_mac)
        if seq != expected:
            missing = f"{expected}" if seq == expected + 1 else f"{expected} to {seq - 1}"
            yield expected, f"position {missing} is missing"
            expected = seq
        whole = hmac.compare_digest(hash_chain.digest_of(_bytes(stored)), digest)
        if stored is None and whole:  # imported without its payload
            report.forgotten += 1
        elif stored is None:
            gone.append(seq)
        elif not whole and isinstance(stored, bytes) and kind in RETAINED_FIELDS:
            reduced.append((seq, hash_chain.digest_of(stored).hex()))
        elif not whole or not isinstance(stored, bytes) or not stored:
            yield seq, ALTERED
        mac = hash_chain.link(log.key, prev, digest, session, seq, at, turn, kind, version, actor, source,
                          trust, key)  # fmt: skip
        if not hmac.compare_digest(mac, stored_mac):
            yield seq, "its envelope was altered, or it was moved to another position"
        elif kind == "forgotten" and whole:
            tombstones.add(stored, seq)
        covered = covered and (seq < row.head or kind == "action")
        prev = stored_mac
        expected = seq + 1
        if outside is not None and expected == outside.count:
            outside_mac = prev
        report.events += 1
        if report.events % 1000 == 0:
            progress(report.events)
    report.forgotten += len(gone) + len(reduced)
    if start and (gone or reduced):
        tombstones.add_all(log.db, number)
    if gone or reduced:
        tombstones.add_noted(log.db, log.key, number, session)
    yield from (
        (seq, "its payload is missing, and no forget event covers it") for seq in tombstones.taken(gone)
    )
    yield from ((seq, ALTERED) for seq, digest in reduced if tombstones.left.get(seq) != digest)
    if expected != row.stands or row.head > expected or not covered:
        counted = row.stands if covered else row.head
        yield min(expected, counted), f"the session's row says {counted} events, the log has {expected}"
    elif not hmac.compare_digest(log._mac_before(number, session, row.head), row.mac):
        yield row.head - 1 if row.head else None, "the session's row does not match its last event"
    yield from _against_heads(outside, outside_mac, expected)


def _against_heads(
    outside: hash_chain.ChainHead | None, reached: bytes | None, expected: int
) -> Iterator[tuple[int | None, str]]:
    """What the heads file says differently.

    `reached` is the link of the log at its position.
    """
    if outside is None:
        if expected:
            yield expected - 1, "the session has no entry in the heads file"
    elif outside.count > expected:
        yield (
            expected,
            f"events at the end are missing: the heads file counts {plural(outside.count, 'event')},"
            f" the log has {expected}",
        )
    elif reached is not None and not hmac.compare_digest(reached, outside.mac):
        yield outside.count - 1, "it is not the event that the heads file names"
    if outside is not None and outside.alarm is not None:
        yield min(outside.alarm.had, expected), outside.alarm.describe()
