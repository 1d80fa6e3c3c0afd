"""The tools that ask the memory across sessions: search, context, naming conventions, replay."""

from __future__ import annotations

from typing import Any

from fazm_memory.mcp_server.handles import to_read
from fazm_memory.mcp_server.pages import cursor, filled, place, room, tables_fitted
from fazm_memory.mcp_server.reading_tools import NOTE
from fazm_memory.mcp_server.tool import (
    ANY_OBJECT,
    CURSOR,
    INTEGER,
    MAX_TOKENS,
    MAYBE_STRING,
    NEXT,
    OBJECTS,
    SESSION,
    STRING,
    TOKENS,
    Caller,
    Told,
    Tool,
    many,
    record,
    shape,
    text,
    whole,
)
from fazm_memory.model.counting import plural
from fazm_memory.recall.fence import quote

FOUND = 10
DEEPEST = 200  # hits that can be paged through; past it the query is too wide


def memory_search(caller: Caller, given: dict[str, Any]) -> Told:
    limit = given.get("limit", FOUND)
    at = place(given.get("cursor"), {"query": str, "skip": int})
    skip = at["skip"] if at is not None and at["query"] == given["query"] else 0
    hits = caller.memory.search(given["query"], limit=min(DEEPEST, skip + limit + 1))
    kept, rest = filled(
        hits[skip:], limit=limit, most=room(given.get("max_tokens", TOKENS)), free=("snippet",)
    )
    following = cursor({"query": given["query"], "skip": skip + len(kept)}) if rest is not None else None
    lines = [NOTE] if kept else ["nothing matches; try fewer or other words"]
    notes = list(caller.memory.query_doubts(given["query"]))
    lines += [f"note: {quote(note, 240)}" for note in notes]
    lines += [
        f"{one['session']} @{one['seq']} {one['at'][:16]} {one['kind']}: {quote(str(one['snippet']), 200)}"
        for one in kept
    ]
    if following:
        lines.append("more: call memory_search again with next_cursor")
    return Told({"hits": kept, "notes": notes, "next_cursor": following}, "\n".join(lines))


def memory_context(caller: Caller, given: dict[str, Any]) -> Told:
    context = caller.memory.context(
        given.get("workspace") or caller.workspace, budget=given.get("max_tokens", TOKENS)
    )
    data = {name: context.data[name] for name in ("workspace", "at", "tokens", "budget", "left_out")}
    return Told({**data, "text": context.text}, context.text)


def conventions_get(caller: Caller, given: dict[str, Any]) -> Told:
    learned = caller.memory.conventions(to_read(caller, given["session"])["id"])
    learned.pop("proposals")
    first = frozenset({"conventions", "skipped", "folders_processed"})
    shown, lost = tables_fitted(learned, room(given.get("max_tokens", TOKENS)), leading=first)
    lines = [f"session {shown['session']}. {NOTE}"]
    for one in shown["conventions"][:10]:
        where = quote(str(one["folder"]), 160)
        lines.append(f"named {quote(str(one['pattern']), 160)} in {where} ({plural(one['support'], 'file')})")
    for one in shown["skipped"][:10]:
        where = quote(str(one["folder"]), 160)
        lines.append(f"skipped {one['count']} in {where}: {quote(str(one['rule']), 160)}")
    if len(lines) == 1:
        lines.append("no file was renamed in a way that shows a convention")
    if lost:
        lines.append(f"left out for space: {sum(lost.values())} entries; ask with a larger max_tokens")
    return Told({**shown, "left_out": lost}, "\n".join(lines))


def names_propose(caller: Caller, given: dict[str, Any]) -> Told:
    told = caller.memory.conventions(to_read(caller, given["session"])["id"], names=given["names"])
    most = room(given.get("max_tokens", TOKENS))
    cut, lost = tables_fitted({"proposals": told["proposals"]}, most, leading=frozenset({"proposals"}))
    lines = [NOTE]
    for one in cut["proposals"]:
        name = quote(str(one["name"]), 160)
        if one["becomes"] is None:
            lines.append(f"{name}: not known, {quote(str(one['because']), 160)}")
        else:
            lines.append(f"{name} → {quote(str(one['becomes']), 160)}")
    if lost:
        lines.append(f"left out for space: {sum(lost.values())}; ask with fewer names")
    return Told({"session": told["session"], **cut, "left_out": lost}, "\n".join(lines))


