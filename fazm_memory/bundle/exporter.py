"""Write and read bundle files.

A bundle holds a session as lines of JSON, with its ancestors and versions of files.

Ancestors come first and events are in order. Exporting, importing and exporting again gives the same lines.
Reading checks every line before anything is written.

The file has a header line, then one zstd stream. With a passphrase the stream is split into ChaCha20-Poly1305
chunks under a scrypt key. Each chunk is bound to its position and the last is marked, so that no chunk can be
changed, moved or dropped unnoticed. The scrypt cost is fixed by the version. Line length, total size and
memory are limited.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import stat
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from fazm_memory.errors import BundleRefused, StoreNewer
from fazm_memory.events import ACTORS, KINDS, SOURCES, TRUSTS, NewerVersion, Rewind, SessionOpen, read_payload
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import disk_error, full_sync, sync_folder, to_portable, unsafe_path_reason
from fazm_memory.records import dataclass
from fazm_memory.session import from_plain
from fazm_memory.session import state_to_json as state_json
from fazm_memory.store import (
    EVENT_COLUMNS,
    FILE_CAP,
    NOT_QUARANTINED,
    PERMISSION_BITS,
    SEQ_MASK,
    EventQuery,
    FileVersion,
    FileVersions,
    QuarantinedEvents,
    SessionRow,
    Store,
    Tombstones,
    apply_quarantine,
    digest_of,
    event_id,
    hash_chain,
    queries,
    unpack,
)

MAGIC = b"FAZM-BUNDLE "
VERSION = 1
CHUNK = 64 << 10
TAG = 16
LONGEST_LINE = 64 << 20
LONGEST_HEADER = 256
LEAST_ROOM = 256 << 20  # most bytes that a small bundle may unpack to
RATIO = 400  # and a large one, as a multiple of its size
WINDOW = 1 << 27
SCRYPT = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 1 << 27}


def write_bundle(path: Path, lines: Iterable[dict[str, Any]], passphrase: str | None) -> int:
    """Write a bundle, completely or not at all. Return its size.

    Only its owner can read the file.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                _write(file, lines, passphrase)
                file.flush()
                full_sync(file.fileno())
                size = file.tell()
            os.replace(part, path)
        except BaseException:
            part.unlink()
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise disk_error(error, path) from error
    return size


def _write(file: BinaryIO, lines: Iterable[dict[str, Any]], passphrase: str | None) -> None:
    salt = secrets.token_bytes(16)
    header = {"version": VERSION} | ({} if passphrase is None else {"salt": salt.hex()})
    head = MAGIC + json.dumps(header, separators=(",", ":")).encode() + b"\n"
    file.write(head)
    seal = None if passphrase is None else _Seal(passphrase, salt, head)
    waiting = bytearray()
    for data in _packed(lines):
        waiting += data
        while len(waiting) > CHUNK:
            chunk, waiting = bytes(waiting[:CHUNK]), waiting[CHUNK:]
            file.write(chunk if seal is None else seal.close(chunk))
    file.write(bytes(waiting) if seal is None else seal.close(bytes(waiting), last=True))


