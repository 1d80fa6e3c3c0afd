"""Draining the spool: hook events become drafts, and a file goes only when what it told is durable.

Most events are recorded at once, together with the transcripts of their sessions. Some wait a little for the
transcript's better word; what that has told by then is not told again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from fazm_memory.capture.agents.fazm_sessions import fazm_sessions
from fazm_memory.capture.agents.reader import Places
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.folders_then import Folders
from fazm_memory.capture.hook_events import PROBE, HookEvent, NotAnEvent, read
from fazm_memory.capture.spool import Spool
from fazm_memory.log.store import Store
from fazm_memory.log.writer import Writer

SECOND = 1_000_000
HEARD = "hook:"  # in the store's meta table, with the agent's name: when its hook was last heard, and which


@dataclass(frozen=True)
class Drained:
    """A batch from the spool: what is told now, and what waits for its transcript."""

    now: tuple[HookEvent, ...] = ()
    patient: tuple[HookEvent, ...] = ()

    @property
    def events(self) -> tuple[HookEvent, ...]:
        return (*self.now, *self.patient)

    @property
    def transcripts(self) -> set[Path]:
        """The files that tell of the same sessions."""
        return {event.transcript for event in self.events if event.transcript is not None}

    def heard(self, writer: Writer) -> None:
        """Note that the hooks are alive, in the transaction that records what they told."""
        latest = {event.dropped.agent: event for event in self.events if event.name != PROBE}
        for agent, event in latest.items():
            told = json.dumps({"at": event.dropped.at, "event": event.name})
            writer.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (HEARD + agent, told))


class Drain:
    def __init__(self, spool: Spool, store: Store, places: Places) -> None:
        self.spool = spool
        self.store = store
        self.places = places
        self.folders = Folders(store.db)
        self._met: dict[Path, HookEvent] = {}

    def take(self) -> Drained:
        """The next batch, oldest first. What is no event is set aside with the reason."""
        dropped = self.spool.take()
        listed = fazm_sessions(self.places) if dropped else {}
        events: list[HookEvent] = []
        for one in dropped:
            try:
                # Once each, however long it waits: what a command did, its session knows from then on.
                event = self._met.get(one.path) or read(
                    one,
                    self.places,
                    listed=listed,
                    agent_of=self._agent_of,
                    known_to=self.folders.known_to,
                )
                events.append(event)
            except NotAnEvent as why:
                self.spool.set_aside(one.path, str(why))
        self._met = {event.dropped.path: event for event in events}
        return Drained(
            tuple(event for event in events if not event.patience),
            tuple(event for event in events if event.patience),
        )

    def drafts(self, events: tuple[HookEvent, ...]) -> list[Draft]:
        """What events tell. Sessions that were made in advance and never used end untold."""
        drafts = [draft for event in events for draft in event.drafts]
        used = {draft.session for draft in drafts if draft.kind != "session.close"}
        return [
            draft
            for draft in drafts
            if draft.kind != "session.close" or draft.session in used or self._agent_of(draft.session)
        ]

    def ripe(self, drained: Drained, now: int, *, last: bool = False) -> tuple[HookEvent, ...]:
        """Those that have waited enough, or all at the `last` look. What was told meanwhile goes."""
        ripe = []
        for event in drained.patient:
            if all(self._is_told(draft) for draft in event.drafts):
                self.spool.done([event.dropped])
            elif last or now >= due(event):
                ripe.append(event)
        return tuple(ripe)

    def _is_told(self, draft: Draft) -> bool:
        if draft.kind == "session.open":
            return True  # it goes with what it opens for
        return self.store.db.execute("SELECT 1 FROM event WHERE key=?", (draft.key,)).fetchone() is not None

    def _agent_of(self, session: str) -> str | None:
        found = self.store.db.execute(
            "SELECT agent FROM session WHERE agent_session_id=? LIMIT 1", (session,)
        ).fetchone()
        return None if found is None else str(found[0])


def due(event: HookEvent) -> int:
    """When an event has waited enough."""
    return event.dropped.at + round(event.patience * SECOND)
