"""Retention carried out: payloads that have had their time leave the log, behind a checkpoint.

A session is touched only when its chain verifies. Where it stands is folded anew from its events, written as
a `checkpoint` into it and into every fork that stands on it, and only then do payloads go, in the same
transaction. Their places, times, kinds and digests stay, a `forgotten` event names them, and the chain still
verifies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fazm_memory.log.entries import Entry
from fazm_memory.log.forget import give_back, ranges_of
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.log.verify import verify
from fazm_memory.log.writer import Writer
from fazm_memory.model import retention
from fazm_memory.model.payloads import Checkpoint, Forgotten
from fazm_memory.model.retention import SETTLED, TRANSIENT, Held, Policy
from fazm_memory.model.state import to_plain

REASON = "retention"
WORTH = 0.1  # share of the file that must be free before it is rewritten without its free pages


@dataclass
class Plan:
    """What would go, session by session, and why nothing else does."""

    chosen: dict[int, list[Held]] = field(default_factory=dict)
    size: int = 0

    def all(self) -> Iterator[Held]:
        return (one for held in self.chosen.values() for one in held)

    @property
    def bytes(self) -> int:
        return sum(one.size for one in self.all())

    def to_json(self) -> dict[str, Any]:
        return {
            "sessions": len(self.chosen),
            "events": sum(len(held) for held in self.chosen.values()),
            "bytes": self.bytes,
            "store_bytes": self.size,
            "by_kind": dict(retention.by_group(self.all())),
        }


def plan(
    store: Store, policy: Policy, now: int, *, progress: Callable[[int], None] = lambda done: None
) -> Plan:
    """What the policy lets go now. Sessions too young for any of it cost one row each."""
    made = Plan(size=store_size(store))
    rows = store.sessions.listing(limit=None, background=True)
    earliest = policy.earliest(now)
    for done, row in enumerate(rows):
        progress(done)
        if row.opened_at < earliest:
            gone = retention.due(policy, held(store, row), now, archived=row.lifecycle == "archived")
            if gone:
                made.chosen[row.n] = gone
    limit = policy.megabytes << 20
    if limit and made.size - made.bytes > limit:
        _make_room(store, [row for row in reversed(rows) if row.last_at < now - SETTLED], limit, made)
    return made


def _make_room(store: Store, oldest_first: list[SessionRow], limit: int, made: Plan) -> None:
    wanted = made.size - made.bytes - limit
    for row in oldest_first:
        if wanted <= 0:
            return
        already = {one.seq for one in made.chosen.get(row.n, ())}
        left = [one for one in held(store, row) if one.seq not in already]
        more = retention.for_room(left, wanted)
        if more:
            made.chosen[row.n] = sorted([*made.chosen.get(row.n, []), *more], key=lambda one: one.seq)
            wanted -= sum(one.size for one in more)


def held(store: Store, row: SessionRow) -> Iterator[Held]:
    """The transient payloads a session still has, in order; their sizes are read without reading them."""
    kinds = sorted(TRANSIENT)
    rows = store.db.execute(
        "SELECT id, kind, at, length(payload) FROM event WHERE id >= ? AND id <= ? AND payload IS NOT NULL"
        f" AND kind IN ({','.join('?' * len(kinds))}) ORDER BY id",
        (event_id(row.n, 0), event_id(row.n, SEQ_MASK), *kinds),
    )
    return (Held(one[0] & SEQ_MASK, one[1], one[2], one[3]) for one in rows.fetchall())


def carry_out(
    store: Store, made: Plan, now: int, *, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """Let go of what a plan names. A session that does not verify is left as it is, and named."""
    left_alone: list[str] = []
    gone = 0
    unindexed: list[int] = []
    for done, (number, chosen) in enumerate(made.chosen.items()):
        progress(done)
        if not verify(store.log, only=number).clean:
            left_alone.append(_name(store, number))
            continue
        seqs = [one.seq for one in chosen]
        gone += _let_go(store, number, seqs, now)
        unindexed += [event_id(number, seq) for seq in seqs]
    if unindexed:  # once for all: taking out anything reads and rewrites the whole index
        with store.db.transaction():
            store.search.documents.remove(unindexed)
    if gone and _worth_rewriting(store):
        give_back(store)
    return {"forgotten": gone, "left_alone": left_alone, "store_bytes_after": store_size(store)}


def _let_go(store: Store, number: int, seqs: list[int], now: int) -> int:
    with store.writing() as writer:
        session = writer.head(number).id
        for one, id_ in _descendants(store, session):
            _checkpoint(store, writer, one, id_, now)
        trust = _checkpoint(store, writer, number, session, now)
        ranges = ranges_of(seqs)
        for low, high in ranges:
            store.db.execute(
                "UPDATE event SET payload=NULL WHERE id >= ? AND id < ?",
                (event_id(number, low), event_id(number, high)),
            )
        told = Forgotten(count=len(seqs), reason=REASON, ranges=tuple(ranges))
        writer.append(writer.head(number), Entry("forgotten", told, now, "system", "companion", trust))
    return len(seqs)


def _checkpoint(store: Store, writer: Writer, number: int, session: str, now: int) -> str:
    """Write down where a session stands, folded from its events alone: no cached fold is trusted.

    Returns how far the session is believed: housekeeping about it makes that neither more nor less.
    """
    store.snapshots.drop(number)
    head = writer.head(number)
    state = store.snapshots.state_at(number, session, head.head)
    entry = Entry("checkpoint", Checkpoint(to_plain(state)), now, "system", "companion", state.trust)
    writer.append(head, entry)
    return state.trust


def _descendants(store: Store, session: str) -> Iterator[tuple[int, str]]:
    for child in store.sessions.children(session):
        yield child.n, child.id
        yield from _descendants(store, child.id)


def _name(store: Store, number: int) -> str:
    return str(store.db.execute("SELECT id FROM session WHERE n=?", (number,)).fetchone()[0])


def store_size(store: Store) -> int:
    """Bytes of the log's file."""
    pages, size = (store.db.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
    return int(pages) * int(size)  # the cipher tells its page size as text


def _worth_rewriting(store: Store) -> bool:
    free = store.db.execute("PRAGMA freelist_count").fetchone()[0]
    return bool(free > WORTH * store.db.execute("PRAGMA page_count").fetchone()[0])