def _packed(lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    packer = zstandard.ZstdCompressor(level=6).compressobj()
    for line in lines:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        yield packer.compress(text.encode("utf-8", "surrogatepass") + b"\n")
    yield packer.flush()


class _Seal:
    """Encrypts chunks in order, or decrypts them in the same order."""

    def __init__(self, passphrase: str, salt: bytes, head: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # seldom needed

        key = hashlib.scrypt(passphrase.encode("utf-8", "surrogatepass"), salt=salt, dklen=32, **SCRYPT)
        self.cipher = ChaCha20Poly1305(key)
        self.head = head
        self.count = 0

    def _nonce(self, last: bool) -> bytes:
        nonce = struct.pack(">Q3xB", self.count, last)
        self.count += 1
        return nonce

    def close(self, chunk: bytes, *, last: bool = False) -> bytes:
        sealed = self.cipher.encrypt(self._nonce(last), chunk, self.head)
        return struct.pack(">I", len(sealed)) + sealed

    def open(self, sealed: bytes, *, last: bool) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self.cipher.decrypt(self._nonce(last), sealed, self.head)
        except InvalidTag:
            what = "the passphrase is wrong" if self.count == 1 else "it was truncated or altered"
            raise BundleRefused(f"The bundle cannot be opened: {what}.", hint="nothing was changed") from None


class BundleFile:
    """A bundle that is opened once and read as often as needed.

    So the file that was checked is the file that is imported.
    """

    def __init__(self, path: Path, passphrase: str | None) -> None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise BundleRefused(f"{path} cannot be read: {error.strerror}") from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise BundleRefused(f"{path} is not a regular file.", hint="give the path of the bundle")
        self.file = os.fdopen(descriptor, "rb")
        self.size = found.st_size
        self.passphrase = passphrase
        try:
            self.head, self.salt = self._header(path)
        except BaseException:
            self.file.close()
            raise

    def close(self) -> None:
        self.file.close()

    @property
    def sealed(self) -> bool:
        """Whether it is encrypted, so only someone with the passphrase can have made it."""
        return self.salt is not None

    def _header(self, path: Path) -> tuple[bytes, bytes | None]:
        head = self.file.readline(LONGEST_HEADER)
        if not head.startswith(MAGIC) or not head.endswith(b"\n"):
            raise BundleRefused(f"{path} is not a Fazm Memory bundle.", hint="`fazm-memory export` makes one")
        try:
            header = json.loads(head[len(MAGIC) :])
            version, salt = header["version"], header.get("salt")
            salt_bytes = None if salt is None else bytes.fromhex(salt)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BundleRefused(f"The first line of the bundle cannot be read: {error}") from error
        if not isinstance(version, int) or version > VERSION:
            raise StoreNewer(
                f"The bundle has version {version}. This program reads up to {VERSION}.",
                hint="update Fazm Memory; nothing was changed",
            )
        if salt_bytes is not None and len(salt_bytes) != 16:
            raise BundleRefused("The bundle's salt is invalid.")
        if salt_bytes is not None and self.passphrase is None:
            raise BundleRefused(
                "The bundle is encrypted with a passphrase.",
                hint="--passphrase asks for it at the terminal, --passphrase-file FILE reads it from a file",
            )
        if salt_bytes is None and self.passphrase is not None:
            raise BundleRefused(
                "A passphrase was given, but the bundle is not encrypted.",
                hint="leave out the passphrase if you trust the bundle",
            )
        return head, salt_bytes

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every line, from the beginning. BundleRefused at the first error."""
        parts, length, total = [b""], 0, 0  # parts of a line that has not ended, and their length
        room = max(LEAST_ROOM, RATIO * self.size)
        for part in self._unpacked():
            total += len(part)
            if total > room:
                raise BundleRefused(f"The bundle unpacks to more than {room:,} bytes, which is too large.")
            first, *others = part.split(b"\n")
            parts.append(first)
            length += len(first)
            if length > LONGEST_LINE:
                raise BundleRefused("The bundle has a line that is longer than any event.")
            for other in others:
                yield _object(b"".join(parts))
                parts, length = [other], len(other)
        if length:
            raise BundleRefused("The bundle is truncated: it ends in the middle of a line.")

    def _unpacked(self) -> Iterator[bytes]:
        unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj()
        try:
            for chunk in self._chunks():
                # A little at a time, so that a zip bomb is noticed before it fills the memory.
                for at in range(0, len(chunk), 1024):
                    yield unpacker.decompress(chunk[at : at + 1024])
        except zstandard.ZstdError as error:
            raise BundleRefused(f"The bundle cannot be unpacked: {error}") from error
        if not unpacker.eof:
            raise BundleRefused("The bundle is truncated.")
        if unpacker.unused_data:
            raise BundleRefused("There is data after the end of the bundle.")

    def _chunks(self) -> Iterator[bytes]:
        self.file.seek(len(self.head))
        if self.salt is None or self.passphrase is None:
            while chunk := self.file.read(CHUNK):
                yield chunk
            return
        seal = _Seal(self.passphrase, self.salt, self.head)
        while frame := self.file.read(4):
            length = struct.unpack(">I", frame)[0] if len(frame) == 4 else 0
            if not TAG <= length <= CHUNK + TAG:
                raise BundleRefused("The bundle has a chunk of invalid length. It was truncated or altered.")
            sealed = self.file.read(length)
            last = self.file.tell() >= self.size
            yield seal.open(sealed, last=last)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BundleRefused(f"A line of the bundle is not JSON: {error!s:.80}") from error
    if not isinstance(value, dict):
        raise BundleRefused("A line of the bundle is not a JSON object.")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def forgotten_later(store: Store, row: SessionRow, count: int) -> set[int]:
    """Exported positions that an event after the exported range forgot."""
    if count >= row.head and store.as_of is None:
        return set()
    tombstones = Tombstones()
    tombstones.add_all(store.db, row.n, count)
    gone = store.db.execute(
        "SELECT id FROM event WHERE id >= ? AND id < ? AND payload IS NULL ORDER BY id",
        (event_id(row.n, 0), event_id(row.n, count)),
    ).fetchall()
    return set(tombstones.taken([id_ & SEQ_MASK for (id_,) in gone]))


def quarantined_later(store: Store, row: SessionRow, count: int) -> QuarantinedEvents | None:
    """Quarantine marks of the exported range that events after it made, or None."""
    exported = NOT_QUARANTINED
    for event in queries.find_events(store.log, row.n, row.id, EventQuery(stop=count, kind="quarantine")):
        if event.payload is not None:
            exported = apply_quarantine(exported, event.payload)
    now = store.quarantine_view.marks_of(row.n)
    current, exported = (
        QuarantinedEvents(marks.whole, frozenset(seq for seq in marks.seqs if seq < count))
        for marks in (now, exported)
    )
    return current if current != exported else None


ID = lazy_regex(r"[0-9a-f]{32}")
DIGEST = lazy_regex(r"[0-9a-f]{64}")
LATEST = 1 << 62


@dataclass(frozen=True)
class BundleEvent:
    """A checked event of a bundle: its payload as JSON, or None with its digest."""

    session: str
    seq: int
    at: int
    turn: int
    kind: str
    version: int
    actor: str
    source: str
    trust: str
    key: str | None
    payload: dict[str, Any] | None
    digest: str | None


@dataclass(frozen=True)
class BundleSession:
    """A session of a bundle. Its events follow."""

    id: str
    agent: str
    agent_session_id: str | None
    opened_at: int
    workspace: str | None
    held: QuarantinedEvents | None = None  # marks that its own events do not give


@dataclass(frozen=True)
class BundleVersion:
    """A version of a file, with its content or the reason why there is none."""

    root: str
    path: str
    at: int
    content: bytes | str
    mode: int | None = None


Line = BundleSession | BundleEvent | BundleVersion


# -- export ---------------------------------------------------------------------------------------------


def lineage(store: Store, row: SessionRow) -> list[tuple[SessionRow, int]]:
    """A session and its ancestors, oldest first.

    Each comes with the number of its events that are needed.
    """
    found = [(row, row.head)]
    while (last := found[-1][0]).parent is not None:
        parent = store.sessions.resolve(last.parent)
        found.append((parent, parent.head if last.parent_seq is None else last.parent_seq))
    return found[::-1]


def session_lines(
    store: Store,
    row: SessionRow,
    home: str,
    versions: Iterable[tuple[FileVersion, bytes | str]],
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[dict[str, Any]]:
    """Every line of a session's bundle. The last one has the counts and the digest."""
    running = hashlib.sha256()
    counts = {"sessions": 0, "events": 0, "versions": 0}
    for name, line in _body_lines(store, row, home, versions):
        counts[name] += 1
        _feed(running, line)
        yield line
        progress(counts["events"])
    yield {"end": counts, "sha256": running.hexdigest()}


def _body_lines(
    store: Store, row: SessionRow, home: str, versions: Iterable[tuple[FileVersion, bytes | str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for session, count in lineage(store, row):
        opened: dict[str, Any] = {
            "id": session.id, "agent": session.agent, "agent_session_id": session.agent_session_id,
            "opened_at": session.opened_at, "workspace": to_portable(session.workspace, home),
        }  # fmt: skip
        if (held := quarantined_later(store, session, count)) is not None:
            opened["held"] = {"whole": held.whole, "seqs": sorted(held.seqs)}
        yield "sessions", {"session": opened}
        for event in _events(store, session, count):
            yield "events", {"event": to_portable(event, home)}
    for version, content in versions:
        stored: dict[str, Any] = {
            "root": to_portable(version.root, home), "path": version.path, "at": version.at,
        }  # fmt: skip
        if version.mode is not None:
            stored["mode"] = version.mode
        if isinstance(content, bytes):
            stored |= {"digest": digest_of(content), "data": base64.b64encode(content).decode()}
        else:
            stored["reason"] = content
        yield "versions", {"version": stored}


def _events(store: Store, row: SessionRow, count: int) -> Iterator[dict[str, Any]]:
    forgotten = forgotten_later(store, row, count)  # imported as if they never had a payload
    rows = store.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? ORDER BY id",
        (event_id(row.n, 0), event_id(row.n, count)),
    )
    for id_, at, turn, kind, version, actor, source, trust, key, stored, digest, _mac in rows:
        plain = b"null" if stored is None else unpack(stored)
        if id_ & SEQ_MASK in forgotten:
            digest = hash_chain.digest_of(b"")
        yield {
            "seq": id_ & SEQ_MASK, "at": at, "turn": turn, "kind": kind, "version": version, "actor": actor,
            "source": source, "trust": trust, "key": key,
            "payload": json.loads(plain.decode("utf-8", "surrogatepass")),
        } | ({"digest": digest.hex()} if stored is None else {})  # fmt: skip


def versions_of(versions: FileVersions, paths: Iterable[str]) -> Iterator[tuple[FileVersion, bytes | str]]:
    """The stored versions of these files, each with its content or the reason."""
    for version in versions.histories(paths):
        content = None if version.digest is None else versions.read(version.digest)
        yield version, content if content is not None else version.reason or "its content was let go"


# -- import ---------------------------------------------------------------------------------------------


def parse_lines(lines: Iterable[dict[str, Any]]) -> Iterator[Line]:
    """Check the lines of a bundle and return them.

    BundleRefused or StoreNewer names the first bad line.
    """
    running = hashlib.sha256()
    counts = {"sessions": 0, "events": 0, "versions": 0}
    opened: dict[str, int] = {}
    session: BundleSession | None = None
    ended = False
    for number, line in enumerate(lines, 1):
        if ended:
            raise _bad(number, "there is data after the end")
        if "end" in line:
            if line.get("end") != counts or line.get("sha256") != running.hexdigest():
                raise _bad(number, "its checksum or its counts do not match")
            ended = True
            continue
        _feed(running, line)
        try:
            if "session" in line:
                counts["sessions"] += 1
                session = _session(line["session"], opened)
                opened[session.id] = 0
                yield session
            elif "event" in line and session is not None:
                counts["events"] += 1
                yield _event(line["event"], session, opened)
                opened[session.id] += 1
            elif "version" in line:
                counts["versions"] += 1
                yield _version(line["version"])
            else:
                raise ValueError("it is not a session, an event or a file version")
        except NewerVersion as error:
            raise StoreNewer(str(error), hint="update Fazm Memory; nothing was changed") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise _bad(number, str(error)[:200]) from error
    if not ended:
        raise BundleRefused("The bundle is truncated.", hint="copy it again; nothing was changed")


def _bad(number: int, what: str) -> BundleRefused:
    return BundleRefused(f"Line {number} of the bundle is invalid: {what}.", hint="nothing was changed")


def _session(raw: Mapping[str, Any], opened: Mapping[str, int]) -> BundleSession:
    id_, agent = _text(raw, "id"), _text(raw, "agent")
    if not ID.fullmatch(id_) or id_ in opened:
        raise ValueError("the session has no valid id")
    own, workspace = raw.get("agent_session_id"), raw.get("workspace")
    if not all(value is None or isinstance(value, str) for value in (own, workspace)):
        raise ValueError("agent_session_id and workspace must be text")
    held = raw.get("held")
    if held is not None:
        if not isinstance(held["whole"], bool) or not isinstance(held["seqs"], list):
            raise ValueError("its list of quarantined events cannot be read")
        held = QuarantinedEvents(
            held["whole"], frozenset(_number({"seqs": value}, "seqs") for value in held["seqs"])
        )
    return BundleSession(id_, agent[:200], own, _number(raw, "opened_at"), workspace, held)


def _event(raw: Mapping[str, Any], session: BundleSession, opened: Mapping[str, int]) -> BundleEvent:
    expected = opened[session.id]
    kind, version = _text(raw, "kind"), _number(raw, "version")
    seq = _number(raw, "seq")
    if seq != expected:
        raise ValueError(f"it has position {seq} instead of {expected}")
    payload, digest = raw.get("payload"), raw.get("digest")
    if payload is None:
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            raise ValueError("a forgotten event has no digest")
        if kind not in KINDS:
            raise NewerVersion(f"an event of kind {kind[:40]} was written by a newer Fazm Memory")
    else:
        _check_payload(read_payload(kind, version, payload), kind, expected, opened)
    for name, allowed in (("actor", ACTORS), ("source", SOURCES), ("trust", TRUSTS)):
        if _text(raw, name) not in allowed:
            raise ValueError(f"its {name} must be one of {', '.join(allowed)}")
    if expected == 0 and kind != "session.open":
        raise ValueError("the first event of a session must be session.open")
    key = raw.get("key")
    if key is not None and not isinstance(key, str):
        raise ValueError("its key must be text")
    return BundleEvent(session.id, seq, _number(raw, "at"), _number(raw, "turn"), kind, version, raw["actor"],
                raw["source"], raw["trust"], key, payload, digest)  # fmt: skip


def _check_payload(payload: Any, kind: str, position: int, opened: Mapping[str, int]) -> None:
    if isinstance(payload, SessionOpen) and payload.parent is not None:
        if payload.parent_seq is None or not 0 <= payload.parent_seq <= opened.get(payload.parent, -1):
            raise ValueError("it was forked from a position that is not in the bundle")
    elif isinstance(payload, Rewind) and not 0 <= payload.to <= position:
        raise ValueError("it is rewound to a position that it does not have")
    elif kind == "checkpoint":
        state_json(from_plain(payload.state))  # fails unless it is a state


def _version(raw: Mapping[str, Any]) -> BundleVersion:
    path, root, at = _text(raw, "path"), _text(raw, "root"), _number(raw, "at")
    why = unsafe_path_reason(path)
    if why is not None:
        raise ValueError(f"{path[:80]!r} is not a path in a workspace: {why}")
    mode = _number(raw, "mode") if "mode" in raw else None  # older bundles do not have it
    if mode is not None and not 0 <= mode <= PERMISSION_BITS:
        raise ValueError(f"the mode of {path[:80]!r} has more than permission bits")
    if "data" not in raw:
        return BundleVersion(root, path, at, _text(raw, "reason")[:500], mode)
    content = base64.b64decode(_text(raw, "data"), validate=True)
    if len(content) > FILE_CAP or digest_of(content) != raw.get("digest"):
        raise ValueError(f"the content of {path[:80]!r} does not match its digest or is too large")
    return BundleVersion(root, path, at, content, mode)


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw[name]
    if not isinstance(value, str):
        raise ValueError(f"its {name} must be text")
    return value


def _number(raw: Mapping[str, Any], name: str) -> int:
    value = raw[name]
    if isinstance(value, bool) or not isinstance(value, int) or not -LATEST < value < LATEST:
        raise ValueError(f"its {name} must be a number")
    return value


def _feed(running: Any, line: dict[str, Any]) -> None:
    text = json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    running.update(text.encode("utf-8", "surrogatepass") + b"\n")
