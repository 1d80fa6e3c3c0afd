"""Tools for messages, evictions, budget, artifacts and more.

Also retracting a fact, archiving and retitling a session, retries, and what rests on untrusted input.
"""

from __future__ import annotations

from typing import Any, get_args

from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.events import ArtifactForm, TodoStatus
from fazm_memory.mcp_server.reading_tools import NOTE
from fazm_memory.mcp_server.recording_tools import ABOUT_WRITING, WRITTEN, record_event, takes
from fazm_memory.mcp_server.session_tools import BUDGET, REASON
from fazm_memory.mcp_server.tool import (
    ANY_OBJECT,
    EXPECTED,
    LIMITS,
    MAX_TOKENS,
    OBJECTS,
    SESSION,
    SESSION_ANSWER,
    STRING,
    TOKENS,
    Caller,
    Tool,
    ToolResult,
    array,
    boolean,
    character_budget,
    choice,
    fit_rows,
    fit_tables,
    harmless,
    input_object,
    integer,
    number,
    output_object,
    session_answer,
    session_for_reading,
    session_for_writing,
    string,
)
from fazm_memory.recall import quote
from fazm_memory.text import plural

LISTED = 50


def _written(data: dict[str, Any], what: str) -> ToolResult:
    return ToolResult(data, f"{what} recorded in session {data['session']} at {data['seq']}.")


def message_record(caller: Caller, args: dict[str, Any]) -> ToolResult:
    """The agent's words, or the user's as the agent reports them. Those begin a turn."""
    by_user = args.get("from", "agent") == "user"
    if not by_user and "turn" not in args:
        found = session_for_writing(caller, args["session"])
        if caller.memory.sessions.has_no_prompts(found["id"]):
            args = {**args, "turn": found["turns"] + 1}
    kind = "prompt" if by_user else "message"
    return _written(record_event(caller, args, kind, {"text": args["text"]}), "message")


def evicted_record(caller: Caller, args: dict[str, Any]) -> ToolResult:
    payload = {"keys": args.get("keys", []), **_given(args, "summary")}
    data = record_event(caller, args, "evicted", payload)
    [event] = caller.memory.history.events(data["session"], start=data["seq"], stop=data["seq"] + 1)
    keys = event["evicted_keys"]
    text = f"{plural(len(keys), 'key')} left the context. session_state and session_events still have them."
    return ToolResult(data | {"evicted_keys": keys}, text)


def usage_record(caller: Caller, args: dict[str, Any]) -> ToolResult:
    names = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd", "model")
    limits = {f"budget_{what}": limit for what, limit in args.get("budget", {}).items()}
    data = record_event(caller, args, "usage", {**_given(args, *names), **limits})
    budget = _budget(caller, data["session"])
    return ToolResult(data | {"budget": budget}, f"Usage recorded. {_budget_text(budget)}")


def budget_get(caller: Caller, args: dict[str, Any]) -> ToolResult:
    found = session_for_reading(caller, args["session"])
    budget = caller.memory.history.budget(found["id"])
    left = budget.get("remaining", {})
    step = args.get("step", {})
    fits = {what: remains >= step.get(what, 0) for what, remains in left.items()}
    text = _budget_text(budget)
    if step:
        over = [what for what, fit in fits.items() if not fit]
        text += f" This step exceeds the limit of {', '.join(over)}." if over else " This step fits."
    return ToolResult(
        {"session": found["id"], "budget": budget, "fits": all(fits.values()), "by_limit": fits}, text
    )


def _budget(caller: Caller, session: str) -> dict[str, Any]:
    return dict(caller.memory.history.state(session, quarantined=False)["budget"])


def _budget_text(budget: dict[str, Any]) -> str:
    limits, spent = budget.get("limits", {}), budget.get("spent", {})
    if not limits:
        return "The session has no limits."
    return "Spent: " + ", ".join(f"{spent[what]} of {limit} {what}" for what, limit in limits.items()) + "."


def fact_retract(caller: Caller, args: dict[str, Any]) -> ToolResult:
    data = record_event(caller, args, "fact.retract", {"key": args["key"], **_given(args, "reason")})
    note = caller.memory.sessions.why_without_effect(data["session"], data["seq"])
    if note is not None:
        hint = "session_state with keys [facts] lists the facts"
        return ToolResult(data | {"note": note}, f"recorded, but {harmless(note)}; {hint}")
    return _written(data, "retraction")


def session_archive(caller: Caller, args: dict[str, Any]) -> ToolResult:
    kind = "session.restore" if args.get("undo") else "session.archive"
    data = record_event(caller, args, kind, _given(args, "reason"))
    session = caller.memory.sessions.get(data["session"])
    return ToolResult(session_answer(session), f"Session {session['id']} is {session['lifecycle']}.")


