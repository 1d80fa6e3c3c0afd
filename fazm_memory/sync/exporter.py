"""Put this device's own sessions into batches, and its batches into objects.

What will be put is written to the state database first, without the bytes: an object that a crash kept from
being put is made again from the log, under a new name. Small objects are merged so that the number of objects
grows with the logarithm of the history. An object is written again, from the log as it is now, when events in
it were forgotten.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple, Protocol

from fazm_memory.events import Forgotten
from fazm_memory.records import dataclass, field
from fazm_memory.store import (
    EventQuery,
    Store,
    event_id,
    noted_sessions,
    queries,
    ranges_of,
    read_noted,
)
from fazm_memory.sync.heads import newest
from fazm_memory.sync.segments import (
    PartContent,
    SegmentName,
    lost_part,
    pack_segment,
    part_entry,
    read_content,
    segment_key,
)
from fazm_memory.sync.state import OUTGOING, Identity, Part, Repository, SyncState, next_link, repository

BATCH_EVENTS = 20_000
BATCH_BYTES = 8 << 20  # payloads in a batch, unless one event alone is larger
FAN = 16  # objects of one size class that are merged into one
MERGED_BYTES = 8 << 20  # objects are not merged beyond this
WAITS = b""  # the `body` of an object that was not put yet; earlier versions stored its bytes there


class Sharing(Protocol):
    """Something that batches name beside events, such as versions of files."""

    def next_rows(self, own: Callable[[str], bool]) -> list[Any]:
        """What the next batch should name. `own` says whether a session is of this device."""

    def add(self, batch: int, rows: list[Any]) -> None: ...

    def rows(self, batch: int) -> list[dict[str, Any]]: ...

    def withdraw(self) -> set[int]: ...

    def put(self, put: Callable[[str, bytes], str]) -> None: ...


class PendingSession(NamedTuple):
    """A session of this device.

    `head` is the number of its events, `sent` how many of them are in batches.
    """

    n: int
    id: str
    head: int
    parent: str | None
    sent: int
    mark: str


@dataclass
class BatchExporter:
    store: Store
    state: SyncState
    identity: Identity
    home: str
    sharing: Mapping[str, Sharing]  # by its key in a batch
    again: list[str] = field(default_factory=list)  # sessions that are uploaded again
    _bodies: dict[str, bytes] = field(default_factory=dict)  # made, and no head names them yet, by name
    _puts: dict[str, Future[str]] = field(default_factory=dict)  # of these, the ones that are on their way
    _contents: dict[Part, PartContent] = field(default_factory=dict)  # of the next batch, read once

    def pending(self) -> list[PendingSession]:
        """Own sessions with events that are in no batch yet.

        Newest first, but parents before forks.
        """
        sent = self.state.sent()
        rows = self.store.db.execute(
            "SELECT n, id, head, parent FROM standing WHERE device IS NULL ORDER BY last_at DESC, n DESC"
        ).fetchall()
        again = self.state.origins()
        uploaded = [(row, sent.get(again.get(row[1], row[1]), (0, ""))) for row in rows]
        own = {row[1]: PendingSession._make((*row, *upto)) for row, upto in uploaded}
        found: dict[str, PendingSession] = {}

        def add(row: PendingSession) -> None:
            if row.id in found or row.head <= row.sent:
                return
            if row.parent in own:
                add(own[row.parent])
            found[row.id] = row

        for row in own.values():
            add(row)
        return list(found.values())

    def forgets_wait(self) -> bool:
        """Whether something was forgotten here that is in no batch yet."""
        return any(request[0] == "forget" for request in self._requests()) or any(
            True
            for row in self.pending()
            for _ in self._forgotten(Part(self.state.origins().get(row.id, row.id), row.sent, row.head, ""))
        )

    def diverged(self) -> list[str]:
        """Origins of own sessions that differ from what was put into batches.

        That is so after a recovery of the store.
        """
        return [
            origin
            for origin, (stop, mark) in self.state.sent().items()
            if not self._holds(Part(origin, 0, stop, mark))
        ]

    def _holds(self, part: Part) -> bool:
        """Whether the log has what a part was made of."""
        session = self.state.own_session(part.session)
        row = self.store.db.execute("SELECT n FROM session WHERE id=?", (session,)).fetchone()
        return row is not None and self._mark(row[0], part.stop) == part.mark

    def _begin_editions(self) -> None:
        """Begin a new upload of each session that differs from what was uploaded.

        Events that are lost here do not stay in the store.
        """
        found = self.diverged()
        if not found:
            return
        with self.state.db.transaction():
            for origin in found:
                self.again.append(self.state.own_session(origin) or origin)
                self.state.begin_edition(origin, self.identity.device)
            for first, last, generation in self._holding([(origin, 0, 1 << 62) for origin in found]):
                self._build(first, last, generation + 1)

    def batches(self) -> Iterator[int]:
        """Make batches until everything is in one.

        Yields after each batch, with the number of its events.
        """
        self._withdraw()
        stamp = self._stamp()
        if stamp != self.state.get("log_stamp"):
            with self.store.db.reading():
                self._begin_editions()
            self.state.set(log_stamp=stamp)
        while True:
            with self.store.db.reading():
                parts, count = self._next_parts()
                requests = self._requests()
                shared = {kind: one.next_rows(self._is_own) for kind, one in self.sharing.items()}
                if not parts and not requests and not any(shared.values()):
                    return
                self._add(parts, requests, shared)
            yield count

    def _stamp(self) -> str:
        """A text that changes when own sessions change.

        Also when a recovery put other events in their place.
        """
        row = self.store.db.execute(
            "SELECT count(*), coalesce(sum(head), 0), max(last_at) FROM standing WHERE device IS NULL"
        ).fetchone()
        return " ".join(map(str, row))

    def _is_own(self, session: str) -> bool:
        row = self.store.db.execute("SELECT device FROM session WHERE id=?", (session,)).fetchone()
        return row is not None and row[0] is None

    def _withdraw(self) -> None:
        """Write the objects again that name something which is not shared any more."""
        with self.store.db.reading(), self.state.db.transaction():
            batches = set().union(*(one.withdraw() for one in self.sharing.values()))
            for first, last, generation in self._with_batches(batches):
                self._build(first, last, generation + 1)

    def _with_batches(self, batches: Collection[int]) -> list[tuple[int, int, int]]:
        """The objects that hold these batches."""
        return [
            (first, last, generation)
            for first, last, generation, *_ in self.state.objects()
            if any(first <= batch <= last for batch in batches)
        ]

    def _next_parts(self) -> tuple[list[Part], int]:
        """Parts for the next batch, and the number of their events.

        What was read for them is kept until the batch is made.
        """
        parts: list[Part] = []
        events = size = 0
        again = self.state.origins()
        self._contents.clear()
        for row in self.pending():
            if events >= BATCH_EVENTS or size >= BATCH_BYTES:
                break
            most = min(row.head, row.sent + BATCH_EVENTS - events)
            content = read_content(self.store, row.n, row.sent, most, BATCH_BYTES - size)
            stop = row.sent + len(content.events)
            size += sum(map(len, content.payloads))
            events += len(content.events)
            part = Part(again.get(row.id, row.id), row.sent, stop, self._mark(row.n, stop))
            parts.append(part)
            self._contents[part] = content
        return parts, events

    def _mark(self, number: int, stop: int) -> str:
        row = self.store.db.execute(
            "SELECT mac FROM event WHERE id=?", (event_id(number, stop - 1),)
        ).fetchone()
        return "" if row is None else bytes(row[0]).hex()

    def _requests(self) -> list[Any]:
        """Requests to the other devices that are in no batch yet.

        They name what was forgotten or quarantined here of other devices' sessions.
        """
        requests = list(self.state.get(OUTGOING, []))
        for number in sorted(noted_sessions(self.store.db)):  # parents before their forks
            id_ = self.store.db.execute("SELECT id FROM session WHERE n=?", (number,)).fetchone()[0]
            copy = self.state.db.execute("SELECT device, origin FROM copy WHERE session=?", (id_,)).fetchone()
            if copy is None:
                continue
            noted = read_noted(self.store.db, self.store.log.key, number, id_)
            known = {seq for low, high in self.state.tombstones(*copy) for seq in range(low, high)}
            here = {seq for low, high in noted.ranges for seq in range(low, high)} | set(noted.left)
            if here - known:
                requests.append(["forget", *copy, [list(pair) for pair in ranges_of(here - known)]])
        return requests

    def _add(self, parts: list[Part], requests: list[Any], shared: dict[str, list[Any]]) -> None:
        """Add a batch and its object.

        Objects that hold events which this batch forgets are written again.
        """
        last, link = self.state.last_batch()
        batch = last + 1
        forgotten = [found for part in parts for found in self._forgotten(part)]
        requests = [*requests, *self._forget_lost(forgotten)]
        forgets = len(forgotten) + sum(request[0] == "forget" for request in requests)
        with self.state.db.transaction():
            link = next_link(link, parts, requests)
            self.state.db.execute(
                "INSERT INTO batch VALUES (?,?,?,?)", (batch, link, json.dumps(requests), forgets)
            )
            self.state.db.executemany(
                "INSERT INTO part VALUES (?,?,?,?,?,?)",
                [(batch, place, part.session, part.start, part.stop, part.mark)
                 for place, part in enumerate(parts)],
            )  # fmt: skip
            self.state.db.executemany(
                "INSERT OR REPLACE INTO sent VALUES (?,?,?)",
                [(part.session, part.stop, part.mark) for part in parts],
            )
            tombstones = [
                (request[1], request[2], low, high)
                for request in requests
                if request[0] == "forget"
                for low, high in request[3]
            ]
            self.state.db.executemany("INSERT OR IGNORE INTO tombstone VALUES (?,?,?,?)", tombstones)
            self.state.set(**{OUTGOING: []})
            for kind, rows in shared.items():
                self.sharing[kind].add(batch, rows)
            self._build(batch, batch, 0)
            for first, final, generation in self._holding(forgotten):
                self._build(first, final, generation + 1)
            self._merge()

    def _forgotten(self, part: Part) -> Iterator[tuple[str, int, int]]:
        """The ranges of its session that events of a part forgot."""
        row = self.store.sessions.resolve(self.state.own_session(part.session) or part.session)
        query = EventQuery(start=part.start, stop=part.stop, kind="forgotten")
        for event in queries.find_events(self.store.log, row.n, row.id, query):
            if isinstance(event.payload, Forgotten):
                yield from ((part.session, low, high) for low, high in event.payload.ranges)
                yield from ((part.session, int(seq), int(seq) + 1) for seq in event.payload.left)

    def _forget_lost(self, forgotten: list[tuple[str, int, int]]) -> list[Any]:
        """Requests to forget the same positions in earlier uploads that are lost here."""
        found: dict[str, list[list[int]]] = {}
        for origin, low, high in forgotten:
            session = self.state.own_session(origin)
            rows = self.state.db.execute("SELECT origin FROM lost WHERE session=?", (session,)).fetchall()
            for (lost,) in rows:
                found.setdefault(lost, []).append([low, high])
        return [["forget", self.identity.device, lost, ranges] for lost, ranges in found.items()]

    def _holding(self, forgotten: list[tuple[str, int, int]]) -> list[tuple[int, int, int]]:
        """The objects that hold events in these ranges."""
        found = set()
        for session, low, high in forgotten:
            rows = self.state.db.execute(
                "SELECT o.first, o.last, o.generation FROM part p JOIN object o"
                " ON o.first = (SELECT max(first) FROM object WHERE first <= p.batch)"
                " WHERE p.session=? AND p.stop > ? AND p.start < ?",
                (session, low, high),
            )
            found |= {tuple(row) for row in rows.fetchall()}
        return sorted(found)

    def _merge(self) -> None:
        """Merge the last objects while FAN of them are of one size class."""
        while True:
            tail = self.state.objects()[-FAN:]
            classes = {_size_class(first, last) for first, last, *_ in tail}
            if len(tail) < FAN or len(classes) > 1 or sum(entry[5] for entry in tail) > MERGED_BYTES:
                return
            self._build(tail[0][0], tail[-1][1], 1 + max(entry[2] for entry in tail))

    def _build(self, first: int, last: int, generation: int) -> None:
        """Make the object with these batches, from the log as it is now.

        It replaces the objects with the same batches.
        """
        replaced = self.state.db.execute(
            "SELECT first, last, generation FROM object WHERE first >= ? AND last <= ?", (first, last)
        ).fetchall()
        self.state.db.executemany(
            "INSERT OR IGNORE INTO garbage VALUES (?)", [(self.name(*entry),) for entry in replaced]
        )
        self.state.db.execute("DELETE FROM object WHERE first >= ? AND last <= ?", (first, last))
        epochs = self.state.epochs()
        epoch = newest(epochs)
        batches: list[dict[str, Any]] = []
        payloads: list[bytes] = []
        repositories: dict[str | None, Repository | None] = {}
        for number in range(first, last + 1):
            entries = []
            for part in self.state.parts(number):
                if not self._holds(part):  # keeps the chain whole, without inventing content
                    entries.append(lost_part(part))
                    continue
                row = self.store.sessions.resolve(self.state.own_session(part.session) or part.session)
                if row.workspace not in repositories:
                    repositories[row.workspace] = repository(row.workspace)
                content = self._contents.pop(part, None) or read_content(
                    self.store, row.n, part.start, part.stop
                )
                where, parent = repositories[row.workspace], self.state.origin_of(row.parent)
                entries.append(part_entry(row, part, where, content.events, parent))
                payloads += content.payloads
            batch: dict[str, Any] = {"parts": entries, "requests": self.state.requests(number)}
            batch |= {kind: rows for kind, one in self.sharing.items() if (rows := one.rows(number))}
            batches.append(batch)
        header = {"before": self.state.link_at(first - 1), "home": self.home, "batches": batches}
        device = self.identity.device
        name = SegmentName(self.identity.vault.id, device, first, last, generation, epoch)
        key = segment_key(bytes.fromhex(epochs[epoch]["secret"]), device)
        newest_event = max(
            (event[0] for one in batches for entry in one["parts"] for event in entry["events"]), default=0
        )
        body = pack_segment(name, key, self.identity.keys, header, payloads)
        digest = hashlib.sha256(body).hexdigest()
        self.state.db.execute(
            "INSERT INTO object VALUES (?,?,?,?,?,?,?,?)",
            (first, last, generation, epoch, digest, len(body), WAITS, newest_event),
        )
        self._bodies[self.name(first, last, generation)] = body

    def name(self, first: int, last: int, generation: int) -> str:
        return object_name(self.identity, self.identity.device, first, last, generation)

    def put_ahead(self, pool: Executor, put: Callable[[str, bytes], str]) -> int:
        """Begin to put the objects made by now. Returns how many no head names yet."""
        for name in self._bodies.keys() - self._puts.keys():
            self._puts[name] = pool.submit(put, name, self._bodies[name])
        return len(self._bodies)

    def waiting_events(self) -> int:
        """The events of an earlier round that was interrupted before a head named them."""
        row = self.state.db.execute(
            "SELECT coalesce(sum(stop - start), 0) FROM part WHERE batch >"
            " (SELECT coalesce(max(last), 0) FROM object WHERE body IS NULL)"
        ).fetchone()
        return int(row[0])

    def put(self, put: Callable[[str, bytes], str]) -> bool:
        """Put the contents and objects that wait. Returns whether there were any objects.

        `mark_put` notes that they are there, together with the head that names them.
        """
        for on_its_way in self._puts.values():
            on_its_way.result()
        for one in self.sharing.values():
            one.put(put)
        waiting = "SELECT first, last, generation FROM object WHERE body IS NOT NULL ORDER BY first"
        rows = self.state.db.execute(waiting).fetchall()
        lost = [entry for entry in rows if self.name(*entry) not in self._bodies]
        if lost:  # a crash came between: nobody has read them, but the name may have been used
            with self.store.db.reading(), self.state.db.transaction():
                for first, last, generation in lost:
                    self._build(first, last, generation + 1)
            rows = self.state.db.execute(waiting).fetchall()
        for name in (self.name(*entry) for entry in rows):
            if name not in self._puts:
                put(name, self._bodies[name])
        return bool(rows)

    def mark_put(self) -> None:
        """Note that all objects made by now are in the store. In a transaction."""
        if self._bodies:
            self.state.db.execute("UPDATE object SET body=NULL WHERE body IS NOT NULL")
            self._bodies.clear()
            self._puts.clear()

    def drop_garbage(self, delete: Callable[[str], None]) -> None:
        """Delete objects that no head names any more."""
        for (name,) in self.state.db.execute("SELECT name FROM garbage").fetchall():
            delete(name)
            self.state.db.execute("DELETE FROM garbage WHERE name=?", (name,))


def object_name(identity: Identity, device: str, first: int, last: int, generation: int) -> str:
    vault = identity.vault
    object_ = vault.name("object", device, first, last, generation)
    return f"{vault.id}/o/{vault.name('device', device)}/{object_}"


def _size_class(first: int, last: int) -> int:
    size, classed = last - first + 1, 0
    while size >= FAN:
        size, classed = size // FAN, classed + 1
    return classed
