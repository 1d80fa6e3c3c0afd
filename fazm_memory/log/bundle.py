"""A session as lines: with the sessions it was forked from, and the kept versions of the files it touched.

Parents come first, events in order, positions dense. What is exported, brought in on another machine and
exported again is the same. Every line is judged before anything is written; a bundle is taken whole or not
at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fazm_memory.errors import BundleRefused, StoreNewer
from fazm_memory.log import chain
from fazm_memory.log.beyond import forgotten_since, held_since
from fazm_memory.log.quarantine import Held
from fazm_memory.log.rows import EVENT_COLUMNS, unpack
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.log.versions import BITS, FILE_CAP, Version, Versions, digest_of
from fazm_memory.model.events import KINDS, NewerVersion, read_payload
from fazm_memory.model.payloads import Rewind, SessionOpen
from fazm_memory.model.portable import portable
from fazm_memory.model.safe_path import refusal
from fazm_memory.model.state import from_plain
from fazm_memory.model.state import to_json as state_json
from fazm_memory.model.trust import ACTORS, SOURCES, TRUSTS

ID = re.compile(r"[0-9a-f]{32}")
DIGEST = re.compile(r"[0-9a-f]{64}")
LATEST = 1 << 62


@dataclass(frozen=True)
class Told:
    """One event of a bundle, judged: its payload is as JSON would hold it, or None with its old digest."""

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
class Opened:
    """A session that follows."""

    id: str
    agent: str
    agent_session_id: str | None
    opened_at: int
    workspace: str | None
    held: Held | None = None  # of it, where its own events say otherwise


@dataclass(frozen=True)
class Kept:
    """A version of a file, with its content or the reason why there is none."""

    root: str
    path: str
    at: int
    content: bytes | str
    mode: int | None = None


Line = Opened | Told | Kept


# -- going out -------------------------------------------------------------------------------------------


def lineage(store: Store, row: SessionRow) -> list[tuple[SessionRow, int]]:
    """A session and those it stands on, the eldest first, each with how many of its events are needed."""
    found = [(row, row.head)]
    while (last := found[-1][0]).parent is not None:
        parent = store.sessions.resolve(last.parent)
        found.append((parent, parent.head if last.parent_seq is None else last.parent_seq))
    return found[::-1]


def told(
    store: Store,
    row: SessionRow,
    home: str,
    versions: Iterable[tuple[Version, bytes | str]],
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[dict[str, Any]]:
    """Every line of a session's bundle. The last one vouches for all before it."""
    running = hashlib.sha256()
    counts = {"sessions": 0, "events": 0, "versions": 0}
    for name, line in _told(store, row, home, versions):
        counts[name] += 1
        _feed(running, line)
        yield line
        progress(counts["events"])
    yield {"end": counts, "sha256": running.hexdigest()}


