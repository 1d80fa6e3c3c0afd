"""Reading the spool: hook events become drafts, and a file is deleted when its events are durable.

Most events are recorded at once, with the transcripts of their sessions. Some wait a little, because the
transcript reports the same better; what it has reported by then is not recorded again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from fazm_memory.agents import Places, TaskList, fazm_sessions
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.events import Draft
from fazm_memory.ingest.hook_events import PROBE, HookEvent, InvalidHookEvent, read_hook_event
from fazm_memory.ingest.spool import Spool
from fazm_memory.records import dataclass
from fazm_memory.store import SEQ_MASK, Store, Writer, event_id

SECOND = 1_000_000
HOOK_SEEN_PREFIX = (
    "hook:"  # in the store's meta table, with the agent's name: when its hook was last heard, and which
)


# Session, folder, time, whether a call begins.
KnownTo = Callable[[str, str, int, bool], KnownFolders | None]


@dataclass(frozen=True)
class SpoolBatch:
    """A batch from the spool: events to record now, and events that wait for their transcript."""

    now: tuple[HookEvent, ...] = ()
    waiting: tuple[HookEvent, ...] = ()

    @property
    def events(self) -> tuple[HookEvent, ...]:
        return (*self.now, *self.waiting)

    @property
    def transcripts(self) -> set[Path]:
        """The transcripts of the same sessions."""
        return {event.transcript for event in self.events if event.transcript is not None}

    def save_last_events(self, writer: Writer) -> None:
        """Store each agent's last hook event, in the transaction that records the events."""
        latest = {event.spooled.agent: event for event in self.events if event.name != PROBE}
        for agent, event in latest.items():
            value = json.dumps({"at": event.spooled.at, "event": event.name})
            writer.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (HOOK_SEEN_PREFIX + agent, value))


class SpoolReader:
    """Reads the spool. `known_to` returns what a session knows of its folders at a moment."""

    def __init__(
        self, spool: Spool, store: Store, places: Places, known_to: KnownTo = lambda *moment: None
    ) -> None:
        self.spool = spool
        self.store = store
        self.places = places
        self.known_to = known_to
        self._met: dict[Path, HookEvent] = {}
        self._tasks: dict[str, TaskList] = {}

    def take(self) -> SpoolBatch:
        """The next batch, oldest first. Invalid files are set aside with the reason.

        A file that is still being written is left for later. Its next write wakes the companion.
        """
        files = self.spool.take()
        listed = fazm_sessions(self.places) if files else {}
        events: list[HookEvent] = []
        for file in files:
            try:
                # Read once, however long it waits: reading changes what the session knows of its folders.
                event = self._met.get(file.path) or read_hook_event(
                    file,
                    self.places,
                    listed=listed,
                    agent_of=self._agent_of,
                    known_to=self.known_to,
                    tasks_of=self._tasks_of,
                )
                events.append(event)
            except InvalidHookEvent as why:
                if not (why.may_be_part and file.may_grow):
                    self.spool.set_aside(file.path, str(why))
        self._met = {event.spooled.path: event for event in events}
        return SpoolBatch(
            tuple(event for event in events if not event.wait_seconds),
            tuple(event for event in events if event.wait_seconds),
        )

    def drafts(self, events: tuple[HookEvent, ...]) -> list[Draft]:
        """The drafts of events. The end of a session that was never used is left out."""
        drafts = [draft for event in events for draft in event.drafts]
        used = {draft.session for draft in drafts if draft.kind != "session.close"}
        return [
            draft
            for draft in drafts
            if draft.kind != "session.close" or draft.session in used or self._agent_of(draft.session)
        ]

    def ripe(self, drained: SpoolBatch, now: int, *, last: bool = False) -> tuple[HookEvent, ...]:
        """Events that have waited long enough, or all with `last`. Deletes those recorded meanwhile."""
        ripe = []
        for event in drained.waiting:
            if all(self._is_recorded(draft) for draft in event.drafts):
                self.spool.done([event.spooled])
            elif last or now >= due_at(event):
                ripe.append(event)
        return tuple(ripe)

    def _is_recorded(self, draft: Draft) -> bool:
        if draft.kind == "session.open":
            return True  # recorded with the events that it opens the session for
        return self.store.db.execute("SELECT 1 FROM event WHERE key=?", (draft.key,)).fetchone() is not None

    def _tasks_of(self, session: str) -> TaskList:
        """The tasks of a session without a transcript: as recorded last, and as read since."""
        if session not in self._tasks:
            self._tasks[session] = TaskList(self._recorded_tasks(session))
        return self._tasks[session]

    def _recorded_tasks(self, session: str) -> dict[str, dict[str, str]]:
        row = self.store.sessions.by_key(session, "claude-code")
        if row is None:
            return {}
        (last,) = self.store.db.execute(
            "SELECT max(id) FROM event WHERE id >= ? AND id <= ? AND kind='todos'",
            (event_id(row.n, 0), event_id(row.n, SEQ_MASK)),
        ).fetchone()
        if last is None:
            return {}
        seq = last & SEQ_MASK
        payload = next(self.store.log.slice(row.n, row.id, seq, seq + 1)).payload
        items = () if payload is None else payload.items
        return {item.id: {"text": item.text, "status": item.status} for item in items if item.id}

    def _agent_of(self, session: str) -> str | None:
        found = self.store.db.execute(
            "SELECT agent FROM session WHERE agent_session_id=? LIMIT 1", (session,)
        ).fetchone()
        return None if found is None else str(found[0])


def due_at(event: HookEvent) -> int:
    """When an event has waited long enough."""
    return event.spooled.at + round(event.wait_seconds * SECOND)
