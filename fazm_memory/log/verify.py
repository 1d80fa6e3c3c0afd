"""Verification: every payload against its digest, every event against the chain, every head against the
copy kept outside.

A finding names the event. Checking on from the last verified position costs what was added since; a full
check trusts nothing that was verified before.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fazm_memory.log import chain
from fazm_memory.log.database import told
from fazm_memory.log.eventlog import EventLog
from fazm_memory.log.rows import EVENT_COLUMNS, unpack
from fazm_memory.log.tables import SEQ_MASK, event_id


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
    had_outside = log.outside.exists()
    heads, altered = log.outside.read_all()
    rows = log.db.execute("SELECT n, id, head, mac, verified FROM session ORDER BY n").fetchall()
    for number in altered:
        report.findings.append(Finding(f"#{number}", None, "its head outside the database was altered"))
    if rows and not had_outside:
        report.findings.append(
            Finding(
                "*", None, "the heads kept outside the database are missing: a cut tail cannot be ruled out"
            )
        )
    listed = {row[0] for row in rows}
    for number in sorted(set(heads) - listed):
        report.findings.append(Finding(f"#{number}", None, "the whole session is missing from the database"))
    _orphans(log, listed, report)
    for number, session, head, mac, verified in rows:
        if only is not None and number != only:
            continue
        before = len(report.findings)
        start = 0 if full else verified
        outside = heads.get(number)
        for seq, what in _session(log, number, session, head, bytes(mac), start, outside, report, progress):
            report.findings.append(Finding(session, seq, what))
        report.sessions += 1
        if len(report.findings) == before and verified != head:
            log.db.execute("UPDATE session SET verified=? WHERE n=?", (head, number))
    return report


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
    head: int,
    mac: bytes,
    start: int,
    outside: chain.Head | None,
    report: Report,
    progress: Callable[[int], None],
) -> Iterator[tuple[int | None, str]]:
    prev = log._mac_before(number, session, start)
    expected = start
    gone: list[int] = []
    allowed: list[tuple[int, int]] = []
    outside_mac: bytes | None = None
    cursor = log.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id <= ? ORDER BY id",
        (event_id(number, start), event_id(number, SEQ_MASK)),
    )
    for row in cursor:
        id_, at, turn, kind, version, actor, source, trust, key, stored, digest, stored_mac = row
        seq = id_ & SEQ_MASK
        if seq != expected:
            missing = f"{expected}" if seq == expected + 1 else f"{expected} to {seq - 1}"
            yield expected, f"missing: position {missing} is not there"
            expected = seq
        if stored is None:
            gone.append(seq)
        elif not hmac.compare_digest(chain.digest_of(stored), bytes(digest)):
            yield seq, "its payload was altered"
        elif kind == "forgotten":
            allowed += [(low, high) for low, high in json.loads(unpack(stored)).get("ranges", [])]
        made = chain.link(log.key, prev, bytes(digest), session, seq, at, turn, kind, version, actor, source,
                          trust, key)  # fmt: skip
        if not hmac.compare_digest(made, bytes(stored_mac)):
            yield seq, "its envelope was altered, or it is not where it was written"
        prev = bytes(stored_mac)
        expected = seq + 1
        if outside is not None and expected == outside.count:
            outside_mac = prev
        report.events += 1
        if report.events % 1000 == 0:
            progress(report.events)
    report.forgotten += len(gone)
    if start and gone:
        allowed += _tombstones(log, number)
    for seq in gone:
        if not any(low <= seq < high for low, high in allowed):
            yield seq, "its payload is missing, and nobody asked to forget it"
    if expected != head:
        yield head, f"the session's row says {head} events, the log has {expected}"
    elif not hmac.compare_digest(prev, mac):
        yield head - 1, "the session's row does not carry the last event's mark"
    if outside is None:
        if head:
            yield head - 1, "the session has no head outside the database"
    elif outside.count > expected:
        yield (
            expected,
            f"the tail was cut: the head outside says {outside.count} events, the log has {expected}",
        )
    elif outside_mac is not None and not hmac.compare_digest(outside_mac, outside.mac):
        yield outside.count - 1, "it is not the event that the head outside remembers"


def _tombstones(log: EventLog, number: int) -> list[tuple[int, int]]:
    """Every range this session was told to forget."""
    rows = log.db.execute(
        "SELECT payload FROM event WHERE id >= ? AND id < ? AND kind='forgotten' AND payload IS NOT NULL",
        (event_id(number, 0), event_id(number + 1, 0)),
    ).fetchall()
    return [(low, high) for (stored,) in rows for low, high in json.loads(unpack(stored)).get("ranges", [])]
