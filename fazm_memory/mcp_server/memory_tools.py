"""Tools that read across sessions: search, context, naming conventions, replay plans."""

from __future__ import annotations

from typing import Any

from fazm_memory.errors import NotFound
from fazm_memory.mcp_server.pages import character_budget, decode_cursor, encode_cursor, fit_rows, fit_tables
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
    Tool,
    ToolResult,
    array,
    input_object,
    integer,
    output_object,
    session_for_reading,
    string,
)
from fazm_memory.recall import quote
from fazm_memory.text import plural

FOUND = 10
LOOKED_AT = 30  # latest sessions that are searched for a naming convention
DEEPEST = 200  # hits that can be paged through


def memory_search(caller: Caller, args: dict[str, Any]) -> ToolResult:
    limit = args.get("limit", FOUND)
    at = decode_cursor(args.get("cursor"), {"query": str, "skip": int})
    skip = at["skip"] if at is not None and at["query"] == args["query"] else 0
    hits = caller.memory.recall.search(args["query"], limit=min(DEEPEST, skip + limit + 1))
    hits_shown, rest = fit_rows(
        hits[skip:], limit=limit, most=character_budget(args.get("max_tokens", TOKENS)), free=("snippet",)
    )
    following = (
        encode_cursor({"query": args["query"], "skip": skip + len(hits_shown)}) if rest is not None else None
    )
    lines = [NOTE] if hits_shown else ["Nothing matches. Try fewer or other words."]
    notes = list(caller.memory.recall.search_notes(args["query"]))
    lines += [f"note: {quote(note, 240)}" for note in notes]
    lines += [
        f"{hit['session']} @{hit['seq']} {hit['at'][:16]} {hit['kind']}: {quote(str(hit['snippet']), 260)}"
        + (f" (file changed since, {hit['changed_since'][:16]})" if hit["changed_since"] else "")
        for hit in hits_shown
    ]
    if following:
        lines.append("More: call memory_search again with next_cursor.")
    return ToolResult({"hits": hits_shown, "notes": notes, "next_cursor": following}, "\n".join(lines))


def memory_context(caller: Caller, args: dict[str, Any]) -> ToolResult:
    budget = args.get("budget", args.get("max_tokens", TOKENS))
    context = caller.memory.recall.context(args.get("workspace") or caller.workspace, budget=budget)
    data = {name: context.data[name] for name in ("workspace", "at", "tokens", "budget", "left_out")}
    return ToolResult({**data, "text": context.text}, context.text)


def conventions_get(caller: Caller, args: dict[str, Any]) -> ToolResult:
    learned = caller.memory.recall.conventions(session_for_reading(caller, args["session"])["id"])
    learned.pop("proposals")
    first = frozenset({"conventions", "skipped", "folders_processed"})
    shown, lost = fit_tables(learned, character_budget(args.get("max_tokens", TOKENS)), leading=first)
    lines = [f"session {shown['session']}. {NOTE}"]
    for convention in shown["conventions"][:10]:
        where = quote(str(convention["folder"]), 160)
        lines.append(
            f"named {quote(str(convention['pattern']), 160)} in {where},"
            f" {plural(convention['support'], 'file')}"
        )
    for rule in shown["skipped"][:10]:
        where = quote(str(rule["folder"]), 160)
        lines.append(f"skipped {rule['count']} in {where}: {quote(str(rule['rule']), 160)}")
    if len(lines) == 1:
        lines.append("No renames that show a convention.")
    if lost:
        lines.append(f"{sum(lost.values())} entries left out. Call again with a larger max_tokens.")
    return ToolResult({**shown, "left_out": lost}, "\n".join(lines))


def _latest_with_conventions(caller: Caller) -> str:
    """The latest session that shows a naming convention, in the caller's folder before others."""
    for place in (caller.workspace, None) if caller.workspace else (None,):
        for row in caller.memory.sessions.listing(limit=LOOKED_AT, workspace=place):
            if row["files_modified"] and caller.memory.recall.conventions(row["id"])["conventions"]:
                return str(row["id"])
    raise NotFound("No recent session shows a naming convention.", hint="Pass `session`.")


def names_propose(caller: Caller, args: dict[str, Any]) -> ToolResult:
    if "session" in args:
        session = session_for_reading(caller, args["session"])["id"]
    else:
        session = _latest_with_conventions(caller)
    learned = caller.memory.recall.conventions(session, names=args["names"])
    most = character_budget(args.get("max_tokens", TOKENS))
    cut, lost = fit_tables({"proposals": learned["proposals"]}, most, leading=frozenset({"proposals"}))
    lines = [NOTE]
    for proposal in cut["proposals"]:
        name = quote(str(proposal["name"]), 160)
        if proposal["becomes"] is None:
            lines.append(f"{name}: unknown, {quote(str(proposal['because']), 160)}")
        else:
            lines.append(f"{name} → {quote(str(proposal['becomes']), 160)}")
    if lost:
        lines.append(f"{sum(lost.values())} names left out. Call again with fewer names.")
    return ToolResult({"session": learned["session"], **cut, "left_out": lost}, "\n".join(lines))


