"""Forgetting: remove payloads from log, index, snapshots and free pages.

The position, time, kind and digest of a forgotten event stay, so the chain still verifies. An event that
says how others are read also keeps its structure (see `events`). A `forgotten` event names the positions,
the reason and the digests of what is left, so that payloads removed or altered by others are still noticed.
A session that another machine records takes no events here: what is forgotten of it here is noted beside the
log, with a MAC, and the machine that records it adds the event.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Collection, Iterable, Iterator

from fazm_memory.errors import StoreBusy
from fazm_memory.events import (
    KINDS,
    KINDS_WITHOUT_TEXT,
    RETAINED_FIELDS,
    Event,
    Forgotten,
    codec,
    is_fully_retained,
    read_payload,
    retained_payload,
)
from fazm_memory.records import dataclass, field, replace
from fazm_memory.session import fold, initial_state, title_of
from fazm_memory.store import hash_chain
from fazm_memory.store.database import Database, frame_error
from fazm_memory.store.event_log import SEQ_MASK, NewEvent, SessionHead, event_id, pack, unpack
from fazm_memory.store.search_text import event_text
from fazm_memory.store.store import Store
from fazm_memory.store.writer import Writer
from fazm_memory.text import TextMatch


@dataclass
class Tombstones:
    """The forgotten positions of a session.

    `left` has the digests of what is left, by position.
    """

    ranges: list[tuple[int, int]] = field(default_factory=list)
    left: dict[int, str] = field(default_factory=dict)

    def add(self, stored: bytes, seq: int) -> None:
        """Add the `forgotten` event at a position.

        It covers earlier events only. Ignore unreadable ones.
        """
        try:
            payload = read_payload("forgotten", KINDS["forgotten"].version, json.loads(unpack(stored)))
            left = {int(position): str(digest) for position, digest in payload.left.items()}
        except (ValueError, TypeError, frame_error()):
            return
        self.ranges += [(pair[0], min(pair[1], seq)) for pair in payload.ranges if len(pair) == 2]
        self.left |= {position: digest for position, digest in left.items() if position < seq}

    def add_all(self, db: Database, number: int, stop: int = SEQ_MASK) -> None:
        """Add the tombstones before a position. The events there were checked already."""
        rows = db.execute(
            "SELECT payload, id FROM event WHERE id >= ? AND id < ? AND kind='forgotten'"
            " AND payload IS NOT NULL",
            (event_id(number, 0), event_id(number, stop)),
        ).fetchall()
        for stored, id_ in rows:
            self.add(stored, id_ & SEQ_MASK)

    def add_noted(self, db: Database, key: bytes, number: int, session: str) -> None:
        """Add what was forgotten here of a session that another machine records."""
        noted = read_noted(db, key, number, session)
        self.ranges += noted.ranges
        self.left |= noted.left

    def taken(self, gone: list[int]) -> Iterator[int]:
        """Which of these positions, in order, no `forgotten` event explains."""
        waiting, reach = sorted(self.ranges, reverse=True), 0
        for seq in gone:
            while waiting and waiting[-1][0] <= seq:
                reach = max(reach, waiting.pop()[1])
            if seq >= reach:
                yield seq


NOTED = "forgotten:"  # in `meta`, followed by the number of the session


def read_noted(db: Database, key: bytes, number: int, session: str) -> Tombstones:
    """The tombstones noted for a session of another machine.

    Without a valid MAC there are none.
    """
    row = db.execute("SELECT value FROM meta WHERE key=?", (f"{NOTED}{number}",)).fetchone()
    body, _, mac = ("" if row is None else str(row[0])).rpartition(" ")
    if not body or not hmac.compare_digest(mac, _noted_mac(key, session, body)):
        return Tombstones()
    raw = json.loads(body)
    return Tombstones(
        [(low, high) for low, high in raw["ranges"]], {int(k): v for k, v in raw["left"].items()}
    )


def noted_sessions(db: Database) -> list[int]:
    """Sessions of other machines of which something was forgotten here, by number."""
    rows = db.execute("SELECT key FROM meta WHERE key >= ? AND key < ?", (NOTED, NOTED + "\uffff")).fetchall()
    return [int(key.removeprefix(NOTED)) for (key,) in rows]


def _note(db: Database, key: bytes, head: SessionHead, payload: Forgotten) -> None:
    noted = read_noted(db, key, head.n, head.id)
    seqs = (seq for pair in (*noted.ranges, *payload.ranges) for seq in range(*pair))
    left = noted.left | {int(seq): digest for seq, digest in payload.left.items()}
    body = json.dumps({"ranges": ranges_of(seqs), "left": left})
    mark = _noted_mac(key, head.id, body)
    db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (f"{NOTED}{head.n}", f"{body} {mark}"))


def _noted_mac(key: bytes, session: str, body: str) -> str:
    return hash_chain.hmac_sha256(key, f"forgotten\0{session}\0{body}".encode()).hex()


NAMING = frozenset({"session.open", "session.title", "prompt"})  # kinds that name a session


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
class ForgetSelection:
    """Positions to forget by session number.

    `kept` counts events that keep their structure.
    """

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
) -> ForgetSelection:
    """The events that a session, a time and a text select together."""
    wanted_text = None if match is None else TextMatch(match)
    wanted = None if seqs is None else frozenset(seqs)
    low, high = (0, None) if not wanted else (min(wanted), max(wanted) + 1)
    rows = (
        store.sessions.listing(limit=None, background=True)
        if session is None
        else [store.sessions.resolve(session)]
    )
    chosen = ForgetSelection()
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
            and (wanted_text is None or (not is_fully_retained(event) and _has_text(event, wanted_text)))
        )
        with_text: list[int] = []
        for event in found:  # one at a time: a long session need not fit into memory
            chosen.kept += retained_payload(event.kind, event.payload) is not None
            if not is_fully_retained(event):
                with_text.append(event.seq)
        if with_text:
            chosen.seqs[row.n] = with_text
    return chosen


def _has_text(event: Event, match: TextMatch) -> bool:
    """Whether an event has a text anywhere: in more than search indexes."""
    encoded = codec.encode(event.payload)
    written = json.dumps(encoded, ensure_ascii=False)
    return match.in_text(f"{written} {event_text(event)}") or match.in_value(encoded)


def files_named(store: Store, chosen: dict[int, list[int]]) -> set[str]:
    """The files that these events touched. Their versions are deleted with them."""
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
    """Forget these positions of these sessions (by number).

    Return how many events lost content.
    """
    gone = 0
    with store.writing() as writer:
        for number, seqs in _with_checkpoints(store, chosen).items():
            head = writer.head(number)
            titles = _titles(store, head, seqs)
            payload = _remove(store, head, seqs, reason)
            if not payload.count:
                continue
            if head.device is None:
                writer.append(head, NewEvent("forgotten", payload, at, "person", source, "user"))
            else:
                _note(store.db, store.log.key, head, payload)
            _after_removal(store, writer, head)
            gone += payload.count + _forget_titles(store, writer, head, titles, at=at, source=source)
    if gone:
        vacuum(store)
    return gone


def follow_forgotten(
    store: Store, writer: Writer, head: SessionHead, event: Forgotten
) -> tuple[Forgotten, int]:
    """Forget in the copy of a session what its own machine has forgotten.

    Returns the event as it has to be stored here, and how many events lost content. The caller appends it
    and calls `vacuum` at the end.
    Checkpoints of our own forks that include the payloads are forgotten too, and titles that they inherited.
    """
    seqs = {seq for low, high in event.ranges for seq in range(low, min(high, head.head))}
    seqs |= {int(seq) for seq in event.left if int(seq) < head.head}
    titles = _titles(store, head, seqs)
    removed = _remove(store, head, sorted(seqs), event.reason)
    for number, more in _with_checkpoints(store, {head.n: sorted(seqs)}).items():
        fork = writer.head(number)
        if fork.device is None and (payload := _remove(store, fork, more, event.reason)).count:
            writer.append(fork, NewEvent("forgotten", payload, fork.last_at, "system", "companion", "user"))
    _after_removal(store, writer, head)
    _forget_titles(store, writer, head, titles, at=None, source="companion")
    return replace(event, left=removed.left), removed.count


def _remove(store: Store, head: SessionHead, seqs: list[int], reason: str) -> Forgotten:
    """Remove payloads from the log, the index and the facts.

    Return the event that says so.
    """
    kinds = _kinds_with_payload(store, head.n, ranges_of(seqs))
    left, bare = _reduce(store, head, kinds)
    forgotten = [seq for seq in kinds if seq not in bare]
    ranges = ranges_of(seq for seq in forgotten if str(seq) not in left)
    for low, high in ranges:
        store.db.execute(
            "UPDATE event SET payload=NULL WHERE id >= ? AND id < ?",
            (event_id(head.n, low), event_id(head.n, high)),
        )
        for table in ("fact", "failed_call"):
            store.db.execute(
                f"DELETE FROM {table} WHERE session=? AND seq >= ? AND seq < ?", (head.n, low, high)
            )
    store.search.documents.remove(event_id(head.n, seq) for seq in forgotten)
    return Forgotten(count=len(forgotten), reason=reason, ranges=tuple(ranges), left=left)


def _after_removal(store: Store, writer: Writer, head: SessionHead) -> None:
    """Drop and fold again what was derived from removed payloads."""
    _drop_folds(store, writer, head.id, head.n)  # also in forks
    writer.behind.add(head.n)
    # Both ways: other machines follow the same events with other payloads at hand.
    writer.set_forgotten(head, _nothing_left(store, head))
    delete = "DELETE FROM meta WHERE key=?"
    if head.forgotten and store.db.execute(delete, (f"own-folder:{head.n}",)).rowcount:
        store.db.execute(delete, (f"folder:{head.workspace}",))
    # The title may be a forgotten prompt: fold it again from what is left.
    naming = (event for event in store.log.slice(head.n, head.id) if event.kind in NAMING)
    rest = fold(initial_state(head.id), naming)
    head.title, head.workspace = rest.title, rest.workspace


INHERITED = "the title of the session that it was forked from"


def _titles(store: Store, head: SessionHead, seqs: Iterable[int]) -> set[str]:
    """The titles that these events gave to their session and to its forks."""
    found: set[str | None] = set()
    for seq, kind in _kinds_with_payload(store, head.n, ranges_of(seqs)).items():
        if kind in NAMING:
            payload = next(store.log.slice(head.n, head.id, seq, seq + 1)).payload
            found.add(title_of(payload.text) if kind == "prompt" else payload.title)
    return {title for title in found if title}


def _forget_titles(
    store: Store, writer: Writer, head: SessionHead, titles: set[str], *, at: int | None, source: str
) -> int:
    """Forget these titles in the openings of forks.

    Returns how many openings lost theirs. Without a time (`at`) another machine forgot: then forks of other
    machines are left to their own.
    """
    if not titles:
        return 0
    count = 0
    for child in store.sessions.children(head.id):
        fork = writer.head(child.n)
        opening = next(store.log.slice(fork.n, fork.id, 0, 1), None)
        if opening is None or opening.payload is None or opening.payload.title not in titles:
            continue
        if fork.device is None:
            payload = _remove(store, fork, [0], INHERITED)
            when = fork.last_at if at is None else at
            # A second opening says again what was not forgotten, such as the folder. It comes first: at the
            # `forgotten` event every machine decides whether anything is left of the session.
            again = replace(opening.payload, title=None, parent=None, parent_seq=None)
            entry = NewEvent("session.open", again, when, opening.actor, opening.source, opening.trust)
            writer.append(fork, entry)
            writer.append(fork, NewEvent("forgotten", payload, when, "system", source, "user"))
        elif at is not None:
            payload = _remove(store, fork, [0], INHERITED)
            _note(store.db, store.log.key, fork, payload)
        else:
            continue
        _after_removal(store, writer, fork)
        count += payload.count + _forget_titles(store, writer, fork, titles, at=at, source=source)
    return count


def _with_checkpoints(store: Store, chosen: dict[int, list[int]]) -> dict[int, list[int]]:
    """These positions and every later checkpoint, also in forks, that includes them."""
    wanted = {number: set(seqs) for number, seqs in chosen.items()}
    for number, seqs in chosen.items():
        kinds = _kinds_with_payload(store, number, ranges_of(seqs))
        reach = [(number, seq) for seq, kind in kinds.items() if kind not in KINDS_WITHOUT_TEXT][:1]
        while reach:
            session, first = reach.pop()
            rows = store.db.execute(
                "SELECT id FROM event WHERE id > ? AND id < ? AND kind='checkpoint' AND payload IS NOT NULL",
                (event_id(session, first), event_id(session + 1, 0)),
            ).fetchall()
            if rows:
                wanted.setdefault(session, set()).update(row[0] - event_id(session, 0) for row in rows)
            id_ = store.db.execute("SELECT id FROM session WHERE n=?", (session,)).fetchone()[0]
            reach += [(child.n, 0) for child in store.sessions.children(id_)]
    return {number: sorted(seqs) for number, seqs in wanted.items()}


def _kinds_with_payload(store: Store, number: int, ranges: list[tuple[int, int]]) -> dict[int, str]:
    """The positions that have a payload, in order, with their kinds."""
    kinds: dict[int, str] = {}
    for low, high in ranges:
        rows = store.db.execute(
            "SELECT id, kind FROM event WHERE id >= ? AND id < ? AND payload IS NOT NULL"
            " AND kind <> 'forgotten' ORDER BY id",
            (event_id(number, low), event_id(number, high)),
        )
        kinds |= {row[0] - event_id(number, 0): row[1] for row in rows}
    return kinds


def _reduce(store: Store, head: SessionHead, kinds: dict[int, str]) -> tuple[dict[str, str], set[int]]:
    """Reduce events that say how others are read to their structure.

    Return the digests of what is left by position, and the positions that had nothing else.
    """
    left: dict[str, str] = {}
    bare: set[int] = set()
    for seq in [seq for seq, kind in kinds.items() if kind in RETAINED_FIELDS]:
        event = next(store.log.slice(head.n, head.id, seq, seq + 1))
        rest = retained_payload(event.kind, event.payload)
        if rest is None:
            continue
        if rest == event.payload:
            bare.add(seq)
            continue
        stored = pack(codec.to_bytes(rest))
        store.db.execute("UPDATE event SET payload=? WHERE id=?", (stored, event_id(head.n, seq)))
        left[str(seq)] = hash_chain.digest_of(stored).hex()
    return left, bare


def _drop_folds(store: Store, writer: Writer, session: str, number: int) -> None:
    store.snapshots.drop(number)
    writer.changed.add(writer.head(number).n)
    for child in store.sessions.children(session):
        _drop_folds(store, writer, child.id, child.n)


def _nothing_left(store: Store, head: SessionHead) -> bool:
    """Whether no event has more than its structure left."""
    marks = ",".join("?" * len(RETAINED_FIELDS))
    rows = store.db.execute(
        f"SELECT id & ?, kind IN ({marks}) FROM event WHERE id >= ? AND id < ? AND payload IS NOT NULL"
        " AND kind <> 'forgotten' ORDER BY id",
        (SEQ_MASK, *RETAINED_FIELDS, event_id(head.n, 0), event_id(head.n + 1, 0)),
    )
    return all(
        structural and is_fully_retained(next(store.log.slice(head.n, head.id, seq, seq + 1)))
        for seq, structural in rows
    )


def vacuum(store: Store) -> None:
    """Rewrite the database without free pages, and empty the write-ahead log into it."""
    message = "It is forgotten. Old encrypted pages stay on disk while another process reads the store."
    hint = "the next `forget` removes them when no other process reads the store"
    try:
        store.db.execute("VACUUM")
    except StoreBusy as error:
        raise StoreBusy(message, hint=hint) from error
    blocked = store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if blocked:
        raise StoreBusy(message, hint=hint)
