"""The page's GET routes, each a function of the memory and the query.

docs/page-api.md describes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, cast, get_args

from fazm_memory import __version__
from fazm_memory.app import Memory, day_bounds, session_with_times
from fazm_memory.clock import iso, parse_time, to_datetime
from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.events import By
from fazm_memory.recall import exports as choices
from fazm_memory.store import EventFilter, kinds_of, outcomes_of
from fazm_memory.web.requests import JsonBody, QueryParameters, whole_number

DAY_SESSIONS = 20  # sessions of a day whose failures are looked at
DAY = 86_400_000_000
TASKS = 6  # sessions whose conventions are shown
CHOICES = {"auto": None, "exclude": "exclude", "pin": "pin"}


def context(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    return _context(memory, query.text("workspace"))


def _context(memory: Memory, workspace: str | None) -> dict[str, Any]:
    data = dict(memory.recall.present_context(workspace).data)
    chosen = choices.read_choices(memory.store)
    data["items"] = [
        {
            **{name: value for name, value in item.items() if name != "included"},
            "given": item["included"],
            "choice": chosen.get(item["id"], "auto"),
        }
        for item in data["items"]
    ]
    tasks = data.pop("tasks")
    workspaces = memory.timeline.filter_choices()["workspaces"]
    return {**data, **_conventions(memory, tasks), "workspaces": workspaces}


def _items(memory: Memory, workspace: str | None) -> set[str]:
    return {item["id"] for item in memory.recall.context(workspace).data["items"]}


def overview(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    """The threads of the handover, and the totals of the latest day.

    While older sessions are imported there is neither: reading them again and again would take the time of
    the import.
    """
    if importing := memory.setup.importing():
        return {"threads": [], "totals": None, "at": iso(memory.now()), "importing": importing}
    totals = memory.timeline.day_totals()
    if totals is None:
        return {"threads": [], "totals": None, "at": iso(memory.now()), "importing": None}
    costs = memory.costs
    threads = memory.recall.present_context(None).data["threads"]
    days = {row["day"]: row for row in costs.table("day", since=totals["from_ms"] * 1000 - 6 * DAY)["rows"]}
    totals |= {
        "cost": days.get(totals["day"]),
        "costs": {day: row["usd"] for day, row in days.items()},
        **_of_states(memory, date.fromisoformat(totals["day"])),
    }
    return {
        "threads": [{**thread, "cost": costs.of_sessions(thread["sessions"])} for thread in threads],
        "totals": totals,
        "at": iso(memory.now()),
        "importing": None,
    }


def _of_states(memory: Memory, day: date) -> dict[str, int | None]:
    """The changed files and unresolved failures of a day's sessions.

    None for a day of too many sessions.
    """
    page = memory.timeline.session_page(day=day, limit=DAY_SESSIONS)
    if page["next"] is not None:
        return {"unresolved": None, "files_changed": None}
    states = [memory.history.state(session["id"], quarantined=False) for session in page["items"]]
    errors = [error for state in states for error in state["errors"]]
    return {
        "unresolved": sum(error["mended_by"] is None and not error.get("minor") for error in errors),
        "files_changed": len({file["path"] for state in states for file in state["files_modified"]}),
    }


def yesterday(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    data = memory.recall.context(query.text("workspace")).data
    tasks = [
        {
            **task,
            "label": task["day"],
            "items": [item for item in data["items"] if item["session"] == task["session"]],
        }
        for task in data["tasks"]
    ]
    return {"day": data["day"], "tasks": tasks, **_conventions(memory, data["tasks"])}


def _conventions(memory: Memory, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """Processed folders, naming conventions and skipped files of these sessions."""
    folders, conventions, skipped = [], [], []
    for task in tasks[:TASKS]:
        learned = memory.recall.conventions(task["session"])
        of = {"session": task["session"], "title": task["title"]}
        folders += [
            {"path": item["folder"], **{name: item[name] for name in ("processed", "total", "listed")}, **of}
            for item in learned["folders_processed"]
        ]
        conventions += [{**item, **of} for item in learned["conventions"]]
        skipped += [{**item, **of} for item in learned["skipped"]]
    return {"folders": folders, "conventions": conventions, "skipped": skipped}


def choose(memory: Memory, body: JsonBody) -> dict[str, Any]:
    workspace, item, choice = body.text("workspace"), body.needed("item"), body.needed("choice")
    if choice == "include":
        # An excluded item gets its rank back. An item that did not fit is pinned.
        choice = "auto" if choices.read_choices(memory.store).get(item) == "exclude" else "pin"
    if choice not in CHOICES:
        raise InvalidInput(
            f'Unknown choice "{choice[:20]}".', hint=f"Choices: {', '.join(CHOICES)}, include."
        )
    if item not in choices.read_choices(memory.store) and item not in _items(memory, workspace):
        raise NotFound(f'No item "{item[:80]}" in this context.', hint="Read the context again.")
    memory.recall.choose_item(item, CHOICES[choice])
    return _context(memory, workspace)


Read = Callable[..., Any]

MOST_DAYS = 120
MOST_SESSIONS = 200
MOST_EVENTS = 500
MOST_FOUND = 100
FILES_FOUND = 3
SHORTEST_NAME = 3
MOST_DRAWN = 2000
COUNTABLE = 20_000  # events of a session whose kinds are counted
NOT_WORK = ("session.title", "session.close", "session.archive", "branch", "usage")


def status(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    now = memory.now()
    return {
        **memory.status(),
        "now": {"at": iso(now), "ms": now // 1000},
        "version": __version__,
        "zone": time.tzname[to_datetime(now).dst() != timedelta(0)],
    }


def days(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    return memory.timeline.days(cursor=query.text("cursor"), limit=query.limit(30, MOST_DAYS))


def sessions(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    return memory.timeline.session_page(
        day=query.day("day"), outcome=query.text("outcome"), words=query.text("q"),
        background=query.flag("background"), cursor=query.text("cursor"),
        limit=query.limit(50, MOST_SESSIONS), agent=query.text("agent"),
        workspace=query.text("workspace"), lifecycle=query.text("lifecycle"), device=query.text("device"),
    )  # fmt: skip


def session(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    row = memory.store.sessions.resolve(id)
    state = memory.history.state(row.id)
    parent = None if row.parent is None else memory.store.sessions.by_key(row.parent, None)
    return {
        **session_with_times(memory, row),
        "worked_ms": _worked(memory, row.n),
        "parent_session": None if parent is None else {"id": parent.id, "title": parent.title},
        "branches": memory.rewind.branches(row.id),
        "questions": state["open_questions"],
        "artifacts": state["artifacts"],
        "kinds": _kinds(memory, row.n, row.head),
        "tools": state["tools_used"],
        "trust": state["trust"],
        "branch": state["branch"],
        "running": state["running"],
        "retries": len(state["retries"]),
        "cost": memory.costs.of_sessions([row.id]),
        "quarantined": state["quarantined"],
        "latest_rewind": memory.timeline.latest_rewind(row.id),
    }


def _worked(memory: Memory, number: int) -> int | None:
    """When something was last done: a session may be closed days after that."""
    found = memory.store.db.execute(
        f"SELECT at FROM event WHERE id >= ? AND id < ? AND kind NOT IN ({','.join('?' * len(NOT_WORK))})"
        " ORDER BY id DESC LIMIT 1",
        (number << 32, (number + 1) << 32, *NOT_WORK),
    ).fetchone()
    return None if found is None else found[0] // 1000


def _kinds(memory: Memory, number: int, head: int) -> dict[str, int] | None:
    if head > COUNTABLE:
        return None
    rows = memory.store.db.execute(
        "SELECT kind, count(*) FROM event WHERE id >= ? AND id < ? GROUP BY kind ORDER BY 2 DESC",
        (number << 32, (number + 1) << 32),
    )
    return dict(rows.fetchall())


def events(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    kinds = query.words("kind")
    wanted = EventFilter(
        start=_place_in(memory, id, query.text("from")) or 0,
        stop=_place_in(memory, id, query.text("to")),
        kinds=kinds_of(kind for kind in kinds if not kind.startswith("-")),
        without=kinds_of(kind[1:] for kind in kinds if kind.startswith("-")),
        tools=frozenset(query.words("tool")),
        outcomes=outcomes_of(frozenset(query.words("outcome"))),
        trusts=frozenset(query.words("trust")),
        file=query.text("file"),
    )
    direction = query.text("dir") or "asc"
    if direction not in ("asc", "desc"):
        raise InvalidInput(f'dir must be asc or desc, not "{direction[:20]}".')
    return memory.timeline.event_page(
        id, wanted, turns=query.turns("turns"), since=query.moment("since"), until=query.moment("until"),
        cursor=query.text("cursor"), limit=query.limit(100, MOST_EVENTS), backwards=direction == "desc",
        housekeeping=query.flag("housekeeping"),
    )  # fmt: skip


def outline(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    return memory.timeline.outline(id)


def position(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    named, at = query.text("at"), query.moment("ms")
    if named is not None:
        return memory.timeline.position_of(id, named)
    if at is None:
        raise InvalidInput("at or ms is required: a moment, or the time in milliseconds since 1970.")
    return memory.timeline.position_at(id, at)


def event(memory: Memory, query: QueryParameters, id: str, seq: str) -> dict[str, Any]:
    return memory.timeline.event_details(id, whole_number("the position", seq))


def event_file(memory: Memory, query: QueryParameters, id: str, seq: str) -> dict[str, Any]:
    return memory.timeline.event_file(id, whole_number("the position", seq), query.needed("path"))


def state(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    return memory.history.state(id, at=query.text("at"))


def compare(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    first, second = (_place(query.needed(name)) for name in ("a", "b"))
    result = memory.history.compare(*first, *second)
    return {
        "a": result.pop("first"),
        "b": result.pop("second"),
        "common": result.pop("common"),
        "diff": result,
    }


def _place(text: str) -> tuple[str, str | None]:
    session, _, at = text.partition("@")
    return session, at or None


def _place_in(memory: Memory, id: str, moment: str | None) -> int | None:
    """Where a list begins or ends.

    A number may lie outside the session. Nothing is listed there.
    """
    if moment is None or moment.isdecimal():
        return None if moment is None else whole_number("the position", moment)
    return memory.sessions.position(id, moment, begin=True)


def rewind_plan(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    return memory.rewind.plan(id, query.needed("to"))


def rewind_point(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    return memory.timeline.rewind_point(id, query.number("seq"))


def replay_plan(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    return memory.replay.plan(id)


def briefing(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    result = memory.recall.briefing(id)
    return {"text": result.text, "data": result.data}


def resume(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    """How a session can be resumed.

    A route of its own, because it needs the briefing, which takes longest.
    """
    return memory.recall.resume_offer(id)


def retries(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    row = memory.store.sessions.resolve(id)
    found = {"session": row.id, "title": row.title, "workspace": row.workspace}
    return found | {"items": memory.history.retries(row.id), "next": None}


def files(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    row = memory.store.sessions.resolve(id)
    found = memory.history.files_modified(row.id, turns=query.number("turns"), by=_author(query))
    changes = [one for file in found["files"] for one in (file, *file.get("changed_by", ()))]
    ids = sorted({(row.n << 32) + one["seq"] for one in changes})
    times = dict(
        memory.store.db.execute(f"SELECT id, at FROM event WHERE id IN ({','.join('?' * len(ids))})", ids)
    )
    for one in changes:  # what a fork has of its parent is in the parent's events
        at = times.get((row.n << 32) + one["seq"])
        one["ms"] = None if at is None else at // 1000
    return found | {"title": row.title, "workspace": row.workspace}


def file_changes(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    return memory.history.file_changes(query.needed("path"), by=_author(query))


def _author(query: QueryParameters) -> By | None:
    by = query.text("by")
    if by is None or by in get_args(By):
        return cast("By | None", by)
    raise InvalidInput(f'Unknown author "{by[:20]}".', hint=f"Authors: {', '.join(get_args(By))}.")


def branches(memory: Memory, query: QueryParameters, id: str) -> dict[str, Any]:
    return {"items": memory.rewind.branches(id), "next": None}


def _time_range(memory: Memory, query: QueryParameters) -> tuple[int, int]:
    """The requested time range, by default today."""
    begin, end = query.moment("from"), query.moment("to")
    today = day_bounds(to_datetime(memory.now()).date())
    begin = today[0] if begin is None else begin
    end = max(today[1], begin + 1) if end is None else end
    if end <= begin:
        raise InvalidInput("`to` must be later than `from`.")
    return begin, end


def rollup(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    bucket = query.text("bucket") or "minute"
    return memory.timeline.rollup(
        *_time_range(memory, query), bucket=bucket, sessions=query.words("sessions")
    )


def lanes(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    most = max(1, min(query.number("max") or 400, MOST_DRAWN))
    return memory.timeline.lanes(*_time_range(memory, query), sessions=query.words("sessions"), most=most)


def search(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    words = query.needed("q")
    found = memory.recall.search(words, limit=query.limit(20, MOST_FOUND))
    return {"items": [{**hit, "ms": parse_time(hit["at"]) // 1000} for hit in found], "next": None,
            "files": _files_named(memory, words.strip(), found),
            "notes": memory.recall.search_notes(words)}  # fmt: skip


def _files_named(memory: Memory, words: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The changed files that a query of one word names, or whose names begin like it."""
    if len(words) < SHORTEST_NAME or len(words.split()) > 1:
        return []
    begun = [hit["file"] for hit in found if hit["file"] and hit["file"].lower().startswith(words.lower())]
    files = memory.history.changed_files(dict.fromkeys([words, *begun[:FILES_FOUND]]), limit=FILES_FOUND)
    return [file | {"ms": parse_time(file["at"]) // 1000} for file in files]


def questions(memory: Memory, query: QueryParameters) -> dict[str, Any]:
    return {"items": memory.sessions.open_questions(), "next": None}


SESSION = "sessions/{id}"
ROUTES: dict[str, Read] = {
    "status": status,
    "days": days,
    "sessions": sessions,
    SESSION: session,
    f"{SESSION}/events": events,
    f"{SESSION}/events/{{seq}}": event,
    f"{SESSION}/events/{{seq}}/file": event_file,
    f"{SESSION}/outline": outline,
    f"{SESSION}/position": position,
    f"{SESSION}/state": state,
    f"{SESSION}/rewind-point": rewind_point,
    f"{SESSION}/rewind-plan": rewind_plan,
    f"{SESSION}/replay-plan": replay_plan,
    f"{SESSION}/briefing": briefing,
    f"{SESSION}/resume": resume,
    f"{SESSION}/retries": retries,
    f"{SESSION}/files": files,
    f"{SESSION}/branches": branches,
    "file-changes": file_changes,
    "compare": compare,
    "rollup": rollup,
    "lanes": lanes,
    "search": search,
    "context": context,
    "overview": overview,
    "yesterday": yesterday,
    "questions": questions,
}
# These may read a whole session.
SLOW = frozenset(
    {f"{SESSION}/{name}" for name in ("briefing", "outline", "replay-plan", "resume", "retries")}
    | {"compare"}
)
# These may first update the index or finish a rewind.
WRITING = frozenset({f"{SESSION}/rewind-plan", "file-changes", "search", "context", "overview", "yesterday"})
