"""Importing a bundle, in one transaction.

Sessions that exist are compared event by event, never merged: the same events add nothing, later ones are
appended, anything else is refused. Trust is kept only from a known maker, and texts are redacted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fazm_memory.bundle.exporter import BundleEvent, BundleSession, BundleVersion, Line
from fazm_memory.errors import BundleRefused, Conflict
from fazm_memory.events import KINDS, Event, SessionOpen, codec, lowest_trust, read_payload, retained_payload
from fazm_memory.paths import to_local
from fazm_memory.records import dataclass, field, replace
from fazm_memory.store import (
    NewEvent,
    SessionHead,
    Store,
    Writer,
    believed_time,
    event_id,
    hash_chain,
    to_stored,
    write_quarantine,
)

Redact = Callable[[Any], Any]
NAME = 200
OURS = frozenset({"checkpoint", "quarantine"})


@dataclass
class BundleImport:
    sessions: list[str] = field(default_factory=list)
    added: int = 0
    known: int = 0
    versions: int = 0
    versions_known: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class LocalRules:
    """How a bundle is adapted to this machine.

    Home folder, moved folders, redaction, and whether its trust is kept.
    """

    home: str
    redact: Redact
    believed: bool
    moved: dict[str, str] = field(default_factory=dict)

    def local(self, event: BundleEvent) -> BundleEvent:
        """An event as it may be stored here."""
        payload = event.payload
        if payload is not None:
            payload = self.redact(to_local(payload, self.home, self.moved))
            for name in ("agent", "tool"):
                if isinstance(payload.get(name), str):
                    payload[name] = self.name(payload[name])
        key = event.key if event.key is None or self.redact(event.key) == event.key else None
        event = replace(event, payload=payload, key=key)
        if self.believed:
            return event
        if event.kind in OURS and event.payload is not None:
            # Checkpoints and quarantine marks count only from a known maker.
            event = replace(
                event, kind="unknown", version=KINDS["unknown"].version, payload={"type": event.kind}
            )
        return replace(event, trust=lowest_trust((event.trust, "unverified")))

    def name(self, text: str) -> str:
        return " ".join(str(self.redact(text)).split())[:NAME] or "unknown"


def import_sessions(
    store: Store,
    lines: Iterable[Line],
    here: LocalRules,
    *,
    arrived: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> BundleImport:
    """Import the sessions of a checked bundle.

    `arrived` is the time now: retention counts from there.
    """
    result = BundleImport()
    with store.writing() as writer:
        session: _Session | None = None
        for line in lines:
            if isinstance(line, BundleSession):
                if session is not None:
                    session.done()
                session = _Session(store, writer, line, here, result, arrived)
            elif isinstance(line, BundleEvent):
                assert session is not None, "a judged bundle opens a session before it tells of it"
                session.take(here.local(line))
                progress(result.added + result.known)
        if session is not None:
            session.done()
    return result


class _Session:
    """One session of the bundle, and what exists of it here."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        opened: BundleSession,
        here: LocalRules,
        result: BundleImport,
        arrived: int | None,
    ) -> None:
        self.writer, self.result, self.id, self.believed = writer, result, opened.id, here.believed
        self.arrived = arrived
        self.known_events: Iterator[Event] = iter(())
        self.marks = opened.held
        result.sessions.append(opened.id)
        row = store.db.execute("SELECT n FROM session WHERE id=?", (opened.id,)).fetchone()
        self.exists = row is not None
        if row is not None:
            self.head: SessionHead = writer.head(row[0])
            self.known_events = iter(list(store.log.slice(row[0], opened.id)))
            return
        own = opened.agent_session_id
        if own is not None and here.redact(own) != own:
            own = None  # it looks like a secret
        if own is not None:
            known = store.db.execute(
                "SELECT id FROM session WHERE agent_session_id=? AND agent=?", (own, opened.agent)
            ).fetchone()
            if known is not None:
                result.notes.append(
                    f"The session {own[:40]} of {opened.agent} is already here as {known[0][:8]}."
                    f" {opened.id[:8]} is imported beside it, without that name."
                )
                own = None
        self.head = writer.create(
            here.name(opened.agent), opened.opened_at, agent_session_id=own, session_id=opened.id,
            arrived=arrived,
        )  # fmt: skip

    def take(self, event: BundleEvent) -> None:
        known = next(self.known_events, None)
        if known is not None:
            self._compare(known, event)
            self.result.known += 1
            return
        if self.exists and not self.believed:
            raise Conflict(
                f"Session {self.id[:8]} is already here. Only an encrypted bundle or your own may add to it.",
                hint="nothing was changed; use --mine if you made the bundle yourself",
            )
        if self.head.head != event.seq:
            raise Conflict(
                f"Session {self.id[:8]} has {self.head.head} events here and cannot continue at {event.seq}.",
                hint="nothing was changed",
            )
        stored, digest, payload = None, bytes.fromhex(event.digest or ""), None
        if event.payload is not None:
            try:
                payload = read_payload(event.kind, event.version, event.payload)
            except codec.PayloadError as error:
                raise BundleRefused(f"event {event.seq} of {self.id[:8]}: {error}") from error
            if isinstance(payload, SessionOpen):
                payload = replace(payload, device=None)  # a new session of this machine, whoever recorded it
            stored = to_stored(payload)
            digest = hash_chain.digest_of(stored)
        key = None if event.key is None or self.writer.known(event.key) is not None else event.key
        at, claimed = (event.at, None) if self.arrived is None else believed_time(event.at, self.arrived)
        entry = NewEvent(
            event.kind, payload, at, event.actor, event.source, event.trust, event.turn, key,
            received=self.arrived, claimed=claimed,
        )  # fmt: skip
        self.writer.restore(self.head, entry, event.version, stored, digest)
        self.result.added += 1

    def _claimed(self, known: Event) -> int | None:
        query = "SELECT at FROM claimed WHERE event=?"
        row = self.writer.db.execute(query, (event_id(self.head.n, known.seq),)).fetchone()
        return None if row is None else int(row[0])

    def done(self) -> None:
        """After the last event: apply quarantine marks whose events are not in the bundle."""
        if self.marks is not None and self.believed and not self.exists:
            write_quarantine(self.writer.db, self.head.n, self.marks)

    def _compare(self, known: Event, event: BundleEvent) -> None:
        same = (known.kind, known.turn) == (event.kind, event.turn) and (
            known.at == event.at or self._claimed(known) == event.at
        )
        if same and known.payload is not None and event.payload is not None:
            payload = read_payload(event.kind, event.version, event.payload)
            # Of an event forgotten on either side, compare the structure that is left.
            bare = retained_payload(event.kind, payload)
            forgotten = bare is not None and bare in (payload, known.payload)
            same = bool(
                known.payload == payload
                or (forgotten and bare == retained_payload(known.kind, known.payload))
            )
        if not same:
            raise Conflict(
                f"Session {self.id[:8]} is already here and differs at position {event.seq}.",
                hint="it continued in two places; nothing was changed; fork it there and export the fork",
                details={"session": self.id, "seq": event.seq},
            )


def check_lines(lines: Iterable[Line]) -> BundleSession:
    """Check a whole bundle before any of it is imported. Return the exported session."""
    last: BundleSession | None = None
    folders: set[str] = set()
    for line in lines:
        if isinstance(line, BundleSession):
            last = line
            folders |= {(line.workspace or "").rstrip("/")} - {""}
        elif isinstance(line, BundleVersion) and not any(
            f"{line.root}/".startswith(f"{folder}/") for folder in folders
        ):
            raise BundleRefused(
                f"The bundle has files of {line.root[:80]!r}, outside of its sessions' folders."
            )
    if last is None:
        raise BundleRefused("The bundle contains no session.", hint="nothing was changed")
    return last


def import_versions(
    lines: Iterable[Line], here: LocalRules, keep: Callable[[BundleVersion], bool]
) -> tuple[int, int]:
    """Store the file versions of a checked bundle. Return how many are new and known."""
    new = known = 0
    for line in lines:
        if isinstance(line, BundleVersion):
            fresh = keep(replace(line, root=str(to_local(line.root, here.home, here.moved))))
            new, known = new + fresh, known + (not fresh)
    return new, known