def _told(
    store: Store, row: SessionRow, home: str, versions: Iterable[tuple[Version, bytes | str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for one, count in lineage(store, row):
        opened: dict[str, Any] = {
            "id": one.id, "agent": one.agent, "agent_session_id": one.agent_session_id,
            "opened_at": one.opened_at, "workspace": portable(one.workspace, home),
        }  # fmt: skip
        if (held := held_since(store, one, count)) is not None:
            opened["held"] = {"whole": held.whole, "seqs": sorted(held.seqs)}
        yield "sessions", {"session": opened}
        for event in _events(store, one, count):
            yield "events", {"event": portable(event, home)}
    for version, content in versions:
        kept: dict[str, Any] = {
            "root": portable(version.root, home), "path": version.path, "at": version.at,
        }  # fmt: skip
        if version.mode is not None:
            kept["mode"] = version.mode
        if isinstance(content, bytes):
            kept |= {"digest": digest_of(content), "data": base64.b64encode(content).decode()}
        else:
            kept["reason"] = content
        yield "versions", {"version": kept}


def _events(store: Store, row: SessionRow, count: int) -> Iterator[dict[str, Any]]:
    unsaid = forgotten_since(store, row, count)  # there it is brought in as what never had a payload
    rows = store.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? ORDER BY id",
        (event_id(row.n, 0), event_id(row.n, count)),
    )
    for id_, at, turn, kind, version, actor, source, trust, key, stored, digest, _mac in rows:
        plain = b"null" if stored is None else unpack(stored)
        if id_ & SEQ_MASK in unsaid:
            digest = chain.digest_of(b"")
        yield {
            "seq": id_ & SEQ_MASK, "at": at, "turn": turn, "kind": kind, "version": version, "actor": actor,
            "source": source, "trust": trust, "key": key,
            "payload": json.loads(plain.decode("utf-8", "surrogatepass")),
        } | ({"digest": digest.hex()} if stored is None else {})  # fmt: skip


def versions_of(versions: Versions, paths: Iterable[str]) -> Iterator[tuple[Version, bytes | str]]:
    """The kept versions of these files, each with its content or why there is none."""
    for version in versions.histories(paths):
        content = None if version.digest is None else versions.read(version.digest)
        yield version, content if content is not None else version.reason or "its content was let go"


# -- coming in -------------------------------------------------------------------------------------------


def judged(lines: Iterable[dict[str, Any]]) -> Iterator[Line]:
    """The lines of a bundle, each judged; BundleRefused or StoreNewer names the first that is not right."""
    running = hashlib.sha256()
    counts = {"sessions": 0, "events": 0, "versions": 0}
    opened: dict[str, int] = {}
    session: Opened | None = None
    ended = False
    for number, line in enumerate(lines, 1):
        if ended:
            raise _bad(number, "something follows the end")
        if "end" in line:
            if line.get("end") != counts or line.get("sha256") != running.hexdigest():
                raise _bad(number, "it does not hold what it held when it was made")
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
                raise ValueError("it is neither a session, nor an event of one, nor a version")
        except NewerVersion as error:
            raise StoreNewer(str(error), hint="update Fazm Memory; nothing was changed") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise _bad(number, str(error)[:200]) from error
    if not ended:
        raise BundleRefused("the bundle has no end: it was cut", hint="copy it again; nothing was changed")


def _bad(number: int, what: str) -> BundleRefused:
    return BundleRefused(f"line {number} of the bundle is not right: {what}", hint="nothing was changed")


def _session(raw: Mapping[str, Any], opened: Mapping[str, int]) -> Opened:
    id_, agent = _text(raw, "id"), _text(raw, "agent")
    if not ID.fullmatch(id_) or id_ in opened:
        raise ValueError("its session has no id of its own")
    own, workspace = raw.get("agent_session_id"), raw.get("workspace")
    if not all(one is None or isinstance(one, str) for one in (own, workspace)):
        raise ValueError("its session's names are no text")
    held = raw.get("held")
    if held is not None:
        if not isinstance(held["whole"], bool) or not isinstance(held["seqs"], list):
            raise ValueError("what is held back of its session is not said")
        held = Held(held["whole"], frozenset(_number({"seqs": one}, "seqs") for one in held["seqs"]))
    return Opened(id_, agent[:200], own, _number(raw, "opened_at"), workspace, held)


def _event(raw: Mapping[str, Any], session: Opened, opened: Mapping[str, int]) -> Told:
    expected = opened[session.id]
    kind, version = _text(raw, "kind"), _number(raw, "version")
    seq = _number(raw, "seq")
    if seq != expected:
        raise ValueError(f"position {seq} stands where {expected} belongs")
    payload, digest = raw.get("payload"), raw.get("digest")
    if payload is None:
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            raise ValueError("a forgotten payload left no digest")
        if kind not in KINDS:
            raise NewerVersion(f"an event of kind {kind[:40]} was written by a newer Fazm Memory")
    else:
        _judge_payload(read_payload(kind, version, payload), kind, expected, opened)
    for name, allowed in (("actor", ACTORS), ("source", SOURCES), ("trust", TRUSTS)):
        if _text(raw, name) not in allowed:
            raise ValueError(f"its {name} is none of {', '.join(allowed)}")
    if expected == 0 and kind != "session.open":
        raise ValueError("a session begins with its opening")
    key = raw.get("key")
    if key is not None and not isinstance(key, str):
        raise ValueError("its key is no text")
    return Told(session.id, seq, _number(raw, "at"), _number(raw, "turn"), kind, version, raw["actor"],
                raw["source"], raw["trust"], key, payload, digest)  # fmt: skip


def _judge_payload(payload: Any, kind: str, position: int, opened: Mapping[str, int]) -> None:
    if isinstance(payload, SessionOpen) and payload.parent is not None:
        if payload.parent_seq is None or not 0 <= payload.parent_seq <= opened.get(payload.parent, -1):
            raise ValueError("it was forked from a place that is not in the bundle")
    elif isinstance(payload, Rewind) and not 0 <= payload.to <= position:
        raise ValueError("it is rewound to a place it does not have")
    elif kind == "checkpoint":
        state_json(from_plain(payload.state))  # whatever is not shaped like a state fails here, not later


def _version(raw: Mapping[str, Any]) -> Kept:
    path, root, at = _text(raw, "path"), _text(raw, "root"), _number(raw, "at")
    why = refusal(path)
    if why is not None:
        raise ValueError(f"{path[:80]!r} is no file of a workspace: {why}")
    mode = _number(raw, "mode") if "mode" in raw else None  # older bundles do not have it
    if mode is not None and not 0 <= mode <= BITS:
        raise ValueError(f"the mode of {path[:80]!r} is more than who may read, write and run it")
    if "data" not in raw:
        return Kept(root, path, at, _text(raw, "reason")[:500], mode)
    content = base64.b64decode(_text(raw, "data"), validate=True)
    if len(content) > FILE_CAP or digest_of(content) != raw.get("digest"):
        raise ValueError(f"the content of {path[:80]!r} is not what its digest says, or too large")
    return Kept(root, path, at, content, mode)


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw[name]
    if not isinstance(value, str):
        raise ValueError(f"its {name} is no text")
    return value


def _number(raw: Mapping[str, Any], name: str) -> int:
    value = raw[name]
    if isinstance(value, bool) or not isinstance(value, int) or not -LATEST < value < LATEST:
        raise ValueError(f"its {name} is no number")
    return value


def _feed(running: Any, line: dict[str, Any]) -> None:
    text = json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    running.update(text.encode("utf-8", "surrogatepass") + b"\n")
