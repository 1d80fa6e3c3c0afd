"""The account after a disaster: what was acknowledged, and what is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fazm_memory.events.event import Event, Message
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from tests.campaign.writer import FORGOTTEN


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
    """Open the store as anybody would, and compare: every acknowledged event at its place with its text.

    A payload may be gone if forgetting it was begun; that nobody else took it, the log itself verifies.
    """
    store = Store(home, key="file")
    try:
        report = verify_store(store.log)
        findings = [f"{one.session} {one.seq}: {one.what}" for one in report.findings]
        check = store.db.execute("PRAGMA integrity_check").fetchone()[0]
        present: dict[tuple[str, int], str] = {}
        for row in store.sessions.listing(limit=None):
            seqs = []
            for event in store.log.slice(row.n, row.id):
                seqs.append(event.seq)
                present[row.id, event.seq] = text_of(event)
            if seqs != list(range(row.head)):
                findings.append(f"{row.id}: positions are not dense")
        if check != "ok":
            findings.append(f"integrity_check: {check}")
    finally:
        store.close()
    results = {}
    for line in acks:
        session, seq, text = line.split(" ", 2)
        results[session, int(seq)] = text
    lost = [
        f"{session} {seq} {text}"
        for (session, seq), text in results.items()
        if present.get((session, seq)) not in (FORGOTTEN, *(() if text == FORGOTTEN else (text, "")))
    ]
    return Account(len(results), tuple(lost), tuple(findings), len(present))


def text_of(event: Event) -> str:
    """What an event says; nothing, if it is of a kind that has no text of its own."""
    if event.payload is None:
        return FORGOTTEN
    return event.payload.text if isinstance(event.payload, Message) else ""
