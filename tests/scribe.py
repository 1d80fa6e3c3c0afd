"""A scribe writes sessions for tests: payloads in, events in a real store, one second after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fazm_memory.events import codec
from fazm_memory.events import event as payloads
from fazm_memory.events.event import KINDS, Event
from fazm_memory.session.state import SessionState
from fazm_memory.store.event_log import AppendResult, NewEvent
from fazm_memory.store.sessions import SessionRow
from fazm_memory.store.store import Store

T0 = 1_790_000_000_000_000
SECOND = 1_000_000
KIND_OF = {kind.payload: kind.name for kind in KINDS.values() if kind.payload is not payloads.LifecycleMove}


def move(name: str, reason: str | None = None) -> tuple[str, Any]:
    """A lifecycle move: the one payload class that several kinds share."""
    return f"session.{name}", payloads.LifecycleMove(reason)


def named(result: Any) -> tuple[str, Any]:
    """The kind of a payload and the payload, whether the kind was given or not."""
    return result if isinstance(result, tuple) else (KIND_OF[type(result)], result)


def entry(result: Any, **more: Any) -> NewEvent:
    kind, payload = named(result)
    given: dict[str, Any] = {"at": T0, "actor": "agent", "source": "record", "trust": "agent"}
    return NewEvent(kind, payload, **(given | more))


def event(result: Any, seq: int = 0, **more: Any) -> Event:
    """An event as the log would give it, without a log."""
    kind, payload = named(result)
    given: dict[str, Any] = {
        "session": "s", "at": T0 + seq * SECOND, "turn": 0, "version": 1, "actor": "agent",
        "source": "record", "trust": "agent", "digest": "", "prev": "",
    }  # fmt: skip
    return Event(seq=seq, kind=kind, payload=payload, **(given | more))


def events(*result: Any) -> list[Event]:
    """A short history from position 0."""
    return [event(one, seq) for seq, one in enumerate(result)]


class Scribe:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = T0

    def open(self, *result: Any, agent: str = "fazm", **fields: Any) -> str:
        """A new session that begins with these; its id."""
        with self.store.writing() as writer:
            head = writer.create(agent, self.clock, agent_session_id=fields.get("agent_session_id"))
            writer.append(head, entry(payloads.SessionOpen(agent=agent, **fields), at=self.clock))
        self.tell(head.id, *result)
        return head.id

    def tell(self, session: str, *results: Any, **more: Any) -> list[AppendResult]:
        """Append these to a session in one transaction."""
        number = self.row(session).n
        made = []
        with self.store.writing() as writer:
            for one in results:
                self.clock += SECOND
                made.append(writer.append(writer.head(number), entry(one, **({"at": self.clock} | more))))
        return made

    def row(self, session: str) -> SessionRow:
        return self.store.sessions.resolve(session)

    def events(self, session: str, start: int = 0, stop: int | None = None) -> list[Event]:
        return list(self.store.log.slice(self.row(session).n, session, start, stop))

    def payloads(self, session: str) -> list[Any]:
        return [one.payload for one in self.events(session)]

    def state(self, session: str, at: int | None = None) -> SessionState:
        row = self.row(session)
        with self.store.db.reading():
            return self.store.snapshots.state_at(row.n, row.id, row.head if at is None else at)


def plain(payloads_: Sequence[Any]) -> list[dict[str, Any]]:
    return [codec.encode(one) for one in payloads_]
