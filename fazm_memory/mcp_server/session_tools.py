"""Tools that list, open, pause, resume, close, fork and rewind sessions."""

from __future__ import annotations

from typing import Any

from fazm_memory.clock import parse_time
from fazm_memory.mcp_server.recording_tools import record_event
from fazm_memory.mcp_server.tool import (
    ANY_OBJECT,
    CURSOR,
    EXPECTED,
    LIFECYCLES,
    LIMITS,
    MAYBE_STRING,
    NEXT,
    OBJECTS,
    SESSION,
    SESSION_ANSWER,
    SESSION_SHAPE,
    SOURCE,
    STRING,
    TOKENS,
    Caller,
    Tool,
    ToolResult,
    boolean,
    character_budget,
    check_new_session,
    choice,
    decode_cursor,
    encode_cursor,
    fit_tables,
    input_object,
    integer,
    moment,
    number,
    output_object,
    random_id,
    session_answer,
    session_for_reading,
    session_for_writing,
    string,
)
from fazm_memory.recall import plain_name, quote
from fazm_memory.text import plural, plural_with_verb

LISTED = 20


def session_line(row: dict[str, Any]) -> str:
    title = quote(row["title"], 80) if row["title"] else "untitled"
    folder = f" in {quote(row['workspace'], 120)}" if row["workspace"] else ""
    state = row["lifecycle"] if row["ended"] in (None, row["lifecycle"]) else row["ended"]
    about = f"{plain_name(row['agent'])}, {state}, {plural(row['events'], 'event')}"
    machine = f", on {quote(row['device'], 60)}" if row.get("device") else ""
    return f"{row['id']} {title}{folder} ({about}{machine})"


def session_list(caller: Caller, args: dict[str, Any]) -> ToolResult:
    wanted = {name: args[name] for name in ("agent", "workspace", "lifecycle") if name in args}
    limit = args.get("limit", LISTED)
    at = decode_cursor(args.get("cursor"), {"before": int, "seen": list}) or {}
    seen = {id_ for id_ in at.get("seen", ()) if isinstance(id_, str)}
    rows = caller.memory.sessions.listing(limit=limit + 1 + len(seen), before=at.get("before"), **wanted)
    page = [row for row in rows if row["id"] not in seen]
    following = None
    if len(page) > limit:
        page = page[:limit]
        # Sessions may end in the same microsecond. The next page begins with them and skips those shown.
        last = parse_time(page[-1]["last_at"])
        again = [row["id"] for row in page if parse_time(row["last_at"]) == last]
        earlier = seen if at.get("before") == last + 1 else set()
        following = encode_cursor({"before": last + 1, "seen": sorted({*again, *earlier})})
    lines = [session_line(row) for row in page] or ["No session matches."]
    more = ["More: call session_list again with next_cursor."] if following else []
    return ToolResult({"sessions": page, "next_cursor": following}, "\n".join([*lines, *more]))


LISTING_TOOLS = (
    Tool(
        "session_list",
        "List sessions",
        "Sessions recorded on this machine, latest first. Call it to get the handle of earlier work before"
        " session_state, session_events or session_resume. Costs about 120 tokens per session."
        ' Example: {"workspace": "/Users/dana/Downloads", "limit": 5}',
        input_object(
            {
                "agent": string("Only sessions of this agent.", most=200),
                "workspace": string("Only sessions in exactly this folder.", most=4096),
                "lifecycle": choice(LIFECYCLES, "Only sessions in this state."),
                "limit": integer("Sessions per page.", least=1, most=100, default=LISTED),
                "cursor": CURSOR,
            }
        ),
        output_object(
            {"sessions": {"type": "array", "items": SESSION_SHAPE}, "next_cursor": NEXT},
            ("sessions", "next_cursor"),
        ),
        session_list,
        reads_only=True,
    ),
)


CONTEXT_TOKENS = 1000
BUDGET = input_object({what: number("") | {"description": f"Limit of {what}."} for what in LIMITS}) | {
    "description": "Limits of the session."
}
REASON = string("The reason, for readers of the log.", most=2000)
MOVED = output_object({**SESSION_ANSWER, "briefing": STRING}, ("session", "session_info"))
MAYBE_OBJECT: dict[str, Any] = {"type": ["object", "null"]}
SHOWN = 10  # files of a plan that the text names; the data has more
FIRST = frozenset({"files"})


