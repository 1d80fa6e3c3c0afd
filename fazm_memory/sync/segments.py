"""Segments: the sealed objects that hold the batches of a device's log.

A segment is zstd-compressed, sealed with the key of its device and epoch, and signed by the device. Inside
are a JSON header with the envelopes of the events, and after it their payloads as they are stored. A segment
holds one batch or several that were merged. Payloads that were forgotten since are left out when it is
written again.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, NamedTuple

import orjson
import zstandard

from fazm_memory.records import dataclass, field
from fazm_memory.store import SessionRow, Store, compress, decompress, event_id, unpack
from fazm_memory.sync.crypto import SIGNATURE, KeyPairs, NotAuthentic, derive, seal, unseal, verify
from fazm_memory.sync.state import Part, next_link
from fazm_memory.sync.workspaces import Repository

LENGTH = struct.Struct(">I")
LARGEST = 512 << 20  # a segment unpacks to at most this
SHARED = ("files", "transcripts")  # what a batch names beside its events
FORGOTTEN = -1  # the length of a payload that is not there any more


class SegmentEvent(NamedTuple):
    at: int
    turn: int
    kind: str
    version: int
    actor: str
    source: str
    trust: str
    payload: bytes | None


@dataclass(frozen=True)
class SegmentPart:
    """Events of one session, and what its row says."""

    part: Part
    session: dict[str, Any]  # agent, agent_session_id, opened_at, workspace, remote
    events: list[SegmentEvent]


@dataclass(frozen=True)
class Batch:
    """What one round put: events, and requests that concern other devices' sessions."""

    n: int
    link: str
    parts: list[SegmentPart]
    requests: list[Any] = field(default_factory=list)
    # Versions of files and transcripts that it names. They are not part of the chain.
    shared: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Segment:
    before: str  # the link before its first batch
    home: str
    batches: list[Batch]


@dataclass(frozen=True)
class SegmentName:
    """What a segment is bound to: it cannot stand in for another one."""

    vault: str
    device: str
    first: int
    last: int
    generation: int
    epoch: str

    def context(self) -> str:
        return f"segment {self.vault} {self.device} {self.first} {self.last} {self.generation} {self.epoch}"


def segment_key(epoch_secret: bytes, device: str) -> bytes:
    return derive(epoch_secret, f"segments of {device}")


def lost_part(part: Part) -> dict[str, Any]:
    """A part whose events the log does not have any more, as header entry without any content."""
    gone = [0, 0, "message", 1, "unknown", "companion", "unverified", FORGOTTEN]
    return {
        "session": part.session, "start": part.start, "mark": part.mark, "agent": "unknown",
        "agent_session_id": None, "opened_at": 0, "workspace": None, "remote": None, "lost": True,
        "events": [gone] * (part.stop - part.start),
    }  # fmt: skip


class PartContent(NamedTuple):
    """The events of a part as header entries, and the payloads that are there."""

    events: list[list[Any]]
    payloads: list[bytes]


def read_content(
    store: Store, number: int, start: int, stop: int, most_bytes: int | None = None
) -> PartContent:
    """Events `start` to `stop` of a session, or fewer: at least one, then up to `most_bytes` of payloads."""
    rows = store.db.execute(
        "SELECT at, turn, kind, version, actor, source, trust, payload FROM event WHERE id >= ? AND id < ?"
        " ORDER BY id",
        (event_id(number, start), event_id(number, stop)),
    )
    events: list[list[Any]] = []
    payloads: list[bytes] = []
    size = 0
    for *envelope, stored in rows:
        payload = None if stored is None else unpack(stored)
        size += 0 if payload is None else len(payload)
        if most_bytes is not None and size > most_bytes and events:
            break
        events.append([*envelope, FORGOTTEN if payload is None else len(payload)])
        if payload is not None:
            payloads.append(payload)
    return PartContent(events, payloads)


def part_entry(
    row: SessionRow, part: Part, where: Repository | None, events: list[list[Any]]
) -> dict[str, Any]:
    """A part of a session as header entry. `row` is the session in this log."""
    return {
        "session": part.session, "start": part.start, "mark": part.mark, "agent": row.agent,
        "again": None if row.id == part.session else row.id,
        "agent_session_id": row.agent_session_id, "opened_at": row.opened_at, "workspace": row.workspace,
        "remote": where and where.remote, "inside": where and where.inside, "events": events,
    }  # fmt: skip


def pack_segment(
    name: SegmentName, key: bytes, signer: KeyPairs, header: dict[str, Any], payloads: list[bytes]
) -> bytes:
    text = orjson.dumps(header)
    plain = b"".join((LENGTH.pack(len(text)), text, *payloads))
    sealed = seal(key, compress(plain), name.context())
    return sealed + signer.sign(_signed(name, sealed))


def open_segment(name: SegmentName, key: bytes, public: bytes, data: bytes) -> Segment:
    """The batches of a segment. NotAuthentic unless this device wrote it as this segment."""
    sealed, signature = data[:-SIGNATURE], data[-SIGNATURE:]
    verify(public, signature, _signed(name, sealed))
    packed = unseal(key, sealed, name.context())
    try:
        if zstandard.frame_content_size(packed) > LARGEST:
            raise NotAuthentic("it unpacks to more than a segment may hold")
        plain = decompress(packed, LARGEST)
        (length,) = LENGTH.unpack_from(plain)
        header = orjson.loads(plain[LENGTH.size : LENGTH.size + length])
        return _segment(name, header, memoryview(plain)[LENGTH.size + length :])
    except (zstandard.ZstdError, struct.error, ValueError, TypeError, KeyError) as error:
        raise NotAuthentic(f"it has no readable content: {error}") from error


def _segment(name: SegmentName, header: dict[str, Any], payloads: memoryview) -> Segment:
    at, link, batches = 0, str(header["before"]), []
    for number, raw in enumerate(header["batches"], name.first):
        parts = []
        for entry in raw["parts"]:
            events = []
            for *envelope, length in entry["events"]:
                payload = None
                if length != FORGOTTEN:
                    payload, at = bytes(payloads[at : at + length]), at + length
                events.append(SegmentEvent._make((*envelope, payload)))
            part = Part(
                str(entry["session"]), entry["start"], entry["start"] + len(events), str(entry["mark"])
            )
            parts.append(SegmentPart(part, entry, events))
        link = next_link(link, [entry.part for entry in parts], raw["requests"])
        shared = {kind: raw[kind] for kind in SHARED if raw.get(kind)}
        batches.append(Batch(number, link, parts, raw["requests"], shared))
    if at != len(payloads) or len(batches) != name.last - name.first + 1:
        raise NotAuthentic("it does not hold what its name says")
    return Segment(str(header["before"]), str(header["home"]), batches)


def _signed(name: SegmentName, sealed: bytes) -> bytes:
    return f"{name.context()} {hashlib.sha256(sealed).hexdigest()}".encode()
