"""Forgetting: payloads leave the log, the index, the snapshots and the free pages; the chain stays whole.

What remains of a forgotten event is its place, its time, its kind and the digest that the chain needs, and of
one that says how others are read its bones (`model/structure.py`). A `forgotten` event says which positions
and why, and the digests of the bones, so that a payload taken away or altered by others is still noticed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from fazm_memory.errors import StoreBusy
from fazm_memory.log import chain
from fazm_memory.log.entries import Entry, SessionHead
from fazm_memory.log.rows import pack
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.log.words import words_of
from fazm_memory.log.writer import Writer
from fazm_memory.model import codec
from fazm_memory.model.events import Event
from fazm_memory.model.fold import fold, initial
from fazm_memory.model.payloads import Forgotten
from fazm_memory.model.structure import BONES, WORDLESS, bones, is_bare

NAMING = frozenset({"session.open", "session.title", "prompt"})  # kinds that a session's row is called by


def ranges_of(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Positions as half-open ranges."""
    ranges: list[tuple[int, int]] = []
    for seq in sorted(set(seqs)):
        if ranges and ranges[-1][1] == seq:
            ranges[-1] = (ranges[-1][0], seq + 1)
        else:
            ranges.append((seq, seq + 1))
    return ranges


@dataclass
class Chosen:
    """What is to be forgotten: positions by session number. `kept` counts the events among what was asked for
    that leave their bones, or have nothing else."""

    seqs: dict[int, list[int]] = field(default_factory=dict)
    kept: int = 0


def choose_events(
    store: Store,
    session: str | None,
    *,
    since: int | None = None,
    until: int | None = None,
    match: str | None = None,
    seqs: Collection[int] | None = None,
) -> Chosen:
    """What a session, a time and a text name together."""
    wanted = None if seqs is None else frozenset(seqs)
    low, high = (0, None) if not wanted else (min(wanted), max(wanted) + 1)
    rows = (
        store.sessions.listing(limit=None, background=True)
        if session is None
        else [store.sessions.resolve(session)]
    )
    chosen = Chosen()
    for row in rows:
        if since is not None and row.last_at < since:
            continue
        found = (
            event
            for event in store.log.slice(row.n, row.id, low, high)
            if event.payload is not None
            and (wanted is None or event.seq in wanted)
            and event.kind != "forgotten"
            and (since is None or event.at >= since)
            and (until is None or event.at < until)
            and (match is None or (not is_bare(event) and match.lower() in _everything(event).lower()))
        )
        worded: list[int] = []
        for event in found:  # one at a time: a long session need not fit into memory
            chosen.kept += bones(event.kind, event.payload) is not None
            if not is_bare(event):
                worded.append(event.seq)
        if worded:
            chosen.seqs[row.n] = worded
    return chosen


def _everything(event: Event) -> str:
    """All the text of an event, for matching what must be forgotten: more than search indexes."""
    return json.dumps(codec.encode(event.payload), ensure_ascii=False) + " " + words_of(event)


def files_named(store: Store, chosen: dict[int, list[int]]) -> set[str]:
    """The files that these events touched: their kept versions go with them."""
    paths: set[str] = set()
    for number, seqs in chosen.items():
        wanted = set(seqs)
        for event in store.log.slice(number, "", min(wanted), max(wanted) + 1):
            if event.seq not in wanted or event.payload is None:
                continue
            if event.kind in ("action", "action.amend"):
                for touch in event.payload.files:
                    paths |= {touch.path, touch.origin or ""}
            elif event.kind == "file":
                paths |= {event.payload.path, event.payload.origin or ""}
    return paths - {""}


def forget_events(store: Store, chosen: dict[int, list[int]], *, reason: str, at: int, source: str) -> int:
    """Forget these positions of these sessions (by number); how many events lost what they said."""
    gone = 0
    with store.writing() as writer:
        for number, seqs in _with_checkpoints(store, chosen).items():
            head = writer.head(number)
            kinds = _held(store, number, ranges_of(seqs))
            left, bare = _reduce(store, head, kinds)
            held = [seq for seq in kinds if seq not in bare]
            if not held:
                continue
            ranges = ranges_of(seq for seq in held if str(seq) not in left)
            for low, high in ranges:
                store.db.execute(
                    "UPDATE event SET payload=NULL WHERE id >= ? AND id < ?",
                    (event_id(number, low), event_id(number, high)),
                )
                for table in ("fact", "failed_call"):
                    store.db.execute(
                        f"DELETE FROM {table} WHERE session=? AND seq >= ? AND seq < ?", (number, low, high)
                    )
            store.search.documents.remove(event_id(number, seq) for seq in held)
            payload = Forgotten(count=len(held), reason=reason, ranges=tuple(ranges), left=left)
            writer.append(head, Entry("forgotten", payload, at, "person", source, "user"))
            # What was folded from the forgotten must go too, here and in every fork that inherited it.
            _drop_folds(store, writer, head.id, number)
            gone += len(held)
            if _nothing_left(store, head):
                store.db.execute("UPDATE session SET forgotten=1 WHERE n=?", (number,))
            # The row's title may be a forgotten prompt: call the session by what is left of it.
            naming = (event for event in store.log.slice(number, head.id) if event.kind in NAMING)
            rest = fold(initial(head.id), naming)
            head.title, head.workspace = rest.title, rest.workspace
    if gone:
        give_back(store)
    return gone


