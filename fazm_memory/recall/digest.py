"""The digest: "Yesterday you did…", by the user's calendar, for a workspace or across all of them.

The day before today; when nothing happened then, the last active day by its name. What was done earlier today
comes first, and older sessions only with what they left. What a person pinned is told however old it is. It
reads rows and snapshots: its cost does not grow with the log.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Any

from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.model.clock import micros, moment
from fazm_memory.model.organized import organized
from fazm_memory.model.state import SessionState
from fazm_memory.recall.earlier import earlier_items
from fazm_memory.recall.file_time import file_time
from fazm_memory.recall.items import NOTHING, Item, items_of, preference
from fazm_memory.recall.pins import pinned_of, told_anew
from fazm_memory.recall.recent import recent

LATEST = 40  # sessions looked at
OLDER = 6  # sessions before the day that may still say what they left open
ON_A_DAY = 8  # sessions of one day: no context has room for more, and each costs a fold
SHORT = 8  # characters of a session's id that its items are named by
MINUTE = 60_000_000


@dataclass(frozen=True)
class Request:
    """What was asked, where, and whose word it counts as."""

    text: str
    seq: int
    trust: str


@dataclass(frozen=True)
class Task:
    """What one session was about on a day: the request in the user's words, and its items."""

    session: SessionRow
    label: str
    requests: tuple[Request, ...]
    items: tuple[Item, ...]
    began: int
    ended: int
    worth: float
    since: int = 0  # where the day begins in it
    began_on: str | None = None  # the day it began on, when that is before
    first: Request | None = None  # what it was asked then
    also_on: str | None = None  # told of today, it was at work on the last day before, too


@dataclass(frozen=True)
class Digest:
    workspace: str | None
    now: int
    day: str
    tasks: tuple[Task, ...] = field(default=())
    preferences: tuple[Item, ...] = field(default=())

    @property
    def items(self) -> list[Item]:
        """Every item, of the user's preferences and of all tasks."""
        return [*self.preferences, *(item for task in self.tasks for item in task.items)]


def digest(
    store: Store,
    *,
    now: int,
    workspace: str | None = None,
    besides: str | None = None,
    pinned: Collection[str] = (),
) -> Digest:
    """What the next session should know. `besides` names the agent session that is asking, if it has one;
    `pinned` are ids of items that are told whatever their age."""
    rows = [row for row in looked_at(store, workspace) if _other(row, besides)]
    today = moment(now).date()
    tasks: list[Task] = []
    taken: set[int] = set()
    named = ""
    days = _days(store, rows, today)
    for label, day, worth in days:
        active = [(row, span) for row in rows if row.n not in taken and (span := _active(store, row, day))]
        taken |= {row.n for row, _ in active}
        active.sort(key=lambda one: one[0].workspace != workspace)  # the folder itself before those in it
        tasks += [_task(store, row, label, span, worth, pinned, today) for row, span in active[:ON_A_DAY]]
        named = named or (label if active else "")
    before, last, _ = days[-1]
    tasks = [
        replace(task, also_on=before) if task.label != before and _active(store, task.session, last) else task
        for task in tasks
    ]
    for row in [row for row in rows if row.n not in taken][:OLDER]:
        tasks.append(_task(store, row, *_long_ago(row, today), pinned, today))
    told = {task.session.n for task in tasks}
    for row in _pinned_rows(store, workspace, pinned):
        if row.n not in told and _other(row, besides):
            task = _task(store, row, *_long_ago(row, today), pinned, today)
            own_items = tuple(item for item in task.items if item.id in pinned)
            tasks.append(replace(task, items=own_items, requests=task.requests if own_items else ()))
    kept = [task for task in tasks if task.items or task.requests]
    kept.sort(key=lambda task: -max([task.worth * 10, *(item.score for item in task.items)]))
    own = tuple(preference(row) for row in store.facts.current() if row.trust == "user")
    return Digest(workspace, now, named or "before", tuple(kept), own)


def _other(row: SessionRow, besides: str | None) -> bool:
    return besides is None or besides not in (row.agent_session_id, row.id)


def _pinned_rows(store: Store, workspace: str | None, pinned: Collection[str]) -> list[SessionRow]:
    """The sessions of what is pinned, where this folder is told of them at all."""
    if not pinned:
        return []
    begins = {begin for id_ in pinned if len(begin := id_.partition(":")[0]) == SHORT}
    return store.ward.rows(store.sessions.in_workspace(workspace, limit=None, begins=begins))


def looked_at(store: Store, workspace: str | None, pinned: Collection[str] = ()) -> list[SessionRow]:
    """The sessions a digest may tell of, latest first, and those of what is pinned."""
    rows = store.ward.rows(store.sessions.in_workspace(workspace, limit=LATEST))
    known = {row.n for row in rows}
    return rows + [row for row in _pinned_rows(store, workspace, pinned) if row.n not in known]


