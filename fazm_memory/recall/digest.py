"""The digest: "Yesterday you did…", for a workspace or the whole machine.

It has the sessions of today, those of the last active day before, a few older ones, and pinned items of any
age. It reads session rows and snapshots, so its cost does not grow with the log.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from fazm_memory.clock import modification_time, to_datetime, to_micros
from fazm_memory.engines import naming
from fazm_memory.recall.dialogue import Utterance, read_dialogue
from fazm_memory.recall.exports import candidate_sessions, pinned_sessions
from fazm_memory.recall.habits import habit_items
from fazm_memory.recall.items import (
    UNKNOWN_END,
    Item,
    SessionEnd,
    branch_of,
    is_bare_answer,
    is_remark,
    preference_item,
    read_session_end,
    session_items,
)
from fazm_memory.recall.later_changes import (
    Work,
    as_known_later,
    own_part,
    ranked_names,
    read_work,
    without_handed_over,
)
from fazm_memory.recall.lines import Dialogue, dialogue_items
from fazm_memory.recall.open_items import open_items
from fazm_memory.recall.repository_items import (
    added_items,
    plan_title_of,
    refused_items,
    repository_items,
    settled_files,
    tickets_of,
    todos_of,
)
from fazm_memory.records import dataclass, field, replace
from fazm_memory.session import (
    SessionState,
    fold,
    initial_state,
    learn_from_session,
)
from fazm_memory.store import SessionRow, Store, events_of_item

EARLIER_DECISIONS = 4  # of the earlier days of a session, the latest
EARLIER_REQUESTS = 6  # of the earlier days of a session, the latest
EARLIER_FACTOR = 0.45  # for items of earlier days of the same session
SUMMARY_KINDS = frozenset({"files", "more", "place", "changed", "looked"})  # one item for each day


def earlier_items(state: SessionState, since: int, worth: float, end: SessionEnd) -> list[Item]:
    """What a session did before position `since`.

    Open items and the first request belong to the day.
    """
    said = end.said if end.said is not None and end.said[1] < since else None
    looked = tuple(source for source in end.looked_at if source[1] < since)
    part = earlier_part(state, since)
    first = next((seq for seq in state.requests if seq < since), None)
    worth *= EARLIER_FACTOR
    end = SessionEnd(said, looked, solved_by=end.solved_by)
    items = session_items(part, naming.NamingReport(), since=0, worth=worth, end=end, headed=False)
    items = [
        replace(item, label="earlier") if item.kind in ("request", "decision") and state.branch else item
        for item in items
    ]
    return [
        replace(item, id=f"{item.id}:before") if item.kind in SUMMARY_KINDS else item
        for item in items
        if not (item.kind == "request" and item.seq == first) and not is_bare_answer(item)
    ]


def earlier_part(state: SessionState, since: int) -> SessionState:
    """The part of a state that happened before a position and is finished."""
    return SessionState(
        session=state.session,
        at=since,
        workspace=state.workspace,
        branch=state.branch,
        files_modified={path: entry for path, entry in state.files_modified.items() if entry.seq < since},
        folders=_before(state.folders, since, "last_seq"),
        decisions_made=dict(list(_before(state.decisions_made, since).items())[-EARLIER_DECISIONS:]),
        errors={
            key: error
            for key, error in _before(state.errors, since).items()
            if error["mended_by"] is not None
        },
        answered=_before(state.answered, since),
        requests={
            seq: request
            for seq, request in list(_before(state.requests, since).items())[-EARLIER_REQUESTS:]
            if not state.branch  # its commits and decisions say more a day later
        },
    )


def _before(table: Mapping[Any, dict[str, Any]], since: int, place: str = "seq") -> dict[Any, dict[str, Any]]:
    return {key: entry for key, entry in table.items() if entry[place] < since}


def pinned_of(row: SessionRow, pinned: Collection[str]) -> list[str]:
    """The pinned items of a session."""
    return sorted(id_ for id_ in pinned if id_.startswith(f"{row.id[:8]}:"))


def rebuild_items(store: Store, row: SessionRow, ids: Collection[str], worth: float) -> list[Item]:
    """Build items again from their own events. Items that no longer hold are left out."""
    rebuilt: list[Item] = []
    for id_ in ids:
        what, _, name = id_.partition(":")[2].partition(":")
        events = events_of_item(store, row, what, name)
        state = fold(initial_state(row.id), events)
        items = session_items(state, naming.NamingReport(), since=0, worth=worth, headed=False)
        rebuilt += [item for item in items if item.id == id_]
    return rebuilt


# What is shown of an older day.
LASTING = frozenset(
    {"question", "pending", "convention", "folder", "skipped", "decision", "answered", "fact", "note",
     "changed", "interrupted", "commit", "pull", "held", "failed", "looked"}
)  # fmt: skip
PLACES = frozenset({"files", "place", "mended", "evicted"})  # and of work outside repositories
CALLS = frozenset({"failed", "interrupted", "looked"})  # of a repository, soon of no use
MAX_OLDER = 6  # sessions before the last active day
MINUTE = 60_000_000


@dataclass(frozen=True)
class Request:
    """A request of the user."""

    text: str
    seq: int
    trust: str


@dataclass(frozen=True)
class SessionDigest:
    """What one session did on a day: the requests and the items."""

    session: SessionRow
    label: str
    requests: tuple[Request, ...]
    items: tuple[Item, ...]
    began: int
    ended: int
    worth: float
    since: int = 0  # first position of the day
    began_on: str | None = None  # the day it began, if earlier
    first: Request | None = None  # the first request, if on an earlier day
    also_on: str | None = None  # the last active day, if it was active then too
    recent: bool = False  # active today or on the last active day
    goal: Item | None = None
    names: tuple[tuple[str, int], ...] = ()
    branch: str = ""
    tickets: frozenset[str] = frozenset()
    plan_title: str = ""
    files: frozenset[str] = frozenset()
    todos: tuple[int, int] = (0, 0)  # done, of all


@dataclass(frozen=True)
class Digest:
    workspace: str | None
    now: int
    day: str
    tasks: tuple[SessionDigest, ...] = field(default=())
    preferences: tuple[Item, ...] = field(default=())  # and habits, which belong to no session either

    @property
    def items(self) -> list[Item]:
        """All items: preferences and those of the sessions."""
        return [*self.preferences, *(item for task in self.tasks for item in task.items)]


def build_digest(
    store: Store,
    *,
    now: int,
    workspace: str | None = None,
    besides: str | None = None,
    pinned: Collection[str] = (),
) -> Digest:
    """What the next session should know.

    `besides` is the asking session, which is left out.

    `pinned` are ids of items that are included at any age.
    """
    rows = [row for row in candidate_sessions(store, workspace) if _other(row, besides)]
    today = to_datetime(now).date()
    tasks: list[SessionDigest] = []
    taken: set[int] = set()
    named = ""
    days = _days(store, rows, today)
    recent = {
        row.n: _state(store, row) for row in rows if any(_active(store, row, day) for _, day, _ in days)
    }
    older = [row for row in rows if row.n not in recent][:MAX_OLDER]
    states = _told_once(store, [row for row in rows if row.n in recent] + older, recent)
    for label, day, worth in days:
        active = [(row, span) for row in rows if row.n not in taken and (span := _active(store, row, day))]
        taken |= {row.n for row, _ in active}
        active.sort(key=lambda found: found[0].workspace != workspace)  # before its subfolders
        if day == today:  # what it did on the last active day belongs to the same handover
            active = [(row, _with_day_before(store, row, span, days[-1][1])) for row, span in active]
        tasks += [_task(store, row, label, span, worth, pinned, today, states) for row, span in active]
        named = named or (label if active else "")
    before, last, _ = days[-1]
    tasks = [
        replace(task, also_on=before) if task.label != before and _active(store, task.session, last) else task
        for task in tasks
    ]
    for row in older:
        tasks.append(_task(store, row, *_long_ago(row, today), pinned, today, states))
    included = {task.session.n for task in tasks}
    for row in pinned_sessions(store, workspace, pinned):
        if row.n not in included and _other(row, besides):
            task = _task(store, row, *_long_ago(row, today), pinned, today, states)
            own_items = tuple(item for item in task.items if item.id in pinned)
            tasks.append(replace(task, items=own_items, requests=task.requests if own_items else ()))
    tasks = [task for task in tasks if task.items or task.requests]
    # `ended` has the precision of a minute.
    tasks.sort(key=lambda task: (not task.recent, -task.ended, -task.session.last_at, -task.session.n))
    own = tuple(preference_item(row) for row in store.facts.current() if row.trust == "user")
    habits = habit_items(store, rows)
    return Digest(workspace, now, named or "before", tuple(tasks), (*own, *habits))


def _told_once(
    store: Store, rows: list[SessionRow], states: dict[int, SessionState]
) -> dict[int, SessionState]:
    """The states of these sessions, in which a fork and its parent tell nothing twice."""
    known = {row.id: row for row in rows}
    told = dict(states)
    for fork in rows:
        if fork.parent not in known or fork.parent_seq is None:
            continue
        parent = known[fork.parent]
        base = store.quarantine_view.state_at(parent.n, parent.id, fork.parent_seq)
        is_latest = fork.last_at >= parent.last_at
        own = told.get(fork.n) or _state(store, fork)
        told[fork.n] = own_part(own, base, is_latest=is_latest)
        if is_latest:
            told[parent.n] = without_handed_over(told.get(parent.n) or _state(store, parent), base)
    return told


def digest_session(store: Store, row: SessionRow, *, now: int) -> Digest:
    """The whole of one session, as for a handover."""
    today = to_datetime(now).date()
    span = (0, row.opened_at, row.last_at)
    label = _name(to_datetime(row.last_at).date(), today)
    task = _task(store, row, label, span, 1.0, (), today, {row.n: _state(store, row)})
    return Digest(row.workspace, now, label, (task,))


def _with_day_before(
    store: Store, row: SessionRow, span: tuple[int, int, int], day: date
) -> tuple[int, int, int]:
    """The span of a session today and on the last active day."""
    before = _active(store, row, day)
    return span if before is None else (before[0], before[1], span[2])


def _other(row: SessionRow, besides: str | None) -> bool:
    return besides is None or besides not in (row.agent_session_id, row.id)


def _days(store: Store, rows: list[SessionRow], today: date) -> list[tuple[str, date, float]]:
    """Today, and the last active day before."""
    yesterday = today - timedelta(days=1)
    midnight = _midnight(today)
    before = [at for row in rows if (at := _last_before(store, row, midnight)) is not None]
    last = to_datetime(max(before)).date() if before else yesterday
    return [("earlier today", today, 1.1), (_name(last, today), last, 1.0)]


def _last_before(store: Store, row: SessionRow, end: int) -> int | None:
    """The last activity of a session before a time."""
    if row.last_at < end or row.opened_at >= end:
        return row.last_at if row.last_at < end else None
    (minute,) = store.db.execute(
        "SELECT max(minute) FROM minute WHERE session=? AND minute < ?", (row.n, end // MINUTE)
    ).fetchone()
    return None if minute is None else int(minute) * MINUTE


def _midnight(day: date) -> int:
    """The beginning of a day in local time."""
    return to_micros(datetime.combine(day, time()).astimezone())


def _name(day: date, today: date) -> str:
    if day == today - timedelta(days=1):
        return f"yesterday, {day:%A} {day.day} {day:%B}"
    if day == today:
        return "today"
    year = f" {day.year}" if day.year != today.year else ""
    return f"{day:%A} {day.day} {day:%B}{year}"


def _active(store: Store, row: SessionRow, day: date) -> tuple[int, int, int] | None:
    """When a session was active on a day: first position, first and last time.

    None if it was not active.
    """
    # After `last_at` there are only maintenance events.
    begin, end = _midnight(day), min(_midnight(day + timedelta(days=1)), row.last_at + 1)
    first, low, high = store.db.execute(
        "SELECT min(first), min(minute), max(minute) FROM minute"
        " WHERE session=? AND minute >= ? AND minute < ?",
        (row.n, begin // MINUTE, -(-end // MINUTE)),
    ).fetchone()
    return None if first is None else (first, low * MINUTE, high * MINUTE)


def _long_ago(row: SessionRow, today: date) -> tuple[str, None, float]:
    """Label, span (none) and worth of an older session."""
    day = to_datetime(row.last_at).date()
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
    states: Mapping[int, SessionState],
) -> SessionDigest:
    alone = states.get(row.n) or _state(store, row)
    state = as_known_later(alone, states.values())
    since, began, ended = span or (0, row.opened_at, row.last_at)
    # For older days the state is enough.
    end = read_session_end(store, row, state) if span is not None or state.running else UNKNOWN_END
    dialogue, talk, work = Dialogue(), list[Utterance](), Work()
    if span is not None:
        talk = read_dialogue(store, row, since, state.decisions_made)
        work = read_work(store, row, since)
        dialogue = dialogue_items(
            row.id, talk, folder=row.workspace, worth=worth, superseded=_superseded(state),
            edits=work.edits, refused=[event.seq for event in work.refused],
        )  # fmt: skip
    learned = learn_from_session(state, modification_time)
    items = session_items(state, learned, since=since, worth=worth, end=end, headed=False)
    items += earlier_items(state, since, worth, end)
    items += repository_items(state, since=since, worth=worth, settled=settled_files(alone))
    if span is None:
        lasting = LASTING - CALLS if branch_of(state) else LASTING | PLACES
        items = [
            item for item in items
            if item.kind in lasting and not is_bare_answer(item)
            and not (branch_of(state) and is_remark(item))
        ]  # fmt: skip
    else:
        spoken = {said.seq for said in talk}
        asked = {item.text for item in dialogue.items}
        items = [
            item for item in items
            if item.kind != "said" and item.text not in asked and not _in_dialogue(item, spoken)
        ]  # fmt: skip
        items += dialogue.items
        items += open_items(state, talk, worth)
        items += added_items(state, ranked_names(work.added, dict(dialogue.names)), since, worth)
        items += refused_items(state, work.refused, talk, worth)
    requests = _requests(state, since)
    before = (_request(row) for row in state.requests.values() if row["seq"] < since and _has_text(row))
    first = next(before, None)
    if wanted := pinned_of(row, pinned):
        here = {item.id for item in items}
        if since:  # pinned items of earlier days
            all_items = session_items(state, learned, since=0, worth=worth, end=end)
            items += [item for item in all_items if item.id in pinned and item.id not in here]
            here |= {item.id for item in items}
        items += rebuild_items(store, row, [id_ for id_ in wanted if id_ not in here], worth)
    goes_on = span is None or first or any(item.seq < since and item.section == "DONE" for item in items)
    opened = to_datetime(row.opened_at).date()
    began_on = _name(opened, today) if opened < to_datetime(began if span else ended).date() else None
    return SessionDigest(
        row, label, requests, tuple(items), began, ended, worth, since, began_on if goes_on else None, first,
        recent=span is not None, goal=dialogue.goal, names=dialogue.names, branch=branch_of(state),
        tickets=tickets_of(state), plan_title=plan_title_of(state),
        files=frozenset(path for path, entry in state.files_modified.items() if entry.by == "agent"),
        todos=todos_of(state),
    )  # fmt: skip


def _state(store: Store, row: SessionRow) -> SessionState:
    return store.quarantine_view.state_at(row.n, row.id, row.head)


def _in_dialogue(item: Item, spoken: Collection[int]) -> bool:
    """Whether the dialogue of the day has an item too.

    It leaves out what was typed anew.
    """
    if item.kind == "request" and item.label != "earlier" and spoken:
        return item.seq >= min(spoken)
    return item.kind == "decision" and item.seq in spoken


def _superseded(state: SessionState) -> frozenset[int]:
    """The positions of decisions that a later one replaced."""
    return frozenset(
        decision["seq"]
        for decision in state.decisions_made.values()
        if decision.get("superseded_by") is not None
    )


def _requests(state: SessionState, since: int) -> tuple[Request, ...]:
    """The first request and the last two."""
    asked = [_request(row) for row in state.requests.values() if row["seq"] >= since and _has_text(row)]
    return tuple(asked if len(asked) <= 3 else [asked[0], *asked[-2:]])


def _has_text(request: dict[str, Any]) -> bool:
    """False for a prompt that only repeated our own context, which is removed."""
    return bool((request["text"] or "").strip())


def _request(row: dict[str, Any]) -> Request:
    return Request(row["text"] or "", row["seq"], row["trust"])
