"""The calls of late and where their sessions work, read from the log: the evidence for who changed a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fazm_memory.capture.attribution import Call, Workplace
from fazm_memory.capture.watched import AT_WORK
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.model.events import Event
from fazm_memory.model.payloads import Action, ActionAmend, ActionStart

BACK = 300  # events of a session that are looked through
LONGEST = 3_600_000_000  # microseconds: how long a call may claim to have taken when nobody saw it begin
# Their hooks or their records tell of a call before it ends; of others we may hear long after it wrote.
TELL_AT_ONCE = frozenset({"claude-code", "codex", "fazm", "opencode"})
MOST_TEXT = 20_000


def workplaces(store: Store, rows: Sequence[SessionRow]) -> list[Workplace]:
    """Sessions that are not put aside, with the folder they work in, and whether they are heard at work."""
    return [
        Workplace(row.id, row.workspace, row.last_at, _heard(store, row))
        for row in rows
        if row.workspace is not None and row.lifecycle in AT_WORK
    ]


def _heard(store: Store, row: SessionRow) -> bool:
    """Whether calls of a session reach us before they end: its agent is known for it, or it has done so."""
    if row.agent in TELL_AT_ONCE or row.actions == 0:
        return True
    last = row.n << 32 | row.head
    found = store.db.execute(
        "SELECT 1 FROM event WHERE id>? AND id<=? AND kind=? LIMIT 1", (last - BACK, last, "action.start")
    )
    return found.fetchone() is not None


def recent_calls(store: Store, rows: Sequence[SessionRow], since: int, *, user_home: str = "") -> list[Call]:
    """Calls of these sessions that ended after a moment or are still running."""
    found: list[Call] = []
    for row in rows:
        if row.last_at < since and row.lifecycle not in AT_WORK:
            continue
        start = max(0, row.head - BACK)
        found += _calls(store.log.slice(row.n, row.id, start, row.head), since, user_home, row.opened_at)
    return found


def _calls(events: Iterable[Event], since: int, user_home: str, opened: int) -> list[Call]:
    running: dict[str, Call] = {}
    over: dict[str, Call] = {}
    for event in events:
        match event.payload:
            case ActionStart() as begun:
                call = Call(event.session, begun.tool, event.at, None, event.seq, (), _text(begun.input))
                running[begun.call_id or str(event.seq)] = call
            case Action() as action:
                key = action.call_id or str(event.seq)
                over[key] = _ended(event, action, running.pop(key, None), user_home, opened)
            case ActionAmend() as amend if (known := over.get(amend.call_id)) is not None:
                over[amend.call_id] = _with(known, _touched(amend, user_home))
    return [*running.values(), *(call for call in over.values() if (call.ended or since) >= since)]


def _ended(event: Event, action: Action, begun: Call | None, user_home: str, opened: int) -> Call:
    """A call that is over. Sources differ in whether they stamp its beginning or its end: allow for both.

    How long it took is its own claim, and what others did meanwhile would be taken for its work: so it is
    believed for an hour at most, and for no time before the session was opened.
    """
    length = min(max((action.duration_ms or 0) * 1000, 0), LONGEST)
    started = begun.started if begun is not None else min(max(event.at - length, opened), event.at)
    # An agent tells of a call through MCP when it is over: nothing it claims reaches beyond that.
    ended = event.at if begun is not None or event.source == "mcp" else event.at + length
    touched = _touched(action, user_home)
    return Call(event.session, action.tool, started, ended, event.seq, touched, _text(action.input))


def _with(call: Call, touched: tuple[tuple[str, str], ...]) -> Call:
    return replace(call, touched=(*call.touched, *touched))


def _touched(told: Action | ActionAmend, user_home: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (user_home + one.path[1:] if one.path.startswith("~/") else one.path, one.change)
        for one in told.files
        if one.change != "read"
    )


def _text(given: object) -> str:
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    return text[:MOST_TEXT]
