"""The verbs of looking: days, sessions, events. What the timeline shows, a page at a time.

Nothing here waits for what follows the log in batches: a little that it has not taken in yet is read from the
log itself, and much is taken in first, unless somebody else writes just now.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from fazm_memory.errors import InvalidRequest
from fazm_memory.log import calendar, pages
from fazm_memory.log.pages import EventFilter
from fazm_memory.log.paths import effective
from fazm_memory.log.sessions import SessionRow
from fazm_memory.model.clock import micros, moment
from fazm_memory.model.events import Event
from fazm_memory.model.slim import slim_row
from fazm_memory.verbs.telling import Telling

DAY = 86_400_000_000
EVERY = EventFilter()
RECENT = 200  # sessions whose agents and folders are offered as filters


def day_bounds(day: date) -> tuple[int, int]:
    """A day of the user's calendar, half-open; not every one has 24 hours."""
    begin, end = (datetime.combine(one, time()).astimezone() for one in (day, day + timedelta(days=1)))
    return micros(begin), micros(end)


def with_times(row: SessionRow) -> dict[str, Any]:
    """The contract's session, and when it was as a drawing needs it."""
    return {
        **row.to_json(),
        "opened_ms": row.opened_at // 1000,
        "last_ms": row.last_at // 1000,
        "day": f"{moment(row.last_at):%Y-%m-%d}",
    }


class Browsing(Telling):
    """What `Memory` can show. Mixed into it; not for use alone."""

    def days(self, *, cursor: str | None = None, limit: int = 30) -> dict[str, Any]:
        """Days on which anything happened, newest first."""
        before = self.now() + DAY if cursor is None else pages.read_cursor(cursor, "d", 1)[0]
        items: list[dict[str, Any]] = []
        self.store.take_in_much()
        with self.store.db.reading():
            last = calendar.latest_minute(self.store, before)
            while last is not None and len(items) < limit:
                day = moment(last).date()
                begin, end = day_bounds(day)
                count = calendar.counted(self.store, begin, end, end - begin).get(0) or calendar.Count()
                items.append(
                    {"day": f"{day:%Y-%m-%d}", "from_ms": begin // 1000, "to_ms": end // 1000,
                     "sessions": len(count.sessions), "events": count.events, "failures": count.failures}
                )  # fmt: skip
                before = begin
                last = calendar.latest_minute(self.store, before)
        return {"items": items, "next": None if last is None else f"d.{before}"}

    def session_page(
        self,
        *,
        day: date | None = None,
        outcome: str | None = None,
        words: str | None = None,
        background: bool = False,
        cursor: str | None = None,
        limit: int = 50,
        **equal: str | None,
    ) -> dict[str, Any]:
        """Sessions, latest first; with the first page the agents and folders there are to choose from."""
        wanted = (words or "").casefold().split()
        if outcome not in (None, "ok", "failed", "waiting"):
            raise InvalidRequest(
                f"there is no outcome {outcome[:40]!r} of a session", hint="ok, failed or waiting"
            )

        def matches(row: SessionRow) -> bool:
            text = f"{row.title}\n{row.workspace}\n{row.agent}\n{row.id}".casefold()
            ended = "waiting" if row.questions else "failed" if row.failures else "ok"
            if outcome is not None and ended != outcome and not (outcome == "failed" and row.failures):
                return False
            return all(word in text for word in wanted)

        self.store.take_in_much()
        with self.store.db.reading():
            only = None
            if day is not None:
                begin, end = day_bounds(day)
                counts = calendar.counted(self.store, begin, end, end - begin).get(0)
                only = counts.sessions if counts is not None else set()
            page = pages.session_page(
                self.store, cursor=cursor, limit=limit, only=only, background=background,
                matches=matches if wanted or outcome else None, **equal,
            )  # fmt: skip
            told: dict[str, Any] = {"items": [with_times(row) for row in page.items], "next": page.next}
            if cursor is None:
                told |= self.choices_of_filters()
        return told

    def choices_of_filters(self) -> dict[str, list[str]]:
        """The agents and folders of the latest sessions."""
        rows = self.store.sessions.listing(limit=RECENT)
        return {
            "agents": sorted({row.agent for row in rows}),
            "workspaces": list(dict.fromkeys(row.workspace for row in rows if row.workspace)),
        }

    def event_page(
        self,
        session: str,
        wanted: EventFilter = EVERY,
        *,
        turns: tuple[int, int] | None = None,
        since: int | None = None,
        until: int | None = None,
        cursor: str | None = None,
        limit: int = 100,
        backwards: bool = False,
    ) -> dict[str, Any]:
        """Events of a session as slim rows, with the marks that other events give them."""
        with self.store.db.reading():
            row = self.store.sessions.resolve(session)
            narrowed = self._narrowed(row, wanted, turns, since, until)
            page = pages.event_page(
                self.store, row, narrowed, cursor=cursor, limit=limit, backwards=backwards
            )
            items = self.marked(row, page.items)
        return {"items": items, "next": page.next, "head": row.head}

    def _narrowed(
        self,
        row: SessionRow,
        wanted: EventFilter,
        turns: tuple[int, int] | None,
        since: int | None,
        until: int | None,
    ) -> EventFilter:
        """Turns and times as positions."""
        low, high = wanted.start, row.head if wanted.stop is None else wanted.stop
        if turns is not None:
            position = self.store.sessions.turn_position
            low = max(low, position(row.n, turns[0] - 1, row.head) if turns[0] > 0 else 0)
            high = min(high, position(row.n, turns[1], row.head))
        if since is not None:
            low = max(low, calendar.position_at(self.store, row.n, since - 1))
        if until is not None:
            high = min(high, calendar.position_at(self.store, row.n, until - 1))
        return EventFilter(**(wanted.__dict__ | {"start": low, "stop": high}))

    def marked(self, row: SessionRow, events: Sequence[Event]) -> list[dict[str, Any]]:
        """Slim rows with what later events, branches and the quarantine say of them."""
        counting = effective(self.store.db, row.n, row.head)
        branches: dict[int, list[str]] = {}
        for child in self.store.sessions.children(row.id):
            branches.setdefault((child.parent_seq or 0) - 1, []).append(child.id)
        held = self.store.ward.held(row.n)
        rows = []
        for event in events:
            told = slim_row(event)
            if not any(start <= event.seq < stop for start, stop in counting):
                told["marks"].append("rewound")
            if held.has(event.seq):
                told["marks"].append("quarantined")
            if event.seq in branches:
                told["marks"].append("fork")
                told["branches"] = branches[event.seq]
            rows.append(told)
        return rows

    def position_at(self, session: str, at: int) -> dict[str, Any]:
        """Where a session stood at a moment."""
        row = self.store.sessions.resolve(session)
        with self.store.db.reading():
            return {
                "session": row.id,
                "at": calendar.position_at(self.store, row.n, at),
                "ms": at // 1000,
                "head": row.head,
            }
