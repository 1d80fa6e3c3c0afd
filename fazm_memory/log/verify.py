"""Verification: every payload against its digest, every event against the chain, every head against the
copy kept outside.

A finding names the event. Checking on from the last verified position costs what was added since; a full
check trusts nothing that was verified before.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fazm_memory.errors import StoreFull
from fazm_memory.log import chain
from fazm_memory.log.database import told
from fazm_memory.log.eventlog import EventLog
from fazm_memory.log.rows import EVENT_COLUMNS
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.log.tombstones import Tombstones
from fazm_memory.model.counting import plural
from fazm_memory.model.structure import BONES

ALTERED = "its payload was altered"
ROWS = (
    "SELECT s.n, s.id, s.head, s.mac, s.verified, t.head"
    " FROM session s JOIN standing t ON t.n = s.n ORDER BY s.n"
)


@dataclass(frozen=True)
class _Row:
    """What a session's row says of its events: how many it knows, the mark of the last of those, and how many
    there are with the latest calls, which the row may lag behind."""

    head: int
    mac: bytes
    stands: int


@dataclass(frozen=True)
class Finding:
    """Something that is not as it was written."""

    session: str
    seq: int | None
    what: str

    def to_json(self) -> dict[str, Any]:
        return {"session": self.session, "seq": self.seq, "what": self.what}


@dataclass
class Report:
    sessions: int = 0
    events: int = 0
    forgotten: int = 0
    findings: list[Finding] = field(default_factory=list)
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


def verify(
    log: EventLog,
    *,
    full: bool = True,
    only: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Report:
    """Check the log; `full` from the beginning, else from where the last clean check ended."""
    with told(log.db.path):
        return _verify(log, full, only, progress)


def _verify(log: EventLog, full: bool, only: int | None, progress: Callable[[int], None]) -> Report:
    report = Report()
    # Heads first: they are written after their events, so what they name must be in the view taken then.
    heads, altered = log.outside.read_all()
    if altered:  # read while it was being written?
        heads, altered = log.outside.read_all()
    clean: list[tuple[int, int]] = []
    with log.db.reading():  # one view of all tables, whatever others append meanwhile
        rows = log.db.execute(ROWS).fetchall()
        if any(row[0] not in heads for row in rows):  # slots come before their sessions: look again
            late = log.outside.read_all()[0]
            heads |= {n: chain.Head(0, b"") for n in late if n not in heads}
        for number in altered:
            report.findings.append(Finding(f"#{number}", None, "its head outside the database was altered"))
        if rows and not log.outside.exists():
            what = "the heads kept outside the database are missing: a cut tail cannot be ruled out"
            report.findings.append(Finding("*", None, what))
        listed = {row[0] for row in rows}
        for number in sorted(set(heads) - listed):
            if heads[number].count:  # else it was announced and never committed
                what = "the whole session is missing from the database"
                report.findings.append(Finding(f"#{number}", None, what))
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
                report.findings.append(Finding(str(session), seq, what))
            report.sessions += 1
            if len(report.findings) == before and verified != stands:
                clean.append((stands, number))
    if full and only is None:
        report.findings += [Finding("*", None, f"the file is damaged: {one}") for one in _pages(log, report)]
    if clean:
        try:
            with log.db.transaction():
                log.db.executemany("UPDATE session SET verified=? WHERE n=?", clean)
        except StoreFull:
            report.notes.append("the disk is full: how far this got is not remembered for `--quick`")
    return report


def _pages(log: EventLog, report: Report) -> list[str]:
    """Damaged pages, also those that hold no event: indexes, caches, free ones."""
    # After a power cut a page may lie half written in the file and whole in the write-ahead log: that is no
    # damage, and is mended by taking the log in first.
    try:
        settled = _settled(log)
    except StoreFull:
        report.notes.append("pages without events were not checked: the disk is full")
        return []
    if not settled:
        report.notes.append("pages without events were not checked: somebody is reading or writing")
        return []

    def found() -> dict[str, None]:
        rows = log.db.execute("PRAGMA cipher_integrity_check").fetchall()
        return dict.fromkeys(str(row[0]) for row in rows)

    first = found()
    # A page may be read while another process writes it; a damaged one is damaged twice.
    again = found() if first else {}
    return [one for one in first if one in again]


def _settled(log: EventLog) -> bool:
    """Take the write-ahead log into the file; whether all of it is there now."""
    if log.db.connection.in_transaction:
        return False
    _, waiting, taken = log.db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return bool(waiting == taken)


def _bytes(value: Any) -> bytes:
    """What a column of bytes holds; SQLite would let an editor put anything there."""
    return value if isinstance(value, bytes) else b""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _orphans(log: EventLog, listed: set[int], report: Report) -> None:
    """Events whose session row is gone. One seek per session, not a scan."""
    at = 0
    while True:
        row = log.db.execute("SELECT id FROM event WHERE id >= ? ORDER BY id LIMIT 1", (at,)).fetchone()
        if row is None:
            return
        number = row[0] >> 32
        if number not in listed:
            report.findings.append(
                Finding(f"#{number}", row[0] & SEQ_MASK, "events without a session: its row is missing")
            )
        at = event_id(number + 1, 0)


def _session(
    log: EventLog,
    number: int,
    session: str,
    row: _Row,
    start: int,
    outside: chain.Head | None,
    report: Report,
    progress: Callable[[int], None],
) -> Iterator[tuple[int | None, str]]:
    prev = log._mac_before(number, session, start)
    expected = start
    covered = True  # whether only calls came after what the row knows: those tell it themselves
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
            yield expected, f"missing: position {missing} is not there"
            expected = seq
        whole = hmac.compare_digest(chain.digest_of(_bytes(stored)), digest)
        if stored is None and whole:  # a payload that was gone when it was brought here
            report.forgotten += 1
        elif stored is None:
            gone.append(seq)
        elif not whole and isinstance(stored, bytes) and kind in BONES:
            reduced.append((seq, chain.digest_of(stored).hex()))
        elif not whole or not isinstance(stored, bytes) or not stored:
            yield seq, ALTERED
        made = chain.link(log.key, prev, digest, session, seq, at, turn, kind, version, actor, source,
                          trust, key)  # fmt: skip
        if not hmac.compare_digest(made, stored_mac):
            yield seq, "its envelope was altered, or it is not where it was written"
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
    yield from (
        (seq, "its payload is missing, and nobody asked to forget it") for seq in tombstones.taken(gone)
    )
    yield from ((seq, ALTERED) for seq, digest in reduced if tombstones.left.get(seq) != digest)
    if expected != row.stands or row.head > expected or not covered:
        said = row.stands if covered else row.head
        yield min(expected, said), f"the session's row says {said} events, the log has {expected}"
    elif not hmac.compare_digest(log._mac_before(number, session, row.head), row.mac):
        yield row.head - 1 if row.head else None, "the session's row does not carry its last event's mark"
    if outside is None:
        if expected:
            yield expected - 1, "the session has no head outside the database"
    elif outside.count > expected:
        yield (
            expected,
            f"the tail was cut: the head outside says {plural(outside.count, 'event')},"
            f" the log has {expected}",
        )
    elif outside_mac is not None and not hmac.compare_digest(outside_mac, outside.mac):
        yield outside.count - 1, "it is not the event that the head outside remembers"
    if outside is not None and outside.alarm is not None:
        yield min(outside.alarm.had, expected), outside.alarm.told()