def replay_plan(caller: Caller, args: dict[str, Any]) -> ToolResult:
    plan = caller.memory.replay.plan(session_for_reading(caller, args["session"])["id"])
    limit = args.get("limit", 50)
    at = decode_cursor(args.get("cursor"), {"session": str, "skip": int})
    skip = at["skip"] if at is not None and at["session"] == plan["session"] else 0
    most = character_budget(args.get("max_tokens", TOKENS))
    free = ("what", "why", "target", "command", "files")
    steps, rest = fit_rows(plan["steps"][skip:], limit=limit, most=most, free=free)
    following = (
        encode_cursor({"session": plan["session"], "skip": skip + len(steps)}) if rest is not None else None
    )
    lines = [f"session {plan['session']}: {plural(len(plan['steps']), 'step')}; nothing is executed. {NOTE}"]
    for step in steps:
        what = step["what"] if step["kind"] == "decision" else f"{step['tool']} {step['target']}"
        doubt = f" ({step['doubt']}; do not repeat it unchecked)" if "doubt" in step else ""
        lines.append(f"@{step['seq']} {step['kind']}: {quote(str(what), 160)}{doubt}")
    if following:
        lines.append("More: call replay_plan again with next_cursor.")
    data = {
        "session": plan["session"],
        "title": plan["title"],
        "total": len(plan["steps"]),
        "steps": steps,
        "parameters": plan["parameters"],
        "left_out": plan["left_out"],
        "next_cursor": following,
    }
    return ToolResult(data, "\n".join(lines))


TOOLS = (
    Tool(
        "memory_search",
        "Search the memory",
        "Search all sessions by words, paths and filters such as `kind:decision`, `tool:Bash` or"
        " `yesterday`. Call it before asking the user something they may have said already. Costs up to"
        ' max_tokens (1500), about 90 per hit. Example: {"query": "invoice naming kind:decision",'
        ' "limit": 5}',
        input_object(
            {
                "query": string("Words, paths, filters.", most=1000),
                "limit": integer("Hits per page.", least=1, most=50, default=FOUND),
                "cursor": CURSOR,
                "max_tokens": MAX_TOKENS,
            },
            ("query",),
        ),
        output_object(
            {
                "hits": {
                    "type": "array",
                    "items": output_object(
                        {
                            "session": STRING,
                            "seq": INTEGER,
                            "at": STRING,
                            "kind": STRING,
                            "title": MAYBE_STRING,
                            "snippet": MAYBE_STRING,
                            "file": MAYBE_STRING,
                            "changed_since": MAYBE_STRING,
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
        " user's facts. session_open already returns it. Call this for another folder, or after your"
        ' context was compacted. Costs up to max_tokens (1500). Example: {"workspace":'
        ' "/Users/dana/Downloads"}',
        input_object(
            {
                "workspace": string("An absolute folder. Default: all folders.", most=4096),
                "max_tokens": MAX_TOKENS | {"maximum": 2400},
                "budget": MAX_TOKENS | {"maximum": 2400, "description": "The same as max_tokens."},
            }
        ),
        output_object(
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
        " you continue to organise files as that session did. Costs up to max_tokens (1500)."
        ' Example: {"session": "…"}',
        input_object({"session": SESSION, "max_tokens": MAX_TOKENS}, ("session",)),
        output_object(
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
        "New names for files by the conventions of an earlier session, or why a name is not known. Call it"
        " before you rename files. Nothing is renamed. Costs about 50 tokens per name."
        ' Example: {"session": "…", "names": ["scan 3.pdf"]}',
        input_object(
            {
                "session": SESSION
                | {"description": "The handle of a session. Default: the latest that renamed files."},
                "names": array(string("A file's name or path.", most=4096), "The files.", most=100)
                | {"minItems": 1},
                "max_tokens": MAX_TOKENS,
            },
            ("names",),
        ),
        output_object(
            {"session": STRING, "proposals": OBJECTS, "left_out": ANY_OBJECT}, ("session", "proposals")
        ),
        names_propose,
        reads_only=True,
    ),
    Tool(
        "replay_plan",
        "The effective steps of a session",
        "The effective steps of a past session, without dead ends and retries, with folders and dates as"
        " parameters. Call it to do the same again. Nothing is executed. Costs up to max_tokens (1500)"
        ' per page. Example: {"session": "…"}',
        input_object(
            {
                "session": SESSION,
                "limit": integer("Steps per page.", least=1, most=200, default=50),
                "cursor": CURSOR,
                "max_tokens": MAX_TOKENS,
            },
            ("session",),
        ),
        output_object(
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