def session_open(caller: Caller, args: dict[str, Any]) -> ToolResult:
    """Open a session and return the context.

    So an agent that calls nothing else has a memory.
    """
    memory = caller.memory
    agent = args.get("agent") or caller.agent
    # The host's key belongs to the host's agent. With another agent name it would open a second session.
    key = args.get("key") or (caller.key if agent == caller.agent else None) or random_id(16)
    check_new_session(caller, agent, key)
    workspace = args.get("workspace") or caller.workspace
    fields: dict[str, Any] = {
        "key": key,
        "title": args.get("title"),
        "budget": args.get("budget"),
        "source": SOURCE,
    }
    if args.get("own_folder") and workspace:
        session = memory.own_folders.open(agent, workspace, **fields)
        workspace = session["folder"]
    else:
        session = memory.sessions.open(agent, workspace=workspace, **fields)
    data: dict[str, Any] = {**session_answer(session), "context": ""}
    if args.get("context", True):
        budget = args.get("context_tokens", CONTEXT_TOKENS)
        context = memory.recall.context(workspace, budget=budget, besides=session["agent_session_id"])
        # The context leaves this session out. Without another one it would say that nothing is recorded.
        data["context"] = context.text if context.included or session["events"] == 1 else ""
    lines = [f"Session {session['id']} is {session['lifecycle']}. Pass this id as `session`."]
    if session["events"] > 1:
        lines.append(f"It already has {plural(session['events'], 'event')}: session_state tells what it did.")
    if args.get("own_folder") and workspace:
        data["folder"] = workspace
        lines.append(f"Work in {quote(workspace)}, a copy that is yours alone. A person merges it back.")
    if session["lifecycle"] == "archived":
        lines.append("Call session_archive with undo, then session_resume, before you record anything.")
    elif session["lifecycle"] in ("paused", "closed"):
        lines.append("Call session_resume with it before you record anything.")
    return ToolResult(data, "\n".join([*lines, data["context"]]).rstrip())


def _move(caller: Caller, args: dict[str, Any], move: str) -> dict[str, Any]:
    reason = {"reason": args["reason"]} if "reason" in args else {}
    return caller.memory.sessions.get(record_event(caller, args, f"session.{move}", reason)["session"])


def session_pause(caller: Caller, args: dict[str, Any]) -> ToolResult:
    session = _move(caller, args, "pause")
    return ToolResult(
        session_answer(session), f"Session {session['id']} is paused. session_resume continues it."
    )


def session_resume(caller: Caller, args: dict[str, Any]) -> ToolResult:
    found = session_for_writing(caller, args["session"])
    # Not `record_event`: a session is not resumed while a question to a person is open.
    session, briefing = caller.memory.recall.resume(
        found["id"], reason=args.get("reason"), source=SOURCE, expected_seq=args.get("expected_seq")
    )
    return ToolResult(
        {**session_answer(session), "briefing": briefing.text},
        f"Session {session['id']} is resumed.\n{briefing.text}".rstrip(),
    )


def session_close(caller: Caller, args: dict[str, Any]) -> ToolResult:
    session = _move(caller, args, "close")
    return ToolResult(
        session_answer(session),
        f"Session {session['id']} is closed. It keeps {plural(session['events'], 'event')}.",
    )


def session_fork(caller: Caller, args: dict[str, Any]) -> ToolResult:
    found = session_for_reading(caller, args["session"])
    session = caller.memory.rewind.fork(
        found["id"], at=args.get("at"), title=args.get("title"), into=args.get("into"), source=SOURCE
    )
    folder, listed = session.pop("folder"), session.pop("manifest")
    data = {**session_answer(session), "folder": folder, "manifest": listed}
    text = f"New branch of {found['id']} at {session['parent_seq']}: {session_line(session)}"
    if listed is not None:
        missing = listed["missing"]
        present = plural_with_verb(listed["files"] - missing, "file", "are")
        text += f"\n{present} in {quote(folder)}, {missing} missing"
    return ToolResult(data, text)


def session_rewind(caller: Caller, args: dict[str, Any]) -> ToolResult:
    found = session_for_writing(caller, args["session"])
    args = {**args, "to": caller.memory.sessions.position(found["id"], args["to"])}
    if args.get("dry_run"):
        plan = caller.memory.rewind.plan(found["id"], args["to"])
        lines = [
            f"{entry['action']} {quote(entry['path'])}: {quote(entry['why'])}"
            for entry in plan["files"][:SHOWN]
        ]
        lines += [
            f"{entry['action']} the empty folder {quote(entry['path'])}: {quote(entry['why'])}"
            for entry in plan["folders"][:SHOWN]
        ]
        touched = plural(len(plan["files"]), "file")
        head = f"A rewind to {args['to']} would change {touched}. Nothing was done."
        shown, lost = fit_tables(plan, character_budget(TOKENS), leading=FIRST)
        return ToolResult(
            {**session_answer(found), "plan": shown, "left_out": lost}, "\n".join([head, *lines])
        )
    session = caller.memory.rewind.apply(
        found["id"],
        args["to"],
        files=args.get("files", False),
        force=args.get("force", False),
        reason=args.get("reason"),
        expected_seq=args.get("expected_seq"),
        plan=args.get("plan"),
        source=SOURCE,
    )
    files, undo = session.pop("files"), session.pop("undo")
    session.pop("finished", None)
    session.pop("folders", None)  # the plan lists them
    done = sum(file["done"] for file in files)
    left = f"{plural_with_verb(len(files) - done, 'file', 'were')} left unchanged"
    text = f"{plural_with_verb(done, 'file', 'are')} restored, {left}" if files else "No file was changed"
    listed, lost = fit_tables({"files": files}, character_budget(TOKENS), leading=FIRST)
    return ToolResult(
        {**session_answer(session), **listed, "undo": undo, "left_out": lost},
        f"Session {session['id']} is at position {args['to']} again. Nothing was erased. {text}.",
    )


