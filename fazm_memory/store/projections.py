"""Projections of the log: search index, counts by minute, last event per source, snapshots.

They are updated in batches, because one row at a time they would cost more than the event itself. They share
one cursor per session, `session.indexed`; the table `waiting` names the sessions that are ahead of it. Events
that this process has just appended stay in memory and need not be read back, until another process writes:
it may have forgotten some of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fazm_memory.errors import NotFound, StoreDamaged, StoreNewer
from fazm_memory.events import FAILED, SOURCES, Event, kinds
from fazm_memory.session import title_of
from fazm_memory.store.event_log import SEQ_MASK, event_id
from fazm_memory.store.writer import UPDATE_HEAD, Writer

if TYPE_CHECKING:
    from fazm_memory.store.store import Store

# Events of all sessions that may wait. The companion indexes them after each burst, and a search before it
# reads; an append does so only when neither has run for this long.
INDEX_AFTER = 1000
LOOK_AFTER = 32  # appends after which the waiting events are counted again: other processes append too
BATCH = 500  # events indexed at a time
MINUTE = 60_000_000
UPSERT_MINUTE = (
    "INSERT INTO minute (session, minute, first, last, events, failures, actions, decisions, files, apps)"
    " VALUES (?,?,?,?,?,?,?,?,?,?)"
    " ON CONFLICT (session, minute) DO UPDATE SET first=min(first, excluded.first),"
    " last=max(last, excluded.last), events=events+excluded.events, failures=failures+excluded.failures,"
    " actions=actions+excluded.actions, decisions=decisions+excluded.decisions,"
    " files=files+excluded.files, apps=apps+excluded.apps"
)
COLUMN = {"action": 4, "decision": 5, "file": 6, "app": 7}  # of a kind in the values of `minutes_of`
UPSERT_SOURCE = (
    "INSERT INTO meta VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value=excluded.value"
    " WHERE json_extract(excluded.value, '$.at') >= json_extract(value, '$.at')"
)
BEHIND = (
    "SELECT s.n, s.id, s.head, s.indexed, s.snapped FROM waiting w JOIN standing s ON s.n = w.session"
    " ORDER BY s.n"
)
# The session's row may lag behind its latest calls; it is brought up to date with them.
SET_INDEXED = (
    "UPDATE session SET indexed=?2, (last_at, head, actions, failures, files_modified, mac) ="
    " (SELECT last_at, head, actions, failures, files_modified, mac FROM standing WHERE n=?1) WHERE n=?1"
)

NO_MAINTENANCE = f"kind NOT IN ({', '.join(repr(kind) for kind in sorted(kinds.MAINTENANCE_KINDS))})"

BehindRow = tuple[int, str, int, int, int]  # number, id, head, indexed, snapped


class Projections:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.log = store.log
        self.db = store.db
        self.recent = store.log.recent
        self.version: int | None = None
        self.room = 0  # events that may be appended before the waiting ones are counted again

    def behind(self) -> list[BehindRow]:
        """Sessions with events that are not in the projections yet."""
        return list(self.db.execute(BEHIND).fetchall())

    def after_write(self, writer: Writer) -> None:
        """Note what a transaction wrote, and catch up if enough events wait. In that transaction."""
        if writer.events:
            self._note(writer)
        if writer.changed or writer.asked:
            self._recount(writer)

    def _note(self, writer: Writer) -> None:
        newly: list[BehindRow] = []
        for number, events in writer.events.items():
            recent = self.recent.setdefault(number, [])
            head = writer.heads[number]
            if head.indexed == events[0].seq:
                newly.append((number, head.id, head.head, head.indexed, head.snapped))
                recent.clear()  # another process has indexed them
            elif recent and recent[-1].seq + 1 != events[0].seq:
                recent.clear()
            recent += events
            self.room -= len(events)
        if self.room <= 0 and self._index_if_many(newly):
            return
        for row in newly:
            self.db.execute("INSERT OR IGNORE INTO waiting VALUES (?)", row[:1])

    def _recount(self, writer: Writer) -> None:
        """Take the counts of sessions from their states, where appending alone cannot tell them."""
        for number in writer.changed | writer.asked:
            head = writer.heads[number]
            try:
                state = self.store.snapshots.state_at(number, head.id, head.head)
            except (NotFound, StoreDamaged, StoreNewer):
                continue  # the parent is not in this store, or the log is damaged: `verify` reports it
            head.questions = len(state.questions)
            if number in writer.changed:
                counts = (state.counts.get(name, 0) for name in ("actions", "failures", "files_modified"))
                head.actions, head.failures, head.files_modified = counts
            writer.db.execute(UPDATE_HEAD, head.counts())

    def _index_if_many(self, newly: list[BehindRow]) -> bool:
        behind = self.behind() + newly
        for number in self.recent.keys() - {row[0] for row in behind}:
            del self.recent[number]
        waiting = sum(head - indexed for _, _, head, indexed, _ in behind)
        many = waiting >= INDEX_AFTER
        if many:
            self._index(behind)
        self.room = min(LOOK_AFTER, INDEX_AFTER if many else INDEX_AFTER - waiting)
        return many

    def catch_up(self) -> int:
        """Index all waiting events. Return how many there were. In a transaction."""
        return self._index(self.behind())

    def name_again(self) -> None:
        """Make the titles of all sessions again from their events. In a transaction."""
        rows = self.db.execute("SELECT n, id, title FROM session").fetchall()
        for number, session, title in rows:
            try:
                found = self._title(number, session)
            except (NotFound, StoreDamaged, StoreNewer):  # `verify` reports it
                continue
            if found and found != title:
                self.db.execute("UPDATE session SET title=? WHERE n=?", (found, number))

    def _title(self, number: int, session: str) -> str | None:
        """The title of a session from its events, as `Writer` finds it."""
        rows = self.db.execute(
            "SELECT id, kind FROM event WHERE id >= ? AND id <= ?"
            " AND kind IN ('session.open', 'session.title', 'prompt') ORDER BY id",
            (event_id(number, 0), event_id(number, SEQ_MASK)),
        ).fetchall()
        title: str | None = None
        for id_, kind in rows:
            if kind == "prompt" and title:
                continue
            seq = id_ & SEQ_MASK
            payload = next(self.log.slice(number, session, seq, seq + 1)).payload
            if payload is not None:
                title = title_of(payload.text) if kind == "prompt" else payload.title or title
        return title

    def reset(self) -> None:
        """Drop what is in memory, after a rollback or when another process has written."""
        self.recent.clear()
        self.store.snapshots.reset()

    def _check_others(self) -> None:
        version = self.db.execute("PRAGMA data_version").fetchone()[0]
        if version != self.version:
            self.reset()
            self.version = version

    def _index(self, behind: Iterable[BehindRow]) -> int:
        self._check_others()
        total = 0
        sources: dict[str, Event] = {}
        for number, session, head, indexed, snapped in behind:
            at = indexed
            try:
                while at < head:
                    stop = min(head, at + BATCH)
                    events = self._events(number, session, at, stop)
                    self.store.search.documents.add(number, events)
                    minutes = minutes_of(events).items()
                    self.db.executemany(UPSERT_MINUTE, [(number, minute, *row) for minute, row in minutes])
                    _note_sources(sources, events)
                    at = stop
                    snapped = self.store.snapshots.advance(number, session, events, snapped)
            except (StoreDamaged, StoreNewer):
                # An unreadable event, which `verify` reports, must not stop the others. It stays waiting.
                self.db.execute("INSERT OR IGNORE INTO waiting VALUES (?)", (number,))
            self.db.execute(SET_INDEXED, (number, at))
            if at == head:
                self.db.execute("DELETE FROM waiting WHERE session=?", (number,))
            self.recent.pop(number, None)
            total += at - indexed
        self.db.executemany(
            UPSERT_SOURCE,
            [
                (f"source:{name}", json.dumps({"at": event.at, "session": event.session, "seq": event.seq}))
                for name, event in sources.items()
            ],
        )
        return total

    def _events(self, number: int, session: str, start: int, stop: int) -> list[Event]:
        """These events, from memory if all of them are there."""
        recent = self.recent.get(number)
        if recent and recent[0].seq <= start and stop <= recent[-1].seq + 1:
            first = recent[0].seq
            return [placed.event() for placed in recent[start - first : stop - first]]
        return list(self.log.slice(number, session, start, stop))

    def sources(self) -> dict[str, tuple[int, str]]:
        """The time and session of the last event of each source, with those that still wait."""
        rows = self.db.execute("SELECT key, value FROM meta WHERE key >= 'source:' AND key < 'source;'")
        stored = {key.removeprefix("source:"): json.loads(value) for key, value in rows.fetchall()}
        found = {name: (last["at"], last["session"]) for name, last in stored.items()}
        for number, session, head, indexed, _ in self.behind():
            tail = self.db.execute(
                f"SELECT source, max(at) FROM event WHERE id >= ? AND id < ? AND {NO_MAINTENANCE}"
                " GROUP BY source",
                (event_id(number, indexed), event_id(number, head)),
            )
            for source, at in tail.fetchall():
                name = _source_name(source)
                found[name] = max(found.get(name, (at, session)), (at, session))
        return dict(sorted(found.items()))


def minutes_of(events: Iterable[Event]) -> dict[int, list[int]]:
    """By minute: first and last position, events, failures, actions, decisions, files, apps."""
    minutes: dict[int, list[int]] = {}
    for event in events:
        row = minutes.setdefault(event.at // MINUTE, [event.seq, event.seq, 0, 0, 0, 0, 0, 0])
        row[1] = event.seq
        row[2] += 1
        outcome = event.payload.outcome if event.kind == "action" and event.payload is not None else None
        row[3] += outcome in FAILED and outcome != "denied"
        if (column := COLUMN.get(event.kind)) is not None:
            row[column] += 1
    return minutes


def _note_sources(sources: dict[str, Event], events: list[Event]) -> None:
    for event in events:
        if event.kind in kinds.MAINTENANCE_KINDS:
            continue  # a clean-up is no news of a source
        name = _source_name(event.source)
        known = sources.get(name)
        if known is None or known.at <= event.at:
            sources[name] = event


def _source_name(source: str) -> str:
    """The source, or `record` if an agent made up its own."""
    return source if source in SOURCES else "record"
