"""Forgetting: payloads leave the log, the index, the snapshots and the free pages; the chain stays whole.

What remains of a forgotten event is its place, its time, its kind and the digest that the chain needs. A
`forgotten` event says which positions and why, so that a payload taken away by others is still noticed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from fazm_memory.errors import StoreBusy
from fazm_memory.log.entries import Entry
from fazm_memory.log.eventlog import Writer
from fazm_memory.log.store import Store
from fazm_memory.log.tables import event_id
from fazm_memory.log.words import words_of
from fazm_memory.model import codec
from fazm_memory.model.events import Event
from fazm_memory.model.fold import fold, initial
from fazm_memory.model.payloads import Forgotten

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


def choose_events(
    store: Store,
    session: str | None,
    *,
    since: int | None = None,
    until: int | None = None,
    match: str | None = None,
    seqs: Collection[int] | None = None,
) -> dict[int, list[int]]:
    """The positions that a session, a time and a text name together, by session number."""
    wanted = None if seqs is None else frozenset(seqs)
    low, high = (0, None) if not wanted else (min(wanted), max(wanted) + 1)
    rows = (
        store.sessions.listing(limit=None, background=True)
        if session is None
        else [store.sessions.resolve(session)]
    )
    chosen: dict[int, list[int]] = {}
    for row in rows:
        if since is not None and row.last_at < since:
            continue
        found = [
            event.seq
            for event in store.log.slice(row.n, row.id, low, high)
            if event.payload is not None
            and (wanted is None or event.seq in wanted)
            and event.kind != "forgotten"
            and (since is None or event.at >= since)
            and (until is None or event.at < until)
            and (match is None or match.lower() in _everything(event).lower())
        ]
        if found:
            chosen[row.n] = found
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
    """Forget these positions of these sessions (by number); how many payloads went."""
    gone = 0
    with store.writing() as writer:
        for number, seqs in _with_checkpoints(store, chosen).items():
            head = writer.head(number)
            held = _held(store, number, ranges_of(seqs))
            if not held:
                continue
            ranges = ranges_of(held)
            for low, high in ranges:
                store.db.execute(
                    "UPDATE event SET payload=NULL WHERE id >= ? AND id < ?",
                    (event_id(number, low), event_id(number, high)),
                )
                store.db.execute(
                    "DELETE FROM fact WHERE session=? AND seq >= ? AND seq < ?", (number, low, high)
                )
            store.search.documents.remove(event_id(number, seq) for seq in held)
            store.db.execute("DELETE FROM failed_call WHERE session=?", (number,))
            payload = Forgotten(count=len(held), reason=reason, ranges=tuple(ranges))
            writer.append(head, Entry("forgotten", payload, at, "person", source, "user"))
            # What was folded from the forgotten must go too, here and in every fork that inherited it.
            _drop_folds(store, writer, head.id, number)
            gone += len(held)
            if _nothing_left(store, number):
                store.db.execute("UPDATE session SET forgotten=1 WHERE n=?", (number,))
            # The row's title may be a forgotten prompt: call the session by what is left of it.
            left = (event for event in store.log.slice(number, head.id) if event.kind in NAMING)
            rest = fold(initial(head.id), left)
            head.title, head.workspace = rest.title, rest.workspace
    if gone:
        give_back(store)
    return gone


def _with_checkpoints(store: Store, chosen: dict[int, list[int]]) -> dict[int, list[int]]:
    """These positions and every checkpoint that was folded from them, also in forks: it holds them still."""
    wanted = {number: set(seqs) for number, seqs in chosen.items()}
    for number, seqs in chosen.items():
        reach = [(number, min(seqs))] if seqs else []
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


def _held(store: Store, number: int, ranges: list[tuple[int, int]]) -> list[int]:
    held: list[int] = []
    for low, high in ranges:
        rows = store.db.execute(
            "SELECT id FROM event WHERE id >= ? AND id < ? AND payload IS NOT NULL AND kind <> 'forgotten'",
            (event_id(number, low), event_id(number, high)),
        )
        held += [row[0] - event_id(number, 0) for row in rows]
    return held


def _drop_folds(store: Store, writer: Writer, session: str, number: int) -> None:
    store.snapshots.drop(number)
    writer.changed.add(writer.head(number).n)
    for child in store.sessions.children(session):
        _drop_folds(store, writer, child.id, child.n)


def _nothing_left(store: Store, number: int) -> bool:
    row = store.db.execute(
        "SELECT 1 FROM event WHERE id >= ? AND id < ? AND payload IS NOT NULL AND kind <> 'forgotten'"
        " LIMIT 1",
        (event_id(number, 0), event_id(number + 1, 0)),
    ).fetchone()
    return row is None


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
