"""Taking a bundle in: the same session, at home here, in one transaction.

What is here already is compared, event by event, never merged: the same again adds nothing, more of the same
goes on from where it ends, anything else is refused. What a bundle claims of trust holds only when its maker
is known; its texts are scrubbed like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from fazm_memory.errors import BundleRefused, Conflict
from fazm_memory.log import chain, quarantine
from fazm_memory.log.bundle import Kept, Line, Opened, Told
from fazm_memory.log.entries import Entry, SessionHead
from fazm_memory.log.rows import to_stored
from fazm_memory.log.store import Store
from fazm_memory.log.writer import Writer
from fazm_memory.model import codec
from fazm_memory.model.events import KINDS, Event, read_payload
from fazm_memory.model.portable import local
from fazm_memory.model.structure import bones
from fazm_memory.model.trust import lowest

Scrub = Callable[[Any], Any]
NAME = 200
OURS = frozenset({"checkpoint", "quarantine"})


@dataclass
class Taken:
    """What came of it."""

    sessions: list[str] = field(default_factory=list)
    added: int = 0
    known: int = 0
    versions: int = 0
    versions_known: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Here:
    """What this machine makes of a bundle: where home is, what moved, what is believed, what is cleaned."""

    home: str
    scrub: Scrub
    believed: bool
    moved: dict[str, str] = field(default_factory=dict)

    def local(self, told: Told) -> Told:
        """An event as it may be kept here."""
        payload = None if told.payload is None else self.scrub(local(told.payload, self.home, self.moved))
        for name in ("agent", "tool"):
            if payload is not None and isinstance(payload.get(name), str):
                payload[name] = self.name(payload[name])
        key = told.key if told.key is None or self.scrub(told.key) == told.key else None
        told = replace(told, payload=payload, key=key)
        if self.believed:
            return told
        if told.kind in OURS and told.payload is not None:
            # Only we ourselves may say where a session stood, or what is held back of it.
            told = replace(
                told, kind="unknown", version=KINDS["unknown"].version, payload={"type": told.kind}
            )
        return replace(told, trust=lowest((told.trust, "unverified")))

    def name(self, text: str) -> str:
        return " ".join(str(self.scrub(text)).split())[:NAME] or "unknown"


def take(
    store: Store, lines: Iterable[Line], here: Here, *, progress: Callable[[int], None] = lambda done: None
) -> Taken:
    """Bring in the sessions of a judged bundle."""
    taken = Taken()
    with store.writing() as writer:
        session: _Session | None = None
        for line in lines:
            if isinstance(line, Opened):
                if session is not None:
                    session.done()
                session = _Session(store, writer, line, here, taken)
            elif isinstance(line, Told):
                assert session is not None, "a judged bundle opens a session before it tells of it"
                session.take(here.local(line))
                progress(taken.added + taken.known)
        if session is not None:
            session.done()
    return taken


class _Session:
    """One session of the bundle, beside what is here of it already."""

    def __init__(self, store: Store, writer: Writer, opened: Opened, here: Here, taken: Taken) -> None:
        self.writer, self.taken, self.id, self.believed = writer, taken, opened.id, here.believed
        self.here: Iterator[Event] = iter(())
        self.held = opened.held
        taken.sessions.append(opened.id)
        row = store.db.execute("SELECT n FROM session WHERE id=?", (opened.id,)).fetchone()
        self.here_already = row is not None
        if row is not None:
            self.head: SessionHead = writer.head(row[0])
            self.here = iter(list(store.log.slice(row[0], opened.id)))
            return
        own = opened.agent_session_id
        if own is not None and here.scrub(own) != own:
            own = None  # a name that looks like a secret is none that we keep
        if own is not None:
            known = store.db.execute(
                "SELECT id FROM session WHERE agent_session_id=? AND agent=?", (own, opened.agent)
            ).fetchone()
            if known is not None:
                taken.notes.append(
                    f"{opened.agent} has its session {own[:40]} here already as {known[0][:8]}:"
                    f" {opened.id[:8]} is brought in beside it, without that name"
                )
                own = None
        self.head = writer.create(
            here.name(opened.agent), opened.opened_at, agent_session_id=own, session_id=opened.id
        )

    def take(self, told: Told) -> None:
        known = next(self.here, None)
        if known is not None:
            self._compare(known, told)
            self.taken.known += 1
            return
        if self.here_already and not self.believed:
            raise Conflict(
                f"session {self.id[:8]} is here already; only a sealed bundle may add to it, or your own",
                hint="nothing was changed; --mine, if you made it yourself",
            )
        if self.head.head != told.seq:
            raise Conflict(
                f"session {self.id[:8]} ends at {self.head.head} here and cannot go on at {told.seq}",
                hint="nothing was changed",
            )
        stored, digest, payload = None, bytes.fromhex(told.digest or ""), None
        if told.payload is not None:
            try:
                payload = read_payload(told.kind, told.version, told.payload)
            except codec.PayloadError as error:
                raise BundleRefused(f"event {told.seq} of {self.id[:8]}: {error}") from error
            stored = to_stored(payload)
            digest = chain.digest_of(stored)
        key = None if told.key is None or self.writer.known(told.key) is not None else told.key
        entry = Entry(told.kind, payload, told.at, told.actor, told.source, told.trust, told.turn, key)
        self.writer.restore(self.head, entry, told.version, stored, digest)
        self.taken.added += 1

    def done(self) -> None:
        """All of it is here: hold back what was held back by a word that did not come along."""
        if self.held is not None and self.believed and not self.here_already:
            quarantine.keep(self.writer.db, self.head.n, self.held)

    def _compare(self, known: Event, told: Told) -> None:
        same = (known.kind, known.at, known.turn) == (told.kind, told.at, told.turn)
        if same and known.payload is not None and told.payload is not None:
            payload = read_payload(told.kind, told.version, told.payload)
            # Forgotten here or there it has lost its words, not what it means.
            bare = bones(told.kind, payload)
            forgotten = bare is not None and bare in (payload, known.payload)
            same = bool(known.payload == payload or (forgotten and bare == bones(known.kind, known.payload)))
        if not same:
            raise Conflict(
                f"session {self.id[:8]} is here already and differs at position {told.seq}",
                hint="it went on in two places: nothing was changed; fork it there and move the fork",
                details={"session": self.id, "seq": told.seq},
            )


def judge(lines: Iterable[Line]) -> Opened:
    """Look at all of a bundle before any of it is taken; the session it was made for."""
    last: Opened | None = None
    folders: set[str] = set()
    for line in lines:
        if isinstance(line, Opened):
            last = line
            folders |= {(line.workspace or "").rstrip("/")} - {""}
        elif isinstance(line, Kept) and not any(f"{line.root}/".startswith(f"{one}/") for one in folders):
            raise BundleRefused(f"the bundle has files of {line.root[:80]!r}, where no session of it worked")
    if last is None:
        raise BundleRefused("the bundle holds no session", hint="nothing was changed")
    return last


def take_versions(lines: Iterable[Line], here: Here, keep: Callable[[Kept], bool]) -> tuple[int, int]:
    """Keep the versions of a judged bundle; how many are new and how many known."""
    new = known = 0
    for line in lines:
        if isinstance(line, Kept):
            fresh = keep(replace(line, root=str(local(line.root, here.home, here.moved))))
            new, known = new + fresh, known + (not fresh)
    return new, known
