"""Retention: old payloads are removed from the log, after a checkpoint.

Only sessions whose chain verifies are changed. The state is folded from the events and written as a
`checkpoint` into the session and its forks; then payloads are removed in the same transaction. Positions,
times, kinds and digests stay, a `forgotten` event names them, and the chain still verifies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fazm_memory.events import (
    RECENTLY_ACTIVE,
    TRANSIENT,
    Checkpoint,
    Forgotten,
    RetentionPolicy,
    StoredPayload,
    expired,
    oldest_payloads,
    totals_by_group,
)
from fazm_memory.records import dataclass, field
from fazm_memory.session import to_plain
from fazm_memory.store.event_log import SEQ_MASK, NewEvent, event_id
from fazm_memory.store.forget import ranges_of, vacuum
from fazm_memory.store.sessions import SessionRow
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from fazm_memory.store.writer import Writer

REASON = "retention"
WORTH = 0.1  # share of the file that must be free before it is rewritten without its free pages


@dataclass
class RetentionPlan:
    """The payloads to remove, by session number."""

    chosen: dict[int, list[StoredPayload]] = field(default_factory=dict)
    size: int = 0

    def all(self) -> Iterator[StoredPayload]:
        return (payload for payloads in self.chosen.values() for payload in payloads)

    @property
    def bytes(self) -> int:
        return sum(payload.size for payload in self.all())

    def to_json(self) -> dict[str, Any]:
        return {
            "sessions": len(self.chosen),
            "events": sum(len(payloads) for payloads in self.chosen.values()),
            "bytes": self.bytes,
            "store_bytes": self.size,
            "by_kind": dict(totals_by_group(self.all())),
        }


def plan(
    store: Store, policy: RetentionPolicy, now: int, *, progress: Callable[[int], None] = lambda done: None
) -> RetentionPlan:
    """What the policy removes now. Sessions that are too young cost one row each."""
    result = RetentionPlan(size=store_size(store))
    # Those of other machines follow the policy there.
    rows = [row for row in store.sessions.listing(limit=None, background=True) if row.device is None]
    earliest = policy.earliest(now)
    arrivals = Arrivals(store, now)
    for done, row in enumerate(rows):
        progress(done)
        if arrivals.floor(row.n) < earliest:
            payloads = transient_payloads(store, row, arrivals)
            gone = expired(policy, payloads, now, archived=row.lifecycle == "archived")
            if gone:
                result.chosen[row.n] = gone
    limit = policy.megabytes << 20
    if limit and result.size - result.bytes > limit:
        idle = [row for row in reversed(rows) if row.last_at < now - RECENTLY_ACTIVE]
        idle = [row for row in idle if arrivals.floor(row.n) < now - RECENTLY_ACTIVE]
        recent = [row for row in reversed(rows) if row not in idle]
        _make_room(store, [*idle, *recent], limit, result, arrivals)
    return result


def _make_room(
    store: Store, first_to_last: list[SessionRow], limit: int, result: RetentionPlan, arrivals: Arrivals
) -> None:
    """Choose more payloads until the log is below its limit.

    Recent sessions come last, but they do come.
    """
    wanted = result.size - result.bytes - limit
    for row in first_to_last:
        if wanted <= 0:
            return
        chosen = result.chosen.get(row.n, [])
        already = {payload.seq for payload in chosen}
        left = [payload for payload in transient_payloads(store, row, arrivals) if payload.seq not in already]
        more = oldest_payloads(left, wanted)
        if more:
            result.chosen[row.n] = sorted([*chosen, *more], key=lambda payload: payload.seq)
            wanted -= sum(payload.size for payload in more)


class Arrivals:
    """When events arrived here, as far as it is known. Their age counts from there.

    The clock may have been wrong. An event arrived no earlier than those before it: so a clock that was
    behind for a while makes nothing old. A time after now is not believed: then the next one that is counts,
    or now. So a clock that was ahead makes nothing old either, and nothing stays for ever.
    """

    def __init__(self, store: Store, now: int) -> None:
        self.db, self.now = store.db, now
        self._floors: dict[int, int] = {}
        floor = 0
        for number, at in self.db.execute("SELECT session, at FROM arrival ORDER BY session").fetchall():
            floor = max(floor, at) if at <= now else floor
            self._floors[number] = floor

    def floor(self, number: int) -> int:
        """The earliest time at which an event of a session can have arrived."""
        return self._floors.get(number, 0)

    def of(self, number: int, dated: list[tuple[int, int]]) -> list[int]:
        """The arrival of events, given as position and time, in their order."""
        receipts = self._rows("SELECT seq, at FROM receipt WHERE session=? ORDER BY seq", (number,))
        claims = {
            seq for (seq,) in self._rows(
                "SELECT event & ? FROM claimed WHERE event >= ? AND event < ?",
                (SEQ_MASK, event_id(number, 0), event_id(number + 1, 0)),
            )
        }  # fmt: skip
        floor, found, waiting = self.floor(number), [], []
        for nth, (seq, at) in enumerate(dated):
            while receipts and receipts[0][0] <= seq:
                noted = receipts.pop(0)[1]
                floor = max(floor, noted) if noted <= self.now else floor
            if at <= self.now:
                floor = max(floor, at)
            elif seq not in claims:  # recorded while our clock was ahead
                waiting.append(nth)
                found.append(self.now)
                continue
            for earlier in waiting:
                found[earlier] = floor
            waiting.clear()
            found.append(floor)
        return found

    def _rows(self, query: str, values: tuple[int, ...]) -> list[tuple[int, ...]]:
        return list(self.db.execute(query, values).fetchall())


def transient_payloads(store: Store, row: SessionRow, arrivals: Arrivals) -> list[StoredPayload]:
    """The payloads of a session that may be removed, with size and arrival, in order."""
    kinds = sorted(TRANSIENT)
    rows = store.db.execute(
        "SELECT id & ?, kind, at, length(payload) FROM event WHERE id >= ? AND id <= ?"
        f" AND payload IS NOT NULL AND kind IN ({','.join('?' * len(kinds))}) ORDER BY id",
        (SEQ_MASK, event_id(row.n, 0), event_id(row.n, SEQ_MASK), *kinds),
    ).fetchall()
    times = arrivals.of(row.n, [(seq, at) for seq, _, at, _ in rows])
    return [StoredPayload(seq, kind, at, size) for (seq, kind, _, size), at in zip(rows, times, strict=True)]


def apply_plan(
    store: Store, made: RetentionPlan, now: int, *, progress: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """Remove what a plan names.

    Sessions that do not verify are left alone and reported.
    """
    left_alone: list[str] = []
    gone = 0
    unindexed: list[int] = []
    for done, (number, chosen) in enumerate(made.chosen.items()):
        progress(done)
        if not verify_store(store.log, only=number).clean:
            left_alone.append(_name(store, number))
            continue
        seqs = [payload.seq for payload in chosen]
        gone += _remove_payloads(store, number, seqs, now)
        unindexed += [event_id(number, seq) for seq in seqs]
    if unindexed:  # once, because a removal rewrites the whole index
        with store.db.transaction():
            store.search.documents.remove(unindexed)
    if gone and _worth_rewriting(store):
        vacuum(store)
    return {"forgotten": gone, "left_alone": left_alone, "store_bytes_after": store_size(store)}


def _remove_payloads(store: Store, number: int, seqs: list[int], now: int) -> int:
    with store.writing() as writer:
        session = writer.head(number).id
        for child, id_ in _descendants(store, session):
            _checkpoint(store, writer, child, id_, now)
        trust = _checkpoint(store, writer, number, session, now)
        ranges = ranges_of(seqs)
        for low, high in ranges:
            store.db.execute(
                "UPDATE event SET payload=NULL WHERE id >= ? AND id < ?",
                (event_id(number, low), event_id(number, high)),
            )
        payload = Forgotten(count=len(seqs), reason=REASON, ranges=tuple(ranges))
        writer.append(writer.head(number), NewEvent("forgotten", payload, now, "system", "companion", trust))
    return len(seqs)


def _checkpoint(store: Store, writer: Writer, number: int, session: str, now: int) -> str:
    """Write the state of a session, folded from events alone. Return its trust."""
    store.snapshots.drop(number)
    head = writer.head(number)
    state = store.snapshots.state_at(number, session, head.head)
    entry = NewEvent("checkpoint", Checkpoint(to_plain(state)), now, "system", "companion", state.trust)
    writer.append(head, entry)
    return state.trust


def _descendants(store: Store, session: str) -> Iterator[tuple[int, str]]:
    for child in store.sessions.children(session):
        if child.device is None:
            yield child.n, child.id
        yield from _descendants(store, child.id)


def _name(store: Store, number: int) -> str:
    return str(store.db.execute("SELECT id FROM session WHERE n=?", (number,)).fetchone()[0])


def store_size(store: Store) -> int:
    """Bytes of the log's file."""
    pages, size = (store.db.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
    return int(pages) * int(size)  # SQLCipher returns its page size as text


def _worth_rewriting(store: Store) -> bool:
    free = store.db.execute("PRAGMA freelist_count").fetchone()[0]
    return bool(free > WORTH * store.db.execute("PRAGMA page_count").fetchone()[0])
