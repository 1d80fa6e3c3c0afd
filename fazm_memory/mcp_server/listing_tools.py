"""The tool that finds sessions, a page at a time, latest first."""

from __future__ import annotations

from typing import Any

from fazm_memory.mcp_server.pages import cursor, place
from fazm_memory.mcp_server.tool import (
    CURSOR,
    LIFECYCLES,
    NEXT,
    SESSION_SHAPE,
    Caller,
    Told,
    Tool,
    one_of,
    record,
    shape,
    text,
    whole,
)
from fazm_memory.model.clock import parse
from fazm_memory.model.counting import plural
from fazm_memory.recall.fence import plain_name, quote

LISTED = 20


def session_line(one: dict[str, Any]) -> str:
    title = quote(one["title"], 80) if one["title"] else "untitled"
    folder = f" in {quote(one['workspace'], 120)}" if one["workspace"] else ""
    about = f"{plain_name(one['agent'])}, {one['lifecycle']}, {plural(one['events'], 'event')}"
    return f"{one['id']} {title}{folder} ({about})"


def session_list(caller: Caller, given: dict[str, Any]) -> Told:
    wanted = {name: given[name] for name in ("agent", "workspace", "lifecycle") if name in given}
    limit = given.get("limit", LISTED)
    at = place(given.get("cursor"), {"before": int, "seen": list}) or {}
    seen = {one for one in at.get("seen", ()) if isinstance(one, str)}
    rows = caller.memory.sessions(limit=limit + 1 + len(seen), before=at.get("before"), **wanted)
    page = [row for row in rows if row["id"] not in seen]
    following = None
    if len(page) > limit:
        page = page[:limit]
        # Sessions that ended in the same microsecond: the next page begins with them and leaves out the seen.
        last = parse(page[-1]["last_at"])
        again = [row["id"] for row in page if parse(row["last_at"]) == last]
        earlier = seen if at.get("before") == last + 1 else set()
        following = cursor({"before": last + 1, "seen": sorted({*again, *earlier})})
    lines = [session_line(one) for one in page] or ["no session matches"]
    more = ["more: call session_list again with next_cursor"] if following else []
    return Told({"sessions": page, "next_cursor": following}, "\n".join([*lines, *more]))


TOOLS = (
    Tool(
        "session_list",
        "List sessions",
        "Find sessions recorded on this machine, latest first. Call it to get the handle of earlier work"
        " before session_state, session_events or session_resume. Costs about 120 tokens a session."
        ' Example: {"workspace": "/Users/dana/Downloads", "limit": 5}',
        record(
            {
                "agent": text("Only sessions of this agent.", most=200),
                "workspace": text("Only sessions in exactly this folder.", most=4096),
                "lifecycle": one_of(LIFECYCLES, "Only sessions in this state."),
                "limit": whole("How many a page.", least=1, most=100, default=LISTED),
                "cursor": CURSOR,
            }
        ),
        shape(
            {"sessions": {"type": "array", "items": SESSION_SHAPE}, "next_cursor": NEXT},
            ("sessions", "next_cursor"),
        ),
        session_list,
        reads_only=True,
    ),
)