def _days(store: Store, rows: list[SessionRow], today: date) -> list[tuple[str, date, float]]:
    """Today so far, and yesterday or, when nothing happened then, the last active day."""
    yesterday = today - timedelta(days=1)
    midnight = _midnight(today)
    before = [at for row in rows if (at := _last_before(store, row, midnight)) is not None]
    last = moment(max(before)).date() if before else yesterday
    return [("earlier today", today, 1.1), (_name(last, today), last, 1.0)]


def _last_before(store: Store, row: SessionRow, end: int) -> int | None:
    """The last moment before another at which a session was at work."""
    if row.last_at < end or row.opened_at >= end:
        return row.last_at if row.last_at < end else None
    (minute,) = store.db.execute(
        "SELECT max(minute) FROM minute WHERE session=? AND minute < ?", (row.n, end // MINUTE)
    ).fetchone()
    return None if minute is None else int(minute) * MINUTE


def _midnight(day: date) -> int:
    """The first moment of a day where the user is."""
    return micros(datetime.combine(day, time()).astimezone())


def _name(day: date, today: date) -> str:
    if day == today - timedelta(days=1):
        return f"yesterday, {day:%A} {day.day} {day:%B}"
    if day == today:
        return "today"
    year = f" {day.year}" if day.year != today.year else ""
    return f"{day:%A} {day.day} {day:%B}{year}"


def _active(store: Store, row: SessionRow, day: date) -> tuple[int, int, int] | None:
    """The first position and the first and last moment of a session on a day, if it was active then."""
    # After its last moment there are only notes of the memory's own keeping.
    begin, end = _midnight(day), min(_midnight(day + timedelta(days=1)), row.last_at + 1)
    first, low, high = store.db.execute(
        "SELECT min(first), min(minute), max(minute) FROM minute"
        " WHERE session=? AND minute >= ? AND minute < ?",
        (row.n, begin // MINUTE, -(-end // MINUTE)),
    ).fetchone()
    return None if first is None else (first, low * MINUTE, high * MINUTE)


def _long_ago(row: SessionRow, today: date) -> tuple[str, None, float]:
    """How a session before the day is told of: its label, no span, and what it is still worth."""
    day = moment(row.last_at).date()
    age = max(1, (today - day).days)
    return f"on {_name(day, today)}", None, 0.7 * 0.9 ** min(age, 30)


def _task(
    store: Store,
    row: SessionRow,
    label: str,
    span: tuple[int, int, int] | None,
    worth: float,
    pinned: Collection[str],
    today: date,
) -> Task:
    state = store.ward.state_at(row.n, row.id, row.head)
    since, began, ended = span or (0, row.opened_at, row.last_at)
    # Of days long past the end is not read: what is in their state is enough.
    end = recent(store, row, state) if span is not None or state.running else NOTHING
    learned = organized(state, file_time)
    items = items_of(state, learned, since=since, worth=worth, end=end)
    items += earlier_items(state, since, worth, end)
    requests = _requests(state, since)
    before = (_request(one) for one in state.requests.values() if one["seq"] < since and _said(one))
    first = next(before, None)
    if wanted := pinned_of(row, pinned):
        asked = [*requests, first] if first else requests
        here = {item.id for item in items} | {f"{row.id[:8]}:request:{one.seq}" for one in asked}
        if since:  # said on an earlier day of it
            all_of_it = items_of(state, learned, since=0, worth=worth, end=end)
            items += [item for item in all_of_it if item.id in pinned and item.id not in here]
            here |= {item.id for item in items}
        items += told_anew(store, row, [id_ for id_ in wanted if id_ not in here], worth)
    goes_on = span is None or first or any(item.seq < since and item.section == "DONE" for item in items)
    opened = moment(row.opened_at).date()
    began_on = _name(opened, today) if opened < moment(began if span else ended).date() else None
    return Task(
        row, label, requests, tuple(items), began, ended, worth, since, began_on if goes_on else None, first
    )


def _requests(state: SessionState, since: int) -> tuple[Request, ...]:
    """The first request and the latest ones: what it was about, and where it went."""
    asked = [_request(one) for one in state.requests.values() if one["seq"] >= since and _said(one)]
    return tuple(asked if len(asked) <= 3 else [asked[0], *asked[-2:]])


def _said(one: dict[str, Any]) -> bool:
    """Whether a request has words: one that only repeated what we had given has none left."""
    return bool((one["text"] or "").strip())


def _request(one: dict[str, Any]) -> Request:
    return Request(one["text"] or "", one["seq"], one["trust"])
