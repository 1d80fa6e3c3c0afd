"""Segments: the sealed objects that hold the batches of a device's log.

A segment is zstd-compressed, sealed with the key of its device and epoch, and signed by the device. Inside
are a JSON header with the envelopes of the events, and after it their payloads as they are stored. A segment
holds one batch or several that were merged. Payloads that were forgotten since are left out when it is
written again.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import zstandard

from fazm_memory.paths import read_regular, write_private
from fazm_memory.records import dataclass, field
from fazm_memory.store import SessionRow, Store, compress, decompress, event_id, parse_json, unpack
from fazm_memory.sync.crypto import SIGNATURE, KeyPairs, NotAuthentic, derive, seal, unseal, verify
from fazm_memory.sync.heads import ObjectEntry
from fazm_memory.sync.state import Part, Repository, next_link

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
    """Header entry of a part whose events the log does not have any more."""
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
    """Read events `start` to `stop` of a session, or fewer.

    At least one, then up to `most_bytes` of payloads.
    """
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
    row: SessionRow, part: Part, where: Repository | None, events: list[list[Any]], parent: str | None
) -> dict[str, Any]:
    """Header entry of a part of a session.

    `row` is the session here, `parent` its parent's id on the parent's machine.
    """
    return {
        "session": part.session, "start": part.start, "mark": part.mark, "agent": row.agent,
        "again": None if row.id == part.session else row.id,
        "agent_session_id": row.agent_session_id, "opened_at": row.opened_at, "workspace": row.workspace,
        "remote": where and where.remote, "inside": where and where.inside, "events": events,
        "parent": parent,
    }  # fmt: skip


def pack_segment(
    name: SegmentName, key: bytes, signer: KeyPairs, header: dict[str, Any], payloads: list[bytes]
) -> bytes:
    text = orjson.dumps(header)
    plain = b"".join((LENGTH.pack(len(text)), text, *payloads))
    sealed = seal(key, compress(plain), name.context())
    return sealed + signer.sign(_signed(name, sealed))


def open_segment(name: SegmentName, key: bytes, public: bytes, data: bytes) -> Segment:
    """Open a segment and return its batches.

    NotAuthentic unless this device wrote it as this segment.
    """
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
            events: list[SegmentEvent] = []
            for *envelope, length in entry["events"]:
                payload = None
                if length != FORGOTTEN:
                    payload, at = bytes(payloads[at : at + length]), at + length
                    if not events and entry["start"] == 0 and entry.get("parent"):
                        payload = orjson.dumps(orjson.loads(payload) | {"parent": str(entry["parent"])})
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


# A long backlog: its sessions are imported newest first, while it is fetched
#
# Uploads are not in the order in which a person wants them: a first sync puts the newest sessions first,
# later rounds add still newer ones. So the objects with the newest events are fetched first. They are
# stored in a folder, sealed as they are in the store, so that an interrupted round does not fetch them
# again.

OPEN = 3  # segments that are unpacked at the same time

Key = tuple[str, str]  # the device and its id of the session
Place = tuple[str, ObjectEntry]  # the device, and an object of its log


class FetchedObjects:
    """Objects that were fetched and are not imported yet.

    They are named by their digest.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, data: bytes) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        write_private(self.folder / hashlib.sha256(data).hexdigest(), data, sync=False)

    def get(self, digest: str) -> bytes | None:
        """The object with this digest; None if it is not here, or cut by a crash."""
        try:
            data = read_regular(self.folder / digest, LARGEST)
        except FileNotFoundError:
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def drop(self, keep: Collection[str] = ()) -> None:
        """Delete all objects except those with these digests."""
        if not self.folder.exists():
            return
        for path in self.folder.iterdir():
            if path.name not in keep:
                path.unlink()
        if not keep:
            self.folder.rmdir()


@dataclass
class BacklogSession:
    """Where the events of a session are, and when the last one was."""

    last_at: int = 0
    parent: str | None = None
    spans: list[tuple[int, int]] = field(default_factory=list)  # positions
    places: list[Place] = field(default_factory=list)
    recorded: bool = False
    refused: bool = False

    def follows(self, head: int) -> bool:
        """Whether its events continue the ones before `head` without a gap."""
        for start, stop in sorted(self.spans):
            if start > head:
                return False
            head = max(head, stop)
        return True


class Backlog:
    """The sessions in the objects that were fetched by now.

    `read` opens an object again.
    """

    def __init__(self, read: Callable[[Place], Segment | None]) -> None:
        self.sessions: dict[Key, BacklogSession] = {}
        self.places: list[Place] = []
        self._read = read
        self._opened: dict[Place, Segment | None] = {}

    def add(self, place: Place, segment: Segment, after: int) -> None:
        """Note which sessions have events in the batches after a number."""
        self.places.append(place)
        self._open(place, segment)
        for batch in segment.batches:
            for part in batch.parts if batch.n > after else ():
                if not part.events or part.session.get("lost"):
                    continue
                found = self.sessions.setdefault((place[0], part.part.session), BacklogSession())
                found.last_at = max(found.last_at, max(event.at for event in part.events))
                found.parent = found.parent or _parent(part)
                found.spans.append((part.part.start, part.part.stop))
                found.recorded = False
                if place not in found.places:
                    found.places.append(place)

    def ready(self, stored: Callable[[Key], int], known: Callable[[str], bool]) -> list[Key]:
        """The sessions to record now, the newest first, but parents before forks.

        `stored` says how many events of a session are here, `known` whether a parent is.
        """
        found: dict[Key, None] = {}
        for key in self._newest_first():
            session = self.sessions[key]
            if session.recorded or session.refused or not session.follows(stored(key)):
                continue
            parent = session.parent
            if parent is None or any(parent == origin for _, origin in found) or known(parent):
                found[key] = None
        return list(found)

    def _newest_first(self) -> list[Key]:
        by_origin = {origin: (device, origin) for device, origin in self.sessions}
        ordered: dict[Key, None] = {}
        for key in sorted(self.sessions, key=lambda key: -self.sessions[key].last_at):
            line: list[Key] = []
            at: Key | None = key
            while at is not None and at not in ordered and at not in line:
                line.append(at)
                at = by_origin.get(self.sessions[at].parent or "")
            ordered |= dict.fromkeys(reversed(line))
        return list(ordered)

    def batches(self, key: Key, after: dict[str, int]) -> Iterator[tuple[str, Batch]]:
        """The batches with events of a session, in order.

        Each comes with the home folder of its device.
        """
        for place in sorted(self.sessions[key].places, key=lambda place: place[1].first):
            segment = self._opened[place] if place in self._opened else self._open(place, self._read(place))
            for batch in () if segment is None else segment.batches:
                if batch.n > after[key[0]] and any(part.part.session == key[1] for part in batch.parts):
                    assert segment is not None
                    yield segment.home, batch

    def done(self) -> list[Place]:
        """The objects of which every session is recorded."""
        waiting = {
            place for session in self.sessions.values() if not session.recorded for place in session.places
        }
        return [place for place in self.places if place not in waiting]

    def _open(self, place: Place, segment: Segment | None) -> Segment | None:
        if len(self._opened) >= OPEN:
            del self._opened[next(iter(self._opened))]
        self._opened[place] = segment
        return segment


def _parent(part: SegmentPart) -> str | None:
    """The session that this one was forked from, if the part has its opening."""
    if part.part.start != 0 or part.events[0].payload is None:
        return None
    opening: Any = parse_json(part.events[0].payload)
    parent = opening.get("parent") if isinstance(opening, dict) else None
    return parent if isinstance(parent, str) else None
