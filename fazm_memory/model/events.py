"""The event: an envelope with provenance around a typed payload, and the versions each kind has had.

An event never changes. A kind that must change gets a new version and an upcaster from the old one; an
event of a newer version than this program knows is refused, because guessing at it would corrupt the fold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fazm_memory.model import codec, payloads
from fazm_memory.model.codec import PayloadError

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Kind:
    """A kind of event: its payload class, its present version, and how older versions are read."""

    name: str
    payload: type
    version: int = 1
    upcasters: Mapping[int, Upcaster] = field(default_factory=dict)
    durable: bool = False  # the tier that retention may never forget


def _kinds(*kinds: Kind) -> dict[str, Kind]:
    return {kind.name: kind for kind in kinds}


KINDS: dict[str, Kind] = _kinds(
    Kind("session.open", payloads.SessionOpen, durable=True),
    Kind("session.title", payloads.SessionTitle, durable=True),
    Kind("session.pause", payloads.LifecycleMove, durable=True),
    Kind("session.resume", payloads.LifecycleMove, durable=True),
    Kind("session.close", payloads.LifecycleMove, durable=True),
    Kind("session.archive", payloads.LifecycleMove, durable=True),
    Kind("session.restore", payloads.LifecycleMove, durable=True),
    Kind("prompt", payloads.Prompt),
    Kind("message", payloads.Message),
    Kind("action.start", payloads.ActionStart),
    Kind("action", payloads.Action),
    Kind("action.amend", payloads.ActionAmend),
    Kind("decision", payloads.Decision, durable=True),
    Kind("fact", payloads.Fact, durable=True),
    Kind("fact.retract", payloads.FactRetract, durable=True),
    Kind("pending", payloads.Pending, durable=True),
    Kind("pending.done", payloads.PendingDone, durable=True),
    Kind("file", payloads.FileChange),
    Kind("seen", payloads.Seen),
    Kind("evicted", payloads.Evicted, durable=True),
    Kind("handoff", payloads.Handoff, durable=True),
    Kind("handoff.answer", payloads.HandoffAnswer, durable=True),
    Kind("rewind", payloads.Rewind, durable=True),
    Kind("gap", payloads.Gap, durable=True),
    Kind("app", payloads.AppSpan),
    Kind("usage", payloads.Usage, durable=True),
    Kind("quarantine", payloads.Quarantine, durable=True),
    Kind("forgotten", payloads.Forgotten, durable=True),
    Kind("checkpoint", payloads.Checkpoint, durable=True),
    Kind("recovered", payloads.Recovered, durable=True),
    Kind("unknown", payloads.Unknown),
)


class UnknownKind(PayloadError):
    """There is no such kind of event."""


class NewerVersion(PayloadError):
    """The event was written by a newer program than this one."""


class Event(NamedTuple):
    """One thing that happened. `payload` is None once it has been forgotten; the digest stays."""

    session: str
    seq: int
    at: int  # microseconds since 1970, UTC: integers hash and sort the same everywhere
    turn: int
    kind: str
    version: int
    actor: str
    source: str
    trust: str
    payload: Any
    digest: str
    prev: str
    mac: str = ""


def payload_class(kind: str) -> type:
    known = KINDS.get(kind)
    if known is None:
        raise UnknownKind(f"there is no kind of event named {kind[:60]!r}")
    return known.payload


def read_payload(kind: str, version: int, raw: Mapping[str, Any]) -> Any:
    """The typed payload of a stored event, brought up to the present version of its kind."""
    known = KINDS.get(kind)
    if known is None or version > known.version:
        raise NewerVersion(f"an event of kind {kind} version {version} was written by a newer Fazm Memory")
    for old in range(version, known.version):
        raw = known.upcasters[old](dict(raw))
    return codec.decode(known.payload, raw)


def canonical_json(value: Any) -> bytes:
    """One spelling for equal values: sorted keys, compact, UTF-8.

    Also of what is no JSON, as NaN: it is the log that refuses it, in words.
    """
    spelled = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return spelled.encode("utf-8", "surrogatepass")


def input_hash(tool: str, value: Any) -> str:
    """Equal calls have equal hashes: how a retry is recognised."""
    return hashlib.sha256(tool.encode() + b"\0" + canonical_json(value)).hexdigest()[:32]


TARGETS = ("command", "file_path", "path", "url", "query", "pattern", "prompt")
TARGET = 160


def target_of(value: Any) -> str:
    """What a call was about, on one line: its command, its file, or the first thing it was given."""
    if isinstance(value, Mapping):
        named = [value[name] for name in TARGETS if name in value]
        value = next(iter(named or value.values()), "")
    if isinstance(value, (list, tuple)):
        value = " ".join(str(one) for one in value[:20])
    line = " ".join(str("" if value is None else value)[: 4 * TARGET].split())
    return line if len(line) <= TARGET else line[: TARGET - 1] + "…"