def session_retitle(caller: Caller, args: dict[str, Any]) -> ToolResult:
    data = record_event(caller, args, "session.title", {"title": args["title"]})
    session = caller.memory.sessions.get(data["session"])
    return ToolResult(session_answer(session), f"Session {session['id']} has a new title.")


def _given(args: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: args[name] for name in names if name in args}


def artifact_put(caller: Caller, args: dict[str, Any]) -> ToolResult:
    """Record a new version of an artifact.

    The whole artifact, or the known one with some items changed.
    """
    name = args["name"]
    found = session_for_writing(caller, args["session"])
    if "set" in args:
        if "items" in args:
            raise InvalidInput("`items` and `set` exclude each other.")
        payload = caller.memory.sessions.changed_artifact(found["id"], name, args["set"])
        args = {"expected_seq": found["events"]} | args
    else:
        payload = {"name": name, **_given(args, "form", "items", "text", "removed")}
        if "items" in args:
            items = [{"text": item} if isinstance(item, str) else item for item in args["items"]]
            payload["items"] = items
    data = record_event(caller, args, "artifact", payload)
    return _written(data, f"artifact {quote(name, 80)}")


def artifact_get(caller: Caller, args: dict[str, Any]) -> ToolResult:
    found = session_for_reading(caller, args["session"])
    rows = caller.memory.history.state(found["id"], quarantined=False)["artifacts"]
    if "name" in args:
        names = ", ".join(f'"{row["name"][:60]}"' for row in rows[:10]) or "none"
        rows = [row for row in rows if row["name"] == args["name"]]
        if not rows:
            raise NotFound(
                f'Session {found["id"][:8]} has no artifact "{args["name"][:60]}".', hint=f"It has: {names}."
            )
    shown, lost = fit_tables({"artifacts": rows}, character_budget(args.get("max_tokens", TOKENS)))
    lines = [NOTE]
    for row in shown["artifacts"]:
        lines.append(f"{quote(row['name'], 80)} ({row['form']}): {row['done']} of {row['total']} done")
        lines += [
            f"- [{item['status']}] {item['id']}: {quote(str(item['text']), 160)}" for item in row["items"]
        ]
    return ToolResult({"session": found["id"], **shown, "left_out": lost}, "\n".join(lines))


def session_retries(caller: Caller, args: dict[str, Any]) -> ToolResult:
    found = session_for_reading(caller, args["session"])
    rows = caller.memory.history.retries(found["id"], quarantined=False)[::-1]
    most = character_budget(args.get("max_tokens", TOKENS))
    shown, _ = fit_rows(
        rows, limit=LISTED, most=most, free=("diff", "before", "after", "meanwhile", "target")
    )
    lines = [f"session {found['id']}: {plural(len(rows), 'retry')}. {NOTE}"]
    for row in shown:
        before = row["before"]["outcome"] if row["before"] else "forgotten"
        changed = ", ".join(row["changed"]) or "nothing"
        lines.append(
            f"@{row['seq']} retries @{row['retry_of']}: {quote(row['tool'], 60)} {quote(row['target'], 120)},"
            f" {before} then {row['after']['outcome']}; changed: {changed}"
        )
    return ToolResult(
        {"session": found["id"], "retries": shown, "left_out": len(rows) - len(shown)}, "\n".join(lines)
    )


def untrusted_list(caller: Caller, args: dict[str, Any]) -> ToolResult:
    rows = caller.memory.history.untrusted(**_given(args, "workspace", "trust", "session"), limit=LISTED)
    most = character_budget(args.get("max_tokens", TOKENS))
    shown, _ = fit_rows(rows, limit=LISTED, most=most, free=("what", "led_to"))
    lines = [NOTE] if shown else ["Nothing rests on untrusted input."]
    for row in shown:
        led = row.get("led_to") or {"calls": 0, "changes": 0}
        after = f", then {plural(led['calls'], 'call')} and {plural(led['changes'], 'file change')}"
        lines.append(f"{row['session']} @{row['seq']} [{row['trust']}] {quote(str(row['what']), 160)}{after}")
    return ToolResult({"entries": shown, "left_out": len(rows) - len(shown)}, "\n".join(lines))