def _with_checkpoints(store: Store, chosen: dict[int, list[int]]) -> dict[int, list[int]]:
    """These positions and every checkpoint that was folded from them, also in forks: it holds them still."""
    wanted = {number: set(seqs) for number, seqs in chosen.items()}
    for number, seqs in chosen.items():
        held = _held(store, number, ranges_of(seqs))
        reach = [(number, seq) for seq, kind in held.items() if kind not in WORDLESS][:1]
        while reach:
            one, first = reach.pop()
            rows = store.db.execute(
                "SELECT id FROM event WHERE id > ? AND id < ? AND kind='checkpoint' AND payload IS NOT NULL",
                (event_id(one, first), event_id(one + 1, 0)),
            ).fetchall()
            if rows:
                wanted.setdefault(one, set()).update(row[0] - event_id(one, 0) for row in rows)
            id_ = store.db.execute("SELECT id FROM session WHERE n=?", (one,)).fetchone()[0]
            reach += [(child.n, 0) for child in store.sessions.children(id_)]
    return {number: sorted(seqs) for number, seqs in wanted.items()}


def _held(store: Store, number: int, ranges: list[tuple[int, int]]) -> dict[int, str]:
    """The positions that have a payload, in order, with their kinds."""
    held: dict[int, str] = {}
    for low, high in ranges:
        rows = store.db.execute(
            "SELECT id, kind FROM event WHERE id >= ? AND id < ? AND payload IS NOT NULL"
            " AND kind <> 'forgotten' ORDER BY id",
            (event_id(number, low), event_id(number, high)),
        )
        held |= {row[0] - event_id(number, 0): row[1] for row in rows}
    return held


def _reduce(store: Store, head: SessionHead, held: dict[int, str]) -> tuple[dict[str, str], set[int]]:
    """Take the words from events that say how others are read: by position the digest of what is left, and
    the positions of those that have no words and stay as they are."""
    left: dict[str, str] = {}
    bare: set[int] = set()
    for seq in [seq for seq, kind in held.items() if kind in BONES]:
        event = next(store.log.slice(head.n, head.id, seq, seq + 1))
        rest = bones(event.kind, event.payload)
        if rest is None:
            continue
        if rest == event.payload:
            bare.add(seq)
            continue
        stored = pack(codec.to_bytes(rest))
        store.db.execute("UPDATE event SET payload=? WHERE id=?", (stored, event_id(head.n, seq)))
        left[str(seq)] = chain.digest_of(stored).hex()
    return left, bare


def _drop_folds(store: Store, writer: Writer, session: str, number: int) -> None:
    store.snapshots.drop(number)
    writer.changed.add(writer.head(number).n)
    for child in store.sessions.children(session):
        _drop_folds(store, writer, child.id, child.n)


def _nothing_left(store: Store, head: SessionHead) -> bool:
    """Whether no event has anything left but its bones."""
    marks = ",".join("?" * len(BONES))
    rows = store.db.execute(
        f"SELECT id & ?, kind IN ({marks}) FROM event WHERE id >= ? AND id < ? AND payload IS NOT NULL"
        " AND kind <> 'forgotten' ORDER BY id",
        (SEQ_MASK, *BONES, event_id(head.n, 0), event_id(head.n + 1, 0)),
    )
    return all(
        structural and is_bare(next(store.log.slice(head.n, head.id, seq, seq + 1)))
        for seq, structural in rows
    )


def give_back(store: Store) -> None:
    """Rewrite the database without its free pages, and empty the write-ahead log into it."""
    kept = "it is forgotten, but old pages of it, encrypted, are kept as long as another process reads"
    hint = "they go with the next thing that is forgotten once nobody reads any more"
    try:
        store.db.execute("VACUUM")
    except StoreBusy as error:
        raise StoreBusy(kept, hint=hint) from error
    blocked = store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if blocked:
        raise StoreBusy(kept, hint=hint)