MOVES = input_object({"session": SESSION, "reason": REASON, "expected_seq": EXPECTED}, ("session",))

TOOLS = (
    Tool(
        "session_open",
        "Open a session",
        "Call this once when you begin a task. It returns the handle for all other tools, and what happened"
        " before in this folder (context). A `key` that is already known gives the same session again."
        " Costs up to context_tokens (1000), about 100 with context=false."
        ' Example: {"workspace": "/Users/dana/Downloads", "title": "Tidy invoices"}',
        input_object(
            {
                "workspace": string("The folder you work in, absolute.", most=4096),
                "title": string("What it is about.", most=500),
                "agent": string("Your name. Default: the client's name.", most=200),
                "key": string("Your id of this conversation, if you have one.", most=200),
                "budget": BUDGET,
                "own_folder": boolean(
                    "Work in a copy of the folder, apart from other sessions.", default=False
                ),
                "context": boolean("Also return what happened before.", default=True),
                "context_tokens": integer(
                    "Size of the context in tokens.", least=200, most=2400, default=CONTEXT_TOKENS
                ),
            }
        ),
        output_object(
            {**SESSION_ANSWER, "context": STRING, "folder": STRING},
            ("session", "session_info", "context"),
        ),
        session_open,
    ),
    Tool(
        "session_pause",
        "Pause a session",
        "Call when you stop before the task is done, for example to wait for the user. Nothing can be"
        " recorded in the session until session_resume. Costs about 150 tokens."
        ' Example: {"session": "…", "reason": "waiting for access"}',
        MOVES,
        MOVED,
        session_pause,
        idempotent=True,
    ),
    Tool(
        "session_resume",
        "Resume a session",
        "Continue a paused or closed session. Call it when the user wants to continue earlier work, which"
        " session_list or memory_search finds. Returns a briefing: the state, the last good step, what is"
        ' open, what changed since. Costs up to about 1200 tokens. Example: {"session": "…"}',
        MOVES,
        output_object({**SESSION_ANSWER, "briefing": STRING}, ("session", "session_info", "briefing")),
        session_resume,
        idempotent=True,
    ),
    Tool(
        "session_close",
        "Close a session",
        "Call when the task is done. The session stays readable, and session_resume opens it again."
        ' Costs about 150 tokens. Example: {"session": "…", "reason": "all invoices are renamed"}',
        MOVES,
        MOVED,
        session_close,
        idempotent=True,
    ),
    Tool(
        "session_fork",
        "Branch a session",
        "Call to try a different way: a new session starts at an earlier position of another one, which is"
        " not changed. With `into` the files are written there as they were at that position."
        ' Costs about 200 tokens. Example: {"session": "…", "at": 42, "title": "by vendor instead"}',
        input_object(
            {
                "session": SESSION,
                "at": moment("Where to branch. Default: now."),
                "title": string("What the branch is about.", most=500),
                "into": string("A new or empty absolute folder for the files.", most=4096),
            },
            ("session",),
        ),
        output_object(
            {**SESSION_ANSWER, "folder": MAYBE_STRING, "manifest": MAYBE_OBJECT}, ("session", "session_info")
        ),
        session_fork,
    ),
    Tool(
        "session_rewind",
        "Rewind a session",
        "Call to undo: a session moves back to an earlier position. The log keeps all later events. With"
        " files=true the files that the session changed since are restored too, also those changed by"
        " shell. dry_run=true only returns the plan. Files that others changed since are refused, also with"
        " force=true. Ask the user first: later events no longer count."
        " Costs about 150 tokens, with files up to 1500."
        ' Example: {"session": "…", "to": 42, "reason": "wrong folder"}',
        input_object(
            {
                "session": SESSION,
                "to": moment("Where to go back to."),
                "files": boolean("Also restore files.", default=False),
                "dry_run": boolean("Only return what would happen to files.", default=False),
                "force": boolean(
                    "Continue although there are newer events or unfinished calls.", default=False
                ),
                "plan": string(
                    "The digest of the plan that was shown. Only that plan is carried out.", most=200
                ),
                "reason": REASON,
                "expected_seq": EXPECTED,
            },
            ("session", "to"),
        ),
        output_object(
            {
                **SESSION_ANSWER,
                "files": OBJECTS,
                "undo": MAYBE_STRING,
                "plan": ANY_OBJECT,
                "left_out": ANY_OBJECT,
            },
            ("session", "session_info"),
        ),
        session_rewind,
        destructive=True,
    ),
)
