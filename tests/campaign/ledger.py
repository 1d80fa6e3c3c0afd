"""The account after a disaster: what was acknowledged, and what is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fazm_memory.log.store import Store
from fazm_memory.log.verify import verify
from fazm_memory.model.payloads import Message


@dataclass(frozen=True)
class Account:
    acknowledged: int
    lost: tuple[str, ...]
    findings: tuple[str, ...]
    events: int

    @property
    def settled(self) -> bool:
        return not self.lost and not self.findings


def settle(home: Path, acks: Iterable[str]) -> Account:
    """Open the store as anybody would, and compare: every acknowledged event at its place with its text."""
    store = Store(home, key="file")
    try:
        report = verify(store.log)
        findings = [f"{one.session} {one.seq}: {one.what}" for one in report.findings]
        check = store.db.execute("PRAGMA integrity_check").fetchone()[0]
        present: dict[tuple[str, int], str | None] = {}
        for row in store.sessions.listing(limit=None):
            seqs = []
            for event in store.log.slice(row.n, row.id):
                seqs.append(event.seq)
                present[row.id, event.seq] = (
                    event.payload.text if isinstance(event.payload, Message) else None
                )
            if seqs != list(range(row.head)):
                findings.append(f"{row.id}: positions are not dense")
        if check != "ok":
            findings.append(f"integrity_check: {check}")
    finally:
        store.close()
    told = [line.split(" ", 2) for line in acks]
    lost = [
        " ".join(line)
        for line in told
        if (line[0], int(line[1])) not in present or present[line[0], int(line[1])] not in (None, line[2])
    ]
    return Account(len(told), tuple(lost), tuple(findings), len(present))
