"""The event log: event rows in the database, and reading them back in order.

A payload is compact JSON, compressed when that saves space. The first byte shows which.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from fazm_memory.errors import StoreDamaged, StoreNewer
from fazm_memory.events import Event, NewerVersion, codec, kinds, read_payload
from fazm_memory.records import dataclass
from fazm_memory.store import hash_chain
from fazm_memory.store.database import (
    RECOVER_HINT,
    Database,
    compress,
    decompress,
    frame_error,
    translated_errors,
)
from fazm_memory.store.hash_chain import ChainHeads
from fazm_memory.store.schema import HOUR

SEQ_BITS = 32  # an event's id is its session's number above its position
SEQ_MASK = (1 << SEQ_BITS) - 1


def event_id(number: int, seq: int) -> int:
    return number << SEQ_BITS | seq


class Unread(Enum):
    """The value of what was not read yet, where None is an answer."""

    UNREAD = 0


UNREAD = Unread.UNREAD


@dataclass(slots=True)
class SessionHead:
    """A session's row while it is written to."""

    n: int
    id: str
    agent: str
    agent_session_id: str | None
    title: str | None
    workspace: str | None
    lifecycle: kinds.Lifecycle
    parent: str | None
    parent_seq: int | None
    background: int
    opened_at: int
    last_at: int
    head: int
    turn: int
    actions: int
    failures: int
    files_modified: int
    questions: int
    mac: bytes
    indexed: int = 0
    snapped: int = 0
    forgotten: int = 0
    device: str | None = None  # the machine that records it, if not this one
    shown: tuple[Any, ...] = ()  # `face` as stored
    # Read when first needed: whether a failed call is noted, and the limits that were passed.
    has_failed_calls: bool | None = None
    limits_passed: list[str] | Unread | None = UNREAD

    def counts(self) -> tuple[Any, ...]:
        """The columns that change with every event, as UPDATE_HEAD takes them."""
        return (self.lifecycle, self.last_at, self.head, self.turn, self.actions, self.failures,
                self.files_modified, self.questions, self.mac, self.n)  # fmt: skip

    def face(self) -> tuple[Any, ...]:
        """The columns that seldom change, as UPDATE_FACE takes them."""
        return (self.agent, self.title, self.workspace, self.background, self.last_at // HOUR, self.n)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append: redacted and typed, without a position yet."""

    kind: str
    payload: Any
    at: int
    actor: str
    source: str
    trust: str
    turn: int | None = None
    key: str | None = None
    expected_seq: int | None = None
    late: bool = False  # changes nothing in the lifecycle: it happened before the end, or on disk
    received: int | None = None  # when it arrived, if that is later than its time
    claimed: int | None = None  # the time it claimed, if that was in the future (see `believed_time`)


AHEAD = 300_000_000  # microseconds by which another clock may differ from ours


def believed_time(at: int, received: int) -> tuple[int, int | None]:
    """The time of an event, and the time it claimed if that is not believed.

    An event cannot have happened after it arrived: it would sort first and be retained until then.
    """
    return (received, at) if at > received + AHEAD else (at, None)


class AppendResult(NamedTuple):
    """The position of an event; of the first one if it was recorded before."""

    session: str
    seq: int
    duplicate: bool = False


class PlacedEvent(NamedTuple):
    """An event just appended, converted to an `Event` only if needed."""

    session: str
    seq: int
    turn: int
    version: int
    entry: NewEvent
    digest: bytes
    prev: bytes
    mac: bytes

    def event(self) -> Event:
        new = self.entry
        return Event(self.session, self.seq, new.at, self.turn, new.kind, self.version, new.actor,
                     new.source, new.trust, new.payload, self.digest.hex(), self.prev.hex(),
                     self.mac.hex())  # fmt: skip


EVENT_COLUMNS = "id, at, turn, kind, version, actor, source, trust, key, payload, digest, mac"
INSERT_EVENT = f"INSERT INTO event ({EVENT_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
WORTH_COMPRESSING = 384  # bytes; less gains little without a dictionary
LARGEST_PAYLOAD = 64 << 20
WORTH_ORJSON = 256 << 10  # bytes that the standard parser reads in the time that orjson takes to load
_parsed = 0  # bytes read by the standard parser so far


def to_stored(payload: Any) -> bytes:
    """The bytes that the log stores and digests.

    PayloadError names what cannot be stored. orjson is tried first. It refuses integers of more than 64 bits
    and writes NaN as null; both go to the codec.
    """
    import orjson  # takes 10 ms, and commands that only read need little of it

    # Refuse what the codec refuses: dates, dataclasses and subclasses of plain types.
    strict = (
        orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
    )
    try:
        quick = orjson.dumps(codec.encode(payload), option=strict)
    except TypeError:
        return pack(codec.to_bytes(payload))
    return pack(codec.to_bytes(payload) if b"null" in quick else quick)


def pack(payload: bytes) -> bytes:
    """Compress if that saves space.

    JSON begins with `{`, a compressed frame with its magic.
    """
    if len(payload) < WORTH_COMPRESSING:
        return payload
    packed = compress(payload)
    return packed if len(packed) < len(payload) else payload


def unpack(stored: bytes) -> bytes:
    if stored[:4] != ZSTD_MAGIC:
        return bytes(stored)
    return decompress(stored, LARGEST_PAYLOAD)


def parse_json(payload: bytes) -> Any:
    """The value of stored JSON.

    orjson would read an integer of more than 64 bits as a float and refuses some old payloads: these are
    read by the standard parser. So are the first payloads of a process, because loading orjson takes longer.
    """
    global _parsed
    if _parsed < WORTH_ORJSON and "orjson" not in sys.modules:
        _parsed += len(payload)
        return json.loads(payload.decode())
    import orjson

    if not codec.has_long_integer(payload):
        try:
            return orjson.loads(payload)
        except orjson.JSONDecodeError:
            return json.loads(payload.decode())
    return json.loads(payload.decode())


def to_event(row: tuple[Any, ...], session: str, prev: bytes) -> Event:
    """The event of a row. Its payload is None if it has been forgotten."""
    id_, at, turn, kind, version, actor, source, trust, _key, stored, digest, mac = row
    try:
        payload = None if stored is None else read_payload(kind, version, parse_json(unpack(stored)))
    except NewerVersion as error:
        raise StoreNewer(str(error), hint="update Fazm Memory; nothing was changed") from None
    except (ValueError, TypeError, frame_error()) as error:
        raise StoreDamaged(
            f"Event {id_ & SEQ_MASK} of session {session[:8]} cannot be read: {error}.", hint=RECOVER_HINT
        ) from error
    return Event(session, id_ & SEQ_MASK, at, turn, kind, version, actor, source, trust, payload,
                 digest.hex(), prev.hex(), mac.hex())  # fmt: skip


class EventLog:
    """The append-only log of every session."""

    def __init__(self, database: Database, key: bytes, heads: ChainHeads) -> None:
        self.db = database
        self.key = key
        self.outside = heads
        # Session rows as the last transaction left them, valid while `change_mark()` is still `stamp`.
        self.cached: dict[int, SessionHead] = {}
        self.stamp = (-1, -1)
        # Events that this process appended and that are not in the projections yet.
        self.recent: dict[int, list[PlacedEvent]] = {}

    def change_mark(self) -> tuple[int, int]:
        """A mark that changes with every write: by other connections, and by this one."""
        (version,) = self.db.execute("PRAGMA data_version").fetchone()
        return version, self.db.connection.total_changes

    def slice(self, number: int, session: str, start: int = 0, stop: int | None = None) -> Iterator[Event]:
        """Events from `start` up to, not including, `stop`, in order, as a stream."""
        start = max(0, min(start, SEQ_MASK))
        high = event_id(number, SEQ_MASK if stop is None else max(0, min(stop, SEQ_MASK)))
        prev = self._mac_before(number, session, start)
        rows = self.db.execute(
            f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? ORDER BY id",
            (event_id(number, start), high),
        )
        with translated_errors(self.db.path):
            for row in rows:
                yield to_event(row, session, prev)
                prev = row[11]

    def _mac_before(self, number: int, session: str, seq: int) -> bytes:
        if seq == 0:
            return hash_chain.genesis(self.key, session)
        return mac_at(self.db, number, seq - 1)


def mac_at(database: Database, number: int, seq: int) -> bytes:
    """The MAC of the event at a position, or empty bytes if there is none."""
    row = database.execute("SELECT mac FROM event WHERE id=?", (event_id(number, seq),)).fetchone()
    return bytes(row[0]) if row is not None else b""
