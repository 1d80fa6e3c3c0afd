"""What goes into the log and what comes back: an entry without a position, and the position it got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from fazm_memory.log.tables import HOUR
from fazm_memory.model import lifecycle
from fazm_memory.model.events import Event


@dataclass(slots=True)
class SessionHead:
    """A session's row while it is written to."""

    n: int
    id: str
    agent: str
    agent_session_id: str | None
    title: str | None
    workspace: str | None
    lifecycle: lifecycle.Lifecycle
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
    shown: tuple[Any, ...] = ()  # its face as the row has it

    def counts(self) -> tuple[Any, ...]:
        """What changes with every event, as UPDATE_HEAD takes it."""
        return (self.lifecycle, self.last_at, self.head, self.turn, self.actions, self.failures,
                self.files_modified, self.questions, self.mac, self.n)  # fmt: skip

    def face(self) -> tuple[Any, ...]:
        """What seldom changes, as UPDATE_FACE takes it."""
        return (self.agent, self.title, self.workspace, self.background, self.last_at // HOUR, self.n)


@dataclass(frozen=True, slots=True)
class Entry:
    """An event to be: scrubbed and typed, without a position yet."""

    kind: str
    payload: Any
    at: int
    actor: str
    source: str
    trust: str
    turn: int | None = None
    key: str | None = None
    expected_seq: int | None = None


class Appended(NamedTuple):
    """The position an event got; or has, when it was told before."""

    session: str
    seq: int
    duplicate: bool = False


class Placed(NamedTuple):
    """An event that has just got its place. Most are looked at later, together: until then it stays this."""

    session: str
    seq: int
    turn: int
    version: int
    entry: Entry
    digest: bytes
    prev: bytes
    mac: bytes

    def event(self) -> Event:
        one = self.entry
        return Event(self.session, self.seq, one.at, self.turn, one.kind, self.version, one.actor,
                     one.source, one.trust, one.payload, self.digest.hex(), self.prev.hex(),
                     self.mac.hex())  # fmt: skip