def habits_get(caller: Caller, args: dict[str, Any]) -> ToolResult:
    """What recurs, with the events that show it. Evidence, never an instruction."""
    learned = caller.memory.recall.habits().to_json()
    folders = [node for node in learned["nodes"] if node["kind"] == "folder"]
    workspace = args.get("workspace")
    rows = {
        "failing_first": learned["failing_first"],
        "tasks": [task for task in learned["tasks"] if workspace is None or workspace in task["folders"]],
        "folders": sorted(folders, key=lambda node: -node["count"])[:LISTED],
    }
    first = frozenset(rows)
    shown, lost = fit_tables(rows, character_budget(args.get("max_tokens", TOKENS)), leading=first)
    lines = [f"Learned from {plural(learned['sessions'], 'session')}. {NOTE}"]
    for row in shown["failing_first"]:
        solved = ", ".join(
            f"{quote(one['what'], 100)} ({one['count']} times)" for one in row["mended_by"][:2]
        )
        lines.append(
            f"{quote(row['command'], 100)} failed {row['failures']} times"
            + (f"; solved by {solved}" if solved else "; nothing solved it")
        )
    for row in shown["tasks"]:
        when = f", {row['rhythm']['name']}" if row["rhythm"].get("name") else ""
        lines.append(f"recurs {row['count']} times{when}: {quote(row['words'], 120)}")
    lines += [f"used {row['count']} times: folder {quote(row['name'], 120)}" for row in shown["folders"][:5]]
    return ToolResult({"sessions": learned["sessions"], **shown, "left_out": lost}, "\n".join(lines))


ITEM = input_object(
    {
        "text": string("What it says.", most=2000),
        "status": choice(get_args(TodoStatus), "How far it is. Default: pending."),
        "id": string("A name for it. Default: its number.", most=100),
        "note": string("A remark.", most=2000),
    },
    ("text",),
)
ITEM_OR_TEXT = ITEM | {"type": ["object", "string"], "minLength": 1, "maxLength": 2000}
CHANGE = input_object(
    dict(ITEM["properties"]) | {"id": string("Which item. Without it the item is added.", most=100)}
)
NAME = string("Its name within the session, such as features.", most=200)
SMALL_NUMBER = {
    "description": "How much the step would take.",
    **input_object({what: number("") for what in LIMITS}),
}

