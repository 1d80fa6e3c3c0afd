"""What follows the log in batches: the full-text index, the minutes, the sources, the snapshots.

They share one cursor per session, `session.indexed`; `waiting` names the sessions that are ahead of it. One
row at a time these would cost more than the event itself. What this process has just appended is kept in
memory, so that it need not be read back; it is let go as soon as anybody else has written, since they may
have forgotten some of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from fazm_memory.errors import StoreDamaged, StoreNewer
from fazm_memory.log.eventlog import EventLog
from fazm_memory.log.search import SearchIndex
from fazm_memory.log.snapshots import Snapshots
from fazm_memory.log.tables import event_id
from fazm_memory.log.writer import Writer
from fazm_memory.model.events import Event
from fazm_memory.model.payloads import FAILED
from fazm_memory.model.trust import SOURCES

# Events that may wait, of all sessions together. Appends only wait for the log: the companion takes in what
# waits after each burst, a search before it looks, and an append only when neither has come by for so long.
INDEX_AFTER = 1000
LOOK_AFTER = 32  # others append too
RUN = 500  # events taken in at a time
MINUTE = 60_000_000
UPSERT_MINUTE = (
    "INSERT INTO minute (session, minute, first, last, events, failures, actions, decisions, files, apps)"
    " VALUES (?,?,?,?,?,?,?,?,?,?)"
    " ON CONFLICT (session, minute) DO UPDATE SET first=min(first, excluded.first),"
    " last=max(last, excluded.last), events=events+excluded.events, failures=failures+excluded.failures,"
    " actions=actions+excluded.actions, decisions=decisions+excluded.decisions,"
    " files=files+excluded.files, apps=apps+excluded.apps"
)
COLUMN = {"action": 4, "decision": 5, "file": 6, "app": 7}  # where a kind is counted, after first and last
UPSERT_SOURCE = (
    "INSERT INTO meta VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value=excluded.value"
    " WHERE json_extract(excluded.value, '$.at') >= json_extract(value, '$.at')"
)
BEHIND = (
    "SELECT s.n, s.id, s.head, s.indexed, s.snapped FROM waiting w JOIN standing s ON s.n = w.session"
    " ORDER BY s.n"
)
# The row comes up to what the latest calls tell, before the session waits no more.
TAKEN_IN = (
    "UPDATE session SET indexed=?2, (last_at, head, actions, failures, files_modified, mac) ="
    " (SELECT last_at, head, actions, failures, files_modified, mac FROM standing WHERE n=?1) WHERE n=?1"
)

Behind = tuple[int, str, int, int, int]  # number, id, head, indexed, snapped


class Follower:
    def __init__(self, log: EventLog, search: SearchIndex, snapshots: Snapshots) -> None:
        self.log = log
        self.db = log.db
        self.recent = log.recent
        self.search = search
        self.snapshots = snapshots
        self.version: int | None = None
        self.room = 0  # events that may be appended before it is looked up again how many wait

    def behind(self) -> list[Behind]:
        """Sessions with events that were not taken in yet."""
        return list(self.db.execute(BEHIND).fetchall())

    def after(self, writer: Writer) -> None:
        """Note what was just written, and take in all that waits if it is enough. In its transaction."""
        if not writer.events:
            return
        newly = []
        for number, events in writer.events.items():
            recent = self.recent.setdefault(number, [])
            head = writer.heads[number]
            if head.indexed == events[0].seq:
                newly.append((number, head.id, head.head, head.indexed, head.snapped))
                recent.clear()  # others have taken it in
            elif recent and recent[-1].seq + 1 != events[0].seq:
                recent.clear()
            recent += events
            self.room -= len(events)
        if self.room <= 0 and self._enough_waits(newly):
            return
        for one in newly:
            self.db.execute("INSERT OR IGNORE INTO waiting VALUES (?)", one[:1])

    def _enough_waits(self, newly: list[Behind]) -> bool:
        """Whether as much waits as may; then it is taken in. Looked up only when it can be so."""
        behind = self.behind() + newly
        for number in self.recent.keys() - {one[0] for one in behind}:
            del self.recent[number]
        waiting = sum(head - indexed for _, _, head, indexed, _ in behind)
        enough = waiting >= INDEX_AFTER
        if enough:
            self._take_in(behind)
        self.room = min(LOOK_AFTER, INDEX_AFTER if enough else INDEX_AFTER - waiting)
        return enough

    def catch_up(self) -> int:
        """Take in all that waits; how many events that was. In a transaction."""
        return self._take_in(self.behind())

    def let_go(self) -> None:
        """Keep nothing in memory: what was rolled back did not happen, what was forgotten is not known."""
        self.recent.clear()
        self.snapshots.let_go()

    def _check_others(self) -> None:
        version = self.db.execute("PRAGMA data_version").fetchone()[0]
        if version != self.version:
            self.let_go()
            self.version = version

    def _take_in(self, behind: Iterable[Behind]) -> int:
        self._check_others()
        taken = 0
        sources: dict[str, Event] = {}
        for number, session, head, indexed, snapped in behind:
            at = indexed
            try:
                while at < head:
                    stop = min(head, at + RUN)
                    events = self._run(number, session, at, stop)
                    self.search.documents.add(number, events)
                    self._count(number, events)
                    note_sources(sources, events)
                    at = stop
                    snapped = self.snapshots.follow(number, session, events, snapped)
            except (StoreDamaged, StoreNewer):
                # `verify` tells which event cannot be read. Here it waits, and keeps nothing else from being
                # recorded and found.
                self.db.execute("INSERT OR IGNORE INTO waiting VALUES (?)", (number,))
            self.db.execute(TAKEN_IN, (number, at))
            if at == head:
                self.db.execute("DELETE FROM waiting WHERE session=?", (number,))
            self.recent.pop(number, None)
            taken += at - indexed
        told = [(f"source:{name}", _told(event)) for name, event in sources.items()]
        self.db.executemany(UPSERT_SOURCE, told)
        return taken

    def _run(self, number: int, session: str, start: int, stop: int) -> list[Event]:
        """These events, from memory if all of them are there."""
        recent = self.recent.get(number)
        if recent and recent[0].seq <= start and stop <= recent[-1].seq + 1:
            first = recent[0].seq
            return [placed.event() for placed in recent[start - first : stop - first]]
        return list(self.log.slice(number, session, start, stop))

    def _count(self, number: int, events: list[Event]) -> None:
        minutes = minutes_of(events)
        self.db.executemany(UPSERT_MINUTE, [(number, minute, *row) for minute, row in minutes.items()])

    def sources(self) -> dict[str, tuple[int, str]]:
        """When each source last told us something, and of which session: what was noted and what waits."""
        rows = self.db.execute("SELECT key, value FROM meta WHERE key >= 'source:' AND key < 'source;'")
        noted = {key.removeprefix("source:"): json.loads(value) for key, value in rows.fetchall()}
        found = {name: (told["at"], told["session"]) for name, told in noted.items()}
        for number, session, head, indexed, _ in self.behind():
            tail = self.db.execute(
                "SELECT source, max(at) FROM event WHERE id >= ? AND id < ? GROUP BY source",
                (event_id(number, indexed), event_id(number, head)),
            )
            for source, at in tail.fetchall():
                name = _door(source)
                found[name] = max(found.get(name, (at, session)), (at, session))
        return dict(sorted(found.items()))


def minutes_of(events: Iterable[Event]) -> dict[int, list[int]]:
    """By minute: first and last position, events, failures, actions, decisions, files, apps."""
    minutes: dict[int, list[int]] = {}
    for event in events:
        row = minutes.setdefault(event.at // MINUTE, [event.seq, event.seq, 0, 0, 0, 0, 0, 0])
        row[1] = event.seq
        row[2] += 1
        row[3] += event.kind == "action" and event.payload is not None and event.payload.outcome in FAILED
        if (column := COLUMN.get(event.kind)) is not None:
            row[column] += 1
    return minutes


def note_sources(sources: dict[str, Event], events: list[Event]) -> None:
    for event in events:
        name = _door(event.source)
        known = sources.get(name)
        if known is None or known.at <= event.at:
            sources[name] = event


def _door(source: str) -> str:
    """The door of a source: one that agents name in words of their own came in by `record`."""
    return source if source in SOURCES else "record"


def _told(event: Event) -> str:
    return json.dumps({"at": event.at, "session": event.session, "seq": event.seq})
