"""The five tools that the server offers by default.

Their definitions stay under 1,000 tokens. Each does what several tools of the full set do, with short
answers. A cut answer says how to get more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fazm_memory.errors import InvalidInput, InvalidRequest, NotFound
from fazm_memory.mcp_server import reading_tools, recording_tools, session_tools
from fazm_memory.mcp_server.tool import (
    LEAST_TOKENS,
    MOST_TOKENS,
    SOURCE,
    Caller,
    Schema,
    Tool,
    ToolResult,
    character_budget,
    check_new_session,
    fit_rows,
    input_object,
    random_id,
    session_answer,
    session_for_reading,
    session_for_writing,
)
from fazm_memory.recall import quote

BUDGET = 600  # tokens of an answer
HITS = 5
EVENTS = 10
LATEST = "latest"
VIEWS = ("state", "events", "diff", "files", "retries", "briefing")
NOTES = ("open", "decision", "fact", "pending", "done", "handoff", "close")
# What an agent needs to continue. The other parts are in the views and in the full set.
SHORT_STATE = [
    "goal", "plan", "todos", "next", "questions", "open_questions", "decisions_made", "pending_actions",
    "facts", "files_modified", "errors", "branch", "commits", "pull_requests", "references", "checks",
    "uncommitted", "notes", "ended", "artifacts", "budget",
]  # fmt: skip
MORE = "For more, call again with a larger budget."


def memory_context(caller: Caller, args: dict[str, Any]) -> ToolResult:
    return reading_tools.memory_context(caller, args)


def memory_search(caller: Caller, args: dict[str, Any]) -> ToolResult:
    limit = args.get("limit", HITS)
    return reading_tools.memory_search(
        caller, {**args, "limit": limit, "max_tokens": max(BUDGET, 90 * limit)}
    )


def names_propose(caller: Caller, args: dict[str, Any]) -> ToolResult:
    return reading_tools.names_propose(caller, args)


# -- session_read ----------------------------------------------------------------------------------------


def session_read(caller: Caller, args: dict[str, Any]) -> ToolResult:
    found = _session(caller, args["session"])
    for name in ("from", "to"):  # a position, or another name of a moment
        if isinstance(args.get(name), str):
            begin = name == "from" or args.get("view") == "events"
            args = {**args, name: caller.memory.sessions.position(found["id"], args[name], begin=begin)}
    return READERS[args.get("view", "state")](caller, {**args, "session": found["id"]}, found)


def _session(caller: Caller, handle: str) -> dict[str, Any]:
    if handle != LATEST:
        return session_for_reading(caller, handle)
    listed = caller.memory.sessions.listing(limit=1)
    if not listed:
        raise NotFound("No session is recorded yet.")
    return listed[0]


def _budget(args: dict[str, Any]) -> int:
    return int(args.get("budget", BUDGET))


def _state(caller: Caller, args: dict[str, Any], found: dict[str, Any]) -> ToolResult:
    asked = {"session": found["id"], "keys": SHORT_STATE, "max_tokens": _budget(args)}
    if "to" in args:
        asked["at"] = args["to"]
    elif (turns := _turns(args)) is not None:
        asked["turns"] = turns
    result = reading_tools.session_state(caller, asked)
    return ToolResult(
        result.data, result.text.replace("with `keys` or a larger max_tokens", "with a larger budget")
    )


def _turns(args: dict[str, Any]) -> int | None:
    turns = args.get("turns")
    return None if turns is None or isinstance(turns, bool) else int(turns)


def _events(caller: Caller, args: dict[str, Any], found: dict[str, Any]) -> ToolResult:
    head = found["events"]
    start, stop = args.get("from"), min(args.get("to", head), head)
    turns = _turns(args)
    if start is None and turns is None:
        start = max(0, stop - EVENTS)
    rows = caller.memory.history.events(
        found["id"],
        start=start or 0,
        stop=max(start or 0, stop),
        turns=None if turns is None else (max(0, found["turns"] - turns + 1), found["turns"]),
        quarantined=False,
    )
    short, rest = fit_rows(
        map(_short_event, rows), limit=200, most=character_budget(_budget(args)), free=("payload", "error")
    )
    lines = [
        f"session {found['id']}, {head} events. {reading_tools.NOTE}",
        *map(reading_tools.event_line, short),
    ]
    following = None if rest is None else rest["seq"]
    if following is not None:
        lines.append(f"More: call again with from={following}.")
    elif start:
        lines.append(f"Earlier: call again with from and to={start}.")
    return ToolResult(
        {"session": found["id"], "head": head, "events": short, "next": following}, "\n".join(lines)
    )


def _short_event(event: dict[str, Any]) -> dict[str, Any]:
    """The event without what only a check of the hash chain needs."""
    left_out = (
        "session", "digest", "prev", "input_hash", "actor", "source", "output_summary", "received_at",
    )  # fmt: skip
    return {name: value for name, value in event.items() if name not in left_out and value is not None}


def _diff(caller: Caller, args: dict[str, Any], found: dict[str, Any]) -> ToolResult:
    turns = _turns(args)
    if turns is not None:
        if "from" in args or "to" in args:
            raise InvalidRequest("A number of turns counts back from now.", hint="Leave `from` and `to` out.")
        span = {"from": max(0, found["turns"] - turns), "to": found["turns"], "turns": True}
    else:
        by_turn = args.get("turns", False)
        end = found["turns"] if by_turn else found["events"]
        span = {"from": args.get("from", 0), "to": args.get("to", end), "turns": by_turn}
    return reading_tools.session_diff(caller, {"session": found["id"], "max_tokens": _budget(args), **span})


def _files(caller: Caller, args: dict[str, Any], found: dict[str, Any]) -> ToolResult:
    changed = caller.memory.history.files_modified(
        found["id"], turns=_turns(args), by=args.get("by"), quarantined=False
    )
    low, high = args.get("from", 0), args.get("to", found["events"])
    rows = [entry for entry in reversed(changed["files"]) if low <= entry["seq"] < high]
    lines = [
        f"{entry['change']} {quote(entry['path'], 160)} by {entry['by']} @{entry['seq']}"
        + (f" from {quote(entry['from'], 160)}" if entry.get("from") else "")
        for entry in rows
    ]
    return _listed(args, found, "files", rows, lines, "No files were modified.")


def _retries(caller: Caller, args: dict[str, Any], found: dict[str, Any]) -> ToolResult:
    rows = caller.memory.history.retries(found["id"], quarantined=False)
    low, high = args.get("from", 0), args.get("to", found["events"])
    rows = [entry for entry in reversed(rows) if low <= entry["seq"] < high]
    lines = []
    for entry in rows:
        before = entry["before"]["outcome"] if entry["before"] else "unknown"
        same = "the same input" if entry["same_input"] else "another input"
        lines.append(
            f"@{entry['seq']} retries @{entry['retry_of']} with {same}: {quote(str(entry['tool']), 60)}"
            f" {quote(str(entry['target']), 120)}, {before} then {entry['after']['outcome']}"
        )
    return _listed(args, found, "retries", rows, lines, "No call was retried.")


def _listed(
    args: dict[str, Any],
    found: dict[str, Any],
    name: str,
    rows: list[dict[str, Any]],
    lines: list[str],
    none: str,
) -> ToolResult:
    """The newest rows that fit, as data and as text."""
    free = ("evidence", "diff", "before", "after", "target")
    shown, rest = fit_rows(rows, limit=200, most=character_budget(_budget(args)), free=free)
    text = [f"session {found['id']}. {reading_tools.NOTE}", *lines[: len(shown)]] if rows else [none]
    left_out = len(rows) - len(shown)
    if rest is not None:
        text.append(f"{left_out} earlier ones are left out. {MORE}")
    return ToolResult({"session": found["id"], name: shown, "left_out": left_out}, "\n".join(text))


def _briefing(caller: Caller, args: dict[str, Any], found: dict[str, Any]) -> ToolResult:
    text = caller.memory.recall.briefing(found["id"]).text
    return ToolResult({"session": found["id"], "briefing": text}, text)


Reader = Callable[[Caller, dict[str, Any], dict[str, Any]], ToolResult]
READERS: dict[str, Reader] = {
    "state": _state,
    "events": _events,
    "diff": _diff,
    "files": _files,
    "retries": _retries,
    "briefing": _briefing,
}


# -- session_note ----------------------------------------------------------------------------------------


def session_note(caller: Caller, args: dict[str, Any]) -> ToolResult:
    kind = args["kind"]
    if kind == "open":
        return _open(caller, args)
    args = {**args, "session": _session_to_write(caller, args)}
    if kind == "close":
        reason = {"reason": args["text"][:2000]} if "text" in args else {}
        return _closed(session_tools.session_close(caller, {"session": args["session"], **reason}))
    if kind == "handoff":
        asked = {"session": args["session"], "to": args.get("to", "human"), "note": _needed(args, "text")}
        _resume_at_work(caller, asked)
        return _short_handoff(recording_tools.session_handoff(caller, asked))
    event, payload = next(_payloads(kind, args))
    data = recording_tools.record_event(caller, {"session": args["session"]}, event, payload)
    named: dict[str, Any] = {name: payload[name] for name in ("id", "key") if name in payload}
    text = (
        f"{kind} {named.get('id', '')}".strip() + f" recorded in session {data['session']} at {data['seq']}."
    )
    if kind == "done" and (note := caller.memory.sessions.why_without_effect(data["session"], data["seq"])):
        data["note"] = note
        text = f"Recorded, but {quote(note, 200)} session_read with view state lists open work."
    return ToolResult({**data, **named}, text)


def _resume_at_work(caller: Caller, asked: dict[str, Any]) -> None:
    """Resume a closed session for a note to the next agent.

    Its agent went on before we read its record.
    """
    if asked["to"] == "agent" and caller.memory.sessions.get(asked["session"])["lifecycle"] == "closed":
        caller.memory.sessions.move(asked["session"], "resume", source=SOURCE)


def _payloads(kind: str, args: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if kind == "decision":
        yield "decision", {"what": _needed(args, "text")} | ({"why": args["why"]} if "why" in args else {})
    if kind == "fact":
        value = args["value"] if "value" in args else _needed(args, "text")
        yield "fact", {"key": _needed(args, "key"), "value": value}
    if kind == "pending":
        yield "pending", {"id": args.get("id") or random_id(4), "what": _needed(args, "text")}
    yield "pending.done", {"id": _needed(args, "id")}


def _needed(args: dict[str, Any], name: str) -> Any:
    if name not in args:
        raise InvalidInput(f'A note of kind "{args["kind"]}" needs `{name}`.')
    return args[name]


def _open(caller: Caller, args: dict[str, Any]) -> ToolResult:
    """Open a session, or resume the one that is named."""
    if "session" in args:
        found = session_for_writing(caller, args["session"])
        if found["lifecycle"] in ("paused", "closed", "archived"):
            if found["lifecycle"] == "archived":
                caller.memory.sessions.move(found["id"], "restore", source=SOURCE)
            return session_tools.session_resume(caller, {"session": found["id"]})
        text = caller.memory.recall.briefing(found["id"]).text
        return ToolResult(
            {**session_answer(found), "briefing": text}, f"Session {found['id']} is open.\n{text}"
        )
    opening = {name: args[name] for name in ("workspace",) if name in args}
    if "text" in args:
        opening["title"] = args["text"][:500]
    if caller.key is None and caller.connection is not None:
        opening["key"] = caller.connection
    return session_tools.session_open(caller, opening | {"context_tokens": BUDGET})


def _session_to_write(caller: Caller, args: dict[str, Any]) -> str:
    """The session that is named or, without one, the session of this client."""
    if "session" in args:
        return str(session_for_writing(caller, args["session"])["id"])
    key = caller.key or caller.connection
    if key is None:
        raise InvalidInput("Which session is not known.", hint="Pass `session`, from session_note kind=open.")
    check_new_session(caller, caller.agent, key)
    opened = caller.memory.sessions.open(caller.agent, key=key, workspace=caller.workspace, source=SOURCE)
    return str(opened["id"])


def _closed(result: ToolResult) -> ToolResult:
    return ToolResult({"session": result.data["session"], "lifecycle": "closed"}, result.text)


def _short_handoff(result: ToolResult) -> ToolResult:
    session = result.data["session"]
    text = f"Question {result.data['question']} is open in session {session} until it is answered."
    return ToolResult({"session": session, "question": result.data["question"]}, text)


# -- definitions -----------------------------------------------------------------------------------------


def _text(about: str = "", *, most: int = 20_000) -> Schema:
    return {"type": "string", "maxLength": most} | ({"description": about} if about else {})


def _number(about: str = "", *, least: int = 0, most: int = 10**9) -> Schema:
    schema: Schema = {"type": "integer", "minimum": least, "maximum": most}
    return schema | ({"description": about} if about else {})


def _moment(about: str) -> Schema:
    return {"type": ["integer", "string"], "minimum": 0, "maxLength": 100, "description": about}


ANSWER_SIZE = _number("Tokens of the answer.", least=LEAST_TOKENS, most=MOST_TOKENS)

TOOLS = (
    Tool(
        "memory_context",
        "What happened before",
        "What was done in a folder, what is open, what the user wants. Call it when a task begins or after"
        " your context was compacted.",
        input_object(
            {"workspace": _text("Absolute folder", most=4096), "budget": ANSWER_SIZE | {"maximum": 2400}}
        ),
        {},
        memory_context,
        reads_only=True,
    ),
    Tool(
        "memory_search",
        "Search the memory",
        "Search all sessions: words, paths, filters (kind:decision, tool:Bash, yesterday). Call it before you"
        " ask the user what they may have said already, and to find a session's handle.",
        input_object(
            {
                "query": {"type": "string", "minLength": 1, "maxLength": 1000},
                "limit": _number(least=1, most=50),
                "cursor": _text("next_cursor of the last answer", most=2000),
            },
            ("query",),
        ),
        {},
        memory_search,
        reads_only=True,
    ),
    Tool(
        "session_read",
        "Read a session",
        "Read one session. Call it to continue earlier work (briefing, state), to see what was done or failed"
        " (events, retries), which files changed (files), or what changed between two positions (diff).",
        input_object(
            {
                "session": _text('Handle, or "latest"', most=200) | {"minLength": 1},
                "view": {"type": "string", "enum": list(VIEWS), "default": "state"},
                "from": _moment('First position, or "turn 3", "10m"'),
                "to": _moment("Where to stop before"),
                "by": {"type": "string", "enum": ["agent", "person"]},
                "turns": {
                    "type": ["integer", "boolean"],
                    "minimum": 1,
                    "description": "N: only the last N turns. true: from and to count turns",
                },
                "budget": ANSWER_SIZE,
            },
            ("session",),
        ),
        {},
        session_read,
        reads_only=True,
    ),
    Tool(
        "session_note",
        "Write to the memory",
        "Record what the next session must know. Call it for a decision when you make it (text, why), a"
        " lasting fact (key, value), work left open (pending: text; done: id), a question for a person or"
        " agent (handoff: text, to), and to open or close your session (text: title or reason).",
        input_object(
            {
                "kind": {"type": "string", "enum": list(NOTES)},
                "session": _text("Handle. Default: your own", most=200) | {"minLength": 1},
                "text": _text() | {"minLength": 1},
                "why": _text() | {"minLength": 1},
                "key": _text(most=200) | {"minLength": 1},
                "value": {},
                "id": _text(most=200) | {"minLength": 1},
                "to": {"type": "string", "enum": ["human", "agent"]},
                "workspace": _text(most=4096) | {"minLength": 1},
            },
            ("kind",),
        ),
        {},
        session_note,
    ),
    Tool(
        "names_propose",
        "New names for files",
        "New names for files by the conventions of earlier work. Call it before you rename files. Nothing is"
        " renamed.",
        input_object(
            {
                "names": {
                    "type": "array",
                    "items": _text(most=4096) | {"minLength": 1},
                    "minItems": 1,
                    "maxItems": 100,
                },
                "session": _text("Whose conventions. Default: the latest", most=200) | {"minLength": 1},
            },
            ("names",),
        ),
        {},
        names_propose,
        reads_only=True,
    ),
)