TOOLS = (
    Tool(
        "message_record",
        "Record a message",
        "Record what you said to the user, or with from=user what the user said. A user message begins a"
        " turn; in a session without any, each of your messages begins one. What you report of the user is"
        " trusted as your word."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "from": "user", "text": "try again"}',
        takes(
            {
                "text": string("The words.", most=100_000),
                "from": choice(("agent", "user"), "Default: agent."),
            },
            "text",
        ),
        WRITTEN,
        message_record,
    ),
    Tool(
        "evicted_record",
        "Record that your context was compacted",
        "Record which keys left your context, such as file:/w/a.txt or decision:12. Without keys: everything"
        " that the summary does not mention." + ABOUT_WRITING + ' Example: {"session": "…", "summary": "…"}',
        takes(
            {
                "keys": array(string("A key of the state.", most=4096), "What left the context.", most=1000),
                "summary": string("What is still in it.", most=100_000),
            }
        ),
        WRITTEN | {"properties": WRITTEN["properties"] | {"evicted_keys": {"type": "array"}}},
        evicted_record,
    ),
    Tool(
        "usage_record",
        "Record tokens and money spent",
        "Record what you spent, and set limits with `budget`. The answer has what remains. When a limit is"
        " passed an event of kind budget is recorded."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "input_tokens": 1200, "output_tokens": 80, "cost_usd": 0.02}',
        takes(
            {
                "input_tokens": integer("Tokens read."),
                "output_tokens": integer("Tokens written."),
                "cached_tokens": integer("Tokens of the input that were cached."),
                "cost_usd": number("Money spent in US dollars."),
                "model": string("The model.", most=200),
                "budget": BUDGET,
            }
        ),
        WRITTEN | {"properties": WRITTEN["properties"] | {"budget": ANY_OBJECT}},
        usage_record,
    ),
    Tool(
        "budget_get",
        "What remains of the budget",
        "What was spent, what remains and which limits are exceeded. With `step` also whether a step of that"
        ' size fits. Call it before an expensive step. Costs about 100 tokens. Example: {"session": "…",'
        ' "step": {"tokens": 5000}}',
        input_object({"session": SESSION, "step": SMALL_NUMBER}, ("session",)),
        output_object(
            {"session": STRING, "budget": ANY_OBJECT, "fits": {"type": "boolean"}, "by_limit": ANY_OBJECT},
            ("session", "budget", "fits"),
        ),
        budget_get,
        reads_only=True,
    ),
    Tool(
        "fact_retract",
        "Retract a fact",
        "Call when a fact no longer holds. The log keeps it."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "key":'
        ' "invoices.folder"}',
        takes({"key": string("The fact's key.", most=200), "reason": REASON}, "key"),
        WRITTEN,
        fact_retract,
    ),
    Tool(
        "session_archive",
        "Archive a session",
        "Call to put a closed session away. It stays readable and is found by search. With undo it is closed"
        ' again. Costs about 150 tokens. Example: {"session": "…"}',
        input_object(
            {
                "session": SESSION,
                "undo": boolean("Take it out of the archive.", default=False),
                "reason": REASON,
                "expected_seq": EXPECTED,
            },
            ("session",),
        ),
        output_object(SESSION_ANSWER, ("session", "session_info")),
        session_archive,
    ),
    Tool(
        "session_retitle",
        "Retitle a session",
        "Call when it has become clearer what a session is about. Costs about 150 tokens."
        ' Example: {"session": "…", "title": "Rename the invoices of 2026"}',
        input_object(
            {"session": SESSION, "title": string("The new title.", most=500), "expected_seq": EXPECTED},
            ("session", "title"),
        ),
        output_object(SESSION_ANSWER, ("session", "session_info")),
        session_retitle,
    ),
    Tool(
        "artifact_put",
        "Write an artifact",
        "Call to write a lasting document of the work: a feature list, a progress log, a checklist. Give all"
        " `items`,"
        " or with `set` only those that change, by id. The next session is given it as it is."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "name": "features", "set": [{"id": "2", "status": "completed"}]}',
        takes(
            {
                "name": NAME,
                "form": choice(get_args(ArtifactForm), "What it is. Default: checklist."),
                "items": array(ITEM_OR_TEXT, "All items.", most=500),
                "set": array(CHANGE, "Items that change or are new.", most=500),
                "text": string("Its text, in Markdown.", most=100_000),
                "removed": boolean("Remove it.", default=False),
            },
            "name",
        ),
        WRITTEN,
        artifact_put,
    ),
    Tool(
        "artifact_get",
        "Read artifacts",
        "The artifacts of a session with their items and status. Call it when you continue its work."
        " Costs up to max_tokens (1500)."
        ' Example: {"session": "…", "name": "features"}',
        input_object({"session": SESSION, "name": NAME, "max_tokens": MAX_TOKENS}, ("session",)),
        output_object(
            {"session": STRING, "artifacts": OBJECTS, "left_out": ANY_OBJECT}, ("session", "artifacts")
        ),
        artifact_get,
        reads_only=True,
    ),
    Tool(
        "session_retries",
        "Calls that were tried again",
        "Calls with the same input and another result, or that repeat a failed call: what changed in outcome,"
        " output, duration, and in the files and requests in between. Costs up to max_tokens (1500)."
        ' Example: {"session": "…"}',
        input_object({"session": SESSION, "max_tokens": MAX_TOKENS}, ("session",)),
        output_object(
            {"session": STRING, "retries": OBJECTS, "left_out": {"type": "integer"}}, ("session", "retries")
        ),
        session_retries,
        reads_only=True,
    ),
    Tool(
        "habits_get",
        "What was learned from earlier work",
        "Commands that often fail first and what solved them, requests that recur with their rhythm, usual"
        " folders, each with the events that show it. Call it before you repeat something that may fail."
        ' Costs up to max_tokens (1500). Example: {"workspace": "/w"}',
        input_object(
            {"workspace": string("Only requests in this folder.", most=4096), "max_tokens": MAX_TOKENS}
        ),
        output_object(
            {
                "sessions": {"type": "integer"},
                "failing_first": OBJECTS,
                "tasks": OBJECTS,
                "folders": OBJECTS,
                "left_out": ANY_OBJECT,
            },
            ("sessions", "failing_first", "tasks", "folders"),
        ),
        habits_get,
        reads_only=True,
    ),
    Tool(
        "untrusted_list",
        "What rests on untrusted input",
        "Input from the web or of unknown origin in all sessions, latest first, and what was done after it."
        " Call it before you rely on earlier work."
        ' Costs up to max_tokens (1500). Example: {"trust": "unverified"}',
        input_object(
            {
                "session": SESSION | {"description": "Only this session."},
                "workspace": string("Only sessions in exactly this folder.", most=4096),
                "trust": choice(("web", "unverified"), "Only of this trust."),
                "max_tokens": MAX_TOKENS,
            }
        ),
        output_object({"entries": OBJECTS, "left_out": {"type": "integer"}}, ("entries",)),
        untrusted_list,
        reads_only=True,
    ),
)
