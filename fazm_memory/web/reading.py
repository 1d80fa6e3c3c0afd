"""What the page reads: each route as a function of the façade and what is asked (docs/page-api.md)."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from fazm_memory import __version__
from fazm_memory.errors import InvalidInput
from fazm_memory.log.pages import EventFilter, kinds_of, outcomes_of
from fazm_memory.memory import Memory
from fazm_memory.model.clock import iso, moment, parse
from fazm_memory.verbs.browsing import day_bounds, with_times
from fazm_memory.web.asked import Asked, whole
from fazm_memory.web.contexts import context, yesterday

Read = Callable[..., Any]

MOST_DAYS = 120
MOST_SESSIONS = 200
MOST_EVENTS = 500
MOST_FOUND = 100
MOST_DRAWN = 2000
COUNTABLE = 20_000  # events of a session whose kinds are counted


def status(memory: Memory, ask: Asked) -> dict[str, Any]:
    now = memory.now()
    return {
        **memory.status(),
        "now": {"at": iso(now), "ms": now // 1000},
        "version": __version__,
        "zone": time.tzname[moment(now).dst() != timedelta(0)],
    }


def days(memory: Memory, ask: Asked) -> dict[str, Any]:
    return memory.days(cursor=ask.text("cursor"), limit=ask.limit(30, MOST_DAYS))


def sessions(memory: Memory, ask: Asked) -> dict[str, Any]:
    return memory.session_page(
        day=ask.day("day"), outcome=ask.text("outcome"), words=ask.text("q"),
        background=ask.flag("background"), cursor=ask.text("cursor"), limit=ask.limit(50, MOST_SESSIONS),
        agent=ask.text("agent"), workspace=ask.text("workspace"), lifecycle=ask.text("lifecycle"),
    )  # fmt: skip


def session(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    row = memory.store.sessions.resolve(id)
    state = memory.state(row.id)
    parent = None if row.parent is None else memory.store.sessions.by_key(row.parent, None)
    return {
        **with_times(row),
        "parent_session": None if parent is None else {"id": parent.id, "title": parent.title},
        "branches": memory.branches(row.id),
        "questions": state["open_questions"],
        "resume": memory.resume_offer(row.id),
        "kinds": _kinds(memory, row.n, row.head),
        "tools": state["tools_used"],
        "trust": state["trust"],
        "running": state["running"],
        "quarantined": state["quarantined"],
        "can_undo": memory.can_undo_rewind(row.id),
    }


def _kinds(memory: Memory, number: int, head: int) -> dict[str, int] | None:
    if head > COUNTABLE:
        return None
    rows = memory.store.db.execute(
        "SELECT kind, count(*) FROM event WHERE id >= ? AND id < ? GROUP BY kind ORDER BY 2 DESC",
        (number << 32, (number + 1) << 32),
    )
    return dict(rows.fetchall())


def events(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    kinds = ask.words("kind")
    wanted = EventFilter(
        start=ask.number("from") or 0,
        stop=ask.number("to"),
        kinds=kinds_of(one for one in kinds if not one.startswith("-")),
        without=kinds_of(one[1:] for one in kinds if one.startswith("-")),
        tools=frozenset(ask.words("tool")),
        outcomes=outcomes_of(frozenset(ask.words("outcome"))),
        trusts=frozenset(ask.words("trust")),
        file=ask.text("file"),
    )
    direction = ask.text("dir") or "asc"
    if direction not in ("asc", "desc"):
        raise InvalidInput(f"dir is asc or desc, not {direction[:20]!r}")
    return memory.event_page(
        id, wanted, turns=ask.turns("turns"), since=ask.moment("since"), until=ask.moment("until"),
        cursor=ask.text("cursor"), limit=ask.limit(100, MOST_EVENTS), backwards=direction == "desc",
    )  # fmt: skip


def position(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    at = ask.moment("ms")
    if at is None:
        raise InvalidInput("ms is needed: the moment, in milliseconds since 1970")
    return memory.position_at(id, at)


def event(memory: Memory, ask: Asked, id: str, seq: str) -> dict[str, Any]:
    return memory.event_details(id, whole("the position", seq))


def event_file(memory: Memory, ask: Asked, id: str, seq: str) -> dict[str, Any]:
    return memory.event_file(id, whole("the position", seq), ask.needed("path"))


def state(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    return memory.state(id, at=ask.number("at"))


def compare(memory: Memory, ask: Asked) -> dict[str, Any]:
    first, second = (_place(ask.needed(name)) for name in ("a", "b"))
    told = memory.compare(*first, *second)
    return {"a": told.pop("first"), "b": told.pop("second"), "common": told.pop("common"), "diff": told}


def _place(given: str) -> tuple[str, int | None]:
    session, _, at = given.partition("@")
    return session, whole("the position", at) if at else None


def rewind_plan(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    return memory.rewind_plan(id, whole("to", ask.needed("to")))


def replay_plan(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    return memory.replay_plan(id)


def briefing(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    told = memory.briefing(id)
    return {"text": told.text, "data": told.data}


def retries(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    return {"items": memory.retries(id), "next": None}


def files(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    return memory.files_modified(id, turns=ask.number("turns"))


def branches(memory: Memory, ask: Asked, id: str) -> dict[str, Any]:
    return {"items": memory.branches(id), "next": None}


def _stretch(memory: Memory, ask: Asked) -> tuple[int, int]:
    """From when to when; today unless it is said."""
    begin, end = ask.moment("from"), ask.moment("to")
    today = day_bounds(moment(memory.now()).date())
    begin = today[0] if begin is None else begin
    end = max(today[1], begin + 1) if end is None else end
    if end <= begin:
        raise InvalidInput("`to` must be later than `from`")
    return begin, end


def rollup(memory: Memory, ask: Asked) -> dict[str, Any]:
    bucket = ask.text("bucket") or "minute"
    return memory.rollup(*_stretch(memory, ask), bucket=bucket, sessions=ask.words("sessions"))


def lanes(memory: Memory, ask: Asked) -> dict[str, Any]:
    most = max(1, min(ask.number("max") or 400, MOST_DRAWN))
    return memory.lanes(*_stretch(memory, ask), sessions=ask.words("sessions"), most=most)


def search(memory: Memory, ask: Asked) -> dict[str, Any]:
    found = memory.search(ask.needed("q"), limit=ask.limit(20, MOST_FOUND))
    return {"items": [{**one, "ms": parse(one["at"]) // 1000} for one in found], "next": None,
            "notes": memory.query_doubts(ask.needed("q"))}  # fmt: skip


def questions(memory: Memory, ask: Asked) -> dict[str, Any]:
    return {"items": memory.open_questions(), "next": None}


ONE = "sessions/{id}"
ROUTES: dict[str, Read] = {
    "status": status,
    "days": days,
    "sessions": sessions,
    ONE: session,
    f"{ONE}/events": events,
    f"{ONE}/events/{{seq}}": event,
    f"{ONE}/events/{{seq}}/file": event_file,
    f"{ONE}/position": position,
    f"{ONE}/state": state,
    f"{ONE}/rewind-plan": rewind_plan,
    f"{ONE}/replay-plan": replay_plan,
    f"{ONE}/briefing": briefing,
    f"{ONE}/retries": retries,
    f"{ONE}/files": files,
    f"{ONE}/branches": branches,
    "compare": compare,
    "rollup": rollup,
    "lanes": lanes,
    "search": search,
    "context": context,
    "yesterday": yesterday,
    "questions": questions,
}
PATIENT = frozenset({f"{ONE}/replay-plan", f"{ONE}/retries", "compare"})  # they may walk through a session
WRITING = frozenset({f"{ONE}/rewind-plan", "search", "context", "yesterday"})  # they may take in, or finish