def replay_plan(caller: Caller, given: dict[str, Any]) -> Told:
    plan = caller.memory.replay_plan(to_read(caller, given["session"])["id"])
    limit = given.get("limit", 50)
    at = place(given.get("cursor"), {"session": str, "skip": int})
    skip = at["skip"] if at is not None and at["session"] == plan["session"] else 0
    most = room(given.get("max_tokens", TOKENS))
    free = ("what", "why", "target", "command", "files")
    steps, rest = filled(plan["steps"][skip:], limit=limit, most=most, free=free)
    following = cursor({"session": plan["session"], "skip": skip + len(steps)}) if rest is not None else None
    lines = [f"session {plan['session']}: {plural(len(plan['steps']), 'step')}; nothing is executed. {NOTE}"]
    for step in steps:
        what = step["what"] if step["kind"] == "decision" else f"{step['tool']} {step['target']}"
        lines.append(f"@{step['seq']} {step['kind']}: {quote(str(what), 160)}")
    if following:
        lines.append("more: call replay_plan again with next_cursor")
    data = {
        "session": plan["session"],
        "title": plan["title"],
        "total": len(plan["steps"]),
        "steps": steps,
        "parameters": plan["parameters"],
        "left_out": plan["left_out"],
        "next_cursor": following,
    }
    return Told(data, "\n".join(lines))


TOOLS = (
    Tool(
        "memory_search",
        "Search the memory",
        "Find what was done, said or decided in any session, by words, paths and filters such as"
        " `kind:decision`, `tool:Bash` or `yesterday`. Call it before asking the user something they may"
        " have told already. Costs up"
        ' to max_tokens (1500), about 90 a hit. Example: {"query": "invoice naming kind:decision",'
        ' "limit": 5}',
        record(
            {
                "query": text("Words, paths, filters.", most=1000),
                "limit": whole("How many a page.", least=1, most=50, default=FOUND),
                "cursor": CURSOR,
                "max_tokens": MAX_TOKENS,
            },
            ("query",),
        ),
        shape(
            {
                "hits": {
                    "type": "array",
                    "items": shape(
                        {
                            "session": STRING,
                            "seq": INTEGER,
                            "at": STRING,
                            "kind": STRING,
                            "title": MAYBE_STRING,
                            "snippet": MAYBE_STRING,
                        },
                        ("session", "seq", "at", "kind"),
                    ),
                },
                "notes": {"type": "array", "items": STRING},
                "next_cursor": NEXT,
            },
            ("hits", "next_cursor"),
        ),
        memory_search,
        reads_only=True,
    ),
    Tool(
        "memory_context",
        "What happened before",
        "What a new session in a folder should know: what was done there yesterday, what is open, the"
        " user's facts. session_open returns it already; call this for another folder, or after your"
        " context was compacted. Costs"
        ' up to max_tokens (1500). Example: {"workspace": "/Users/dana/Downloads"}',
        record(
            {
                "workspace": text("An absolute folder; all of them, when left out.", most=4096),
                "max_tokens": MAX_TOKENS | {"maximum": 2400},
            }
        ),
        shape(
            {
                "workspace": MAYBE_STRING,
                "at": STRING,
                "text": STRING,
                "tokens": INTEGER,
                "budget": INTEGER,
                "left_out": INTEGER,
            },
            ("text", "tokens", "left_out"),
        ),
        memory_context,
        reads_only=True,
    ),
    Tool(
        "conventions_get",
        "Naming conventions of a session",
        "How a session named files, in which folders it worked, and which files it skipped. Call it before"
        " you go on"
        ' organising files like yesterday. Costs up to max_tokens (1500). Example: {"session": "…"}',
        record({"session": SESSION, "max_tokens": MAX_TOKENS}, ("session",)),
        shape(
            {
                "session": STRING,
                "conventions": OBJECTS,
                "skipped": OBJECTS,
                "folders_processed": OBJECTS,
                "left_out": ANY_OBJECT,
            },
            ("session", "conventions", "skipped"),
        ),
        conventions_get,
        reads_only=True,
    ),
    Tool(
        "names_propose",
        "What new files would be called",
        "Call before you rename files like yesterday: what they would become by the conventions of an"
        " earlier session, or why that is not known. Nothing is renamed. Costs about 50 tokens a name."
        ' Example: {"session": "…", "names": ["scan 3.pdf"]}',
        record(
            {
                "session": SESSION,
                "names": many(text("A file's name or path.", most=4096), "The files.", most=100)
                | {"minItems": 1},
                "max_tokens": MAX_TOKENS,
            },
            ("session", "names"),
        ),
        shape({"session": STRING, "proposals": OBJECTS, "left_out": ANY_OBJECT}, ("session", "proposals")),
        names_propose,
        reads_only=True,
    ),
    Tool(
        "replay_plan",
        "The effective steps of a session",
        "The steps of a past workflow that still count, without dead ends and retries, with its folders"
        " and dates as parameters. Call it to do the same again. Nothing is executed. Costs up to"
        " max_tokens (1500) a page."
        ' Example: {"session": "…"}',
        record(
            {
                "session": SESSION,
                "limit": whole("How many steps a page.", least=1, most=200, default=50),
                "cursor": CURSOR,
                "max_tokens": MAX_TOKENS,
            },
            ("session",),
        ),
        shape(
            {
                "session": STRING,
                "title": MAYBE_STRING,
                "total": INTEGER,
                "steps": OBJECTS,
                "parameters": OBJECTS,
                "left_out": ANY_OBJECT,
                "next_cursor": NEXT,
            },
            ("session", "total", "steps", "parameters", "next_cursor"),
        ),
        replay_plan,
        reads_only=True,
    ),
)
