"""Tools with which an agent records what it does.

Actions, decisions, facts, pending work and questions. The source is always "mcp" and the actor always the
agent. A caller can lower the trust of what it records, but not raise it. What it reports of the user's
words is its own word too.
"""

from __future__ import annotations

from typing import Any, get_args

from fazm_memory import events
from fazm_memory.errors import InvalidInput
from fazm_memory.events import Outcome, Touch
from fazm_memory.mcp_server.tool import (
    EXPECTED,
    INTEGER,
    SESSION,
    SESSION_ANSWER,
    SOURCE,
    STRING,
    Caller,
    Schema,
    Tool,
    ToolResult,
    array,
    choice,
    harmless,
    input_object,
    integer,
    output_object,
    random_id,
    session_answer,
    session_for_writing,
    string,
)

CLAIMS = ("unverified", "web", "tool", "local", "agent")
TURN = integer("The current turn or a later one. Default: the current one.", most=10**9)
TRUST = choice(CLAIMS, "Less trust than usual, for example for text from the web. More cannot be claimed.")
WRITTEN = output_object(
    {
        "session": STRING,
        "seq": INTEGER,
        "head": {"type": "integer", "description": "Pass as expected_seq to append right after this event."},
        "duplicate": {
            "type": "boolean",
            "description": "Whether it was already recorded and is not recorded again.",
        },
        "id": STRING,
        "note": STRING,
    },
    ("session", "seq", "head", "duplicate"),
)
ABOUT_WRITING = " Costs about 60 tokens. The event is on disk when the answer comes."


def record_event(caller: Caller, args: dict[str, Any], kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Record one event in the session that the arguments name."""
    found = session_for_writing(caller, args["session"])
    draft = events.Draft(
        session=found["id"],
        kind=kind,
        payload=payload,
        actor="agent" if kind == "prompt" else None,  # what an agent reports is not the user's word
        turn=args.get("turn"),
        source=SOURCE,
        trust=args.get("trust"),
        expected_seq=args.get("expected_seq"),
    )
    result = caller.memory.sessions.record([draft])[0]
    if result.appended is None:
        raise result.error or InvalidInput("The event could not be recorded.")
    return {
        "session": result.appended.session,
        "seq": result.appended.seq,
        "head": caller.memory.sessions.get(result.appended.session)["events"],
        "duplicate": result.appended.duplicate,
    }


def _only(args: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: args[name] for name in names if args.get(name) is not None}


def _recorded(data: dict[str, Any], what: str) -> ToolResult:
    known = " (already known)" if data["duplicate"] else ""
    return ToolResult(data, f"{what} recorded in session {data['session']} at {data['seq']}{known}")


def action_record(caller: Caller, args: dict[str, Any]) -> ToolResult:
    names = ("tool", "input", "output", "error", "outcome", "duration_ms", "call_id", "files", "retry_of",
             "input_hash")  # fmt: skip
    return _recorded(record_event(caller, args, "action", _only(args, *names)), "action")


def decision_record(caller: Caller, args: dict[str, Any]) -> ToolResult:
    return _recorded(
        record_event(caller, args, "decision", _only(args, "what", "why", "alternatives", "replaces")),
        "decision",
    )


def fact_record(caller: Caller, args: dict[str, Any]) -> ToolResult:
    return _recorded(record_event(caller, args, "fact", {"key": args["key"], "value": args["value"]}), "fact")


def pending_add(caller: Caller, args: dict[str, Any]) -> ToolResult:
    name = args.get("id") or random_id(4)
    data = record_event(caller, args, "pending", {"id": name, "what": args["what"]})
    return ToolResult(
        data | {"id": name}, f"pending {name!r} recorded in session {data['session']} at {data['seq']}"
    )


def pending_done(caller: Caller, args: dict[str, Any]) -> ToolResult:
    data = record_event(caller, args, "pending.done", {"id": args["id"]}) | {"id": args["id"]}
    note = caller.memory.sessions.why_without_effect(data["session"], data["seq"])
    if note is not None:
        hint = "session_state with keys [pending_actions] lists open work"
        return ToolResult(data | {"note": note}, f"recorded, but {harmless(note)}; {hint}")
    return ToolResult(data, f"pending {args['id']!r} is done in session {data['session']}")


def takes(properties: dict[str, Schema], *required: str, trust: bool = True) -> Schema:
    more = {"turn": TURN, "expected_seq": EXPECTED} | ({"trust": TRUST} if trust else {})
    return input_object({"session": SESSION, **properties, **more}, ("session", *required))


PENDING_ID = string("A name for it within the session.", most=200)

TOOLS = (
    Tool(
        "action_record",
        "Record an action",
        "Record a tool call you made: its input, output and outcome. Skip this if hooks already record your"
        " tool calls (Claude Code, Codex and Fazm when connected). Record failed calls too, with `error`."
        " Two records with the same call_id are one action."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "tool": "Bash", "input": {"command": "mv a b"}, "call_id": "c1",'
        ' "files": [{"path": "b", "change": "renamed", "from": "a"}]}',
        takes(
            {
                "tool": string("The tool's name.", most=200),
                "input": {"description": "The tool's input."},
                "output": {"description": "The tool's output. Secrets are removed, long text is cut."},
                "error": string("What went wrong.", most=100_000),
                "outcome": choice(get_args(Outcome), "Default: derived from `error`."),
                "duration_ms": integer("Duration in milliseconds."),
                "call_id": string("Your id of the call. Makes it safe to record it twice.", most=200),
                "retry_of": integer("The position of the call that it retries. Default: found by the input."),
                "input_hash": string("Your own hash of the input. Kept as caller_input_hash.", most=200),
                "files": array(
                    input_object(
                        {
                            "path": string("Absolute, or relative to the session's workspace.", most=4096),
                            "change": choice(get_args(Touch), "What happened to it."),
                            "from": string("The old path of a renamed file.", most=4096),
                        },
                        ("path", "change"),
                    ),
                    "Files it touched. Default: derived from shell commands and common file tools.",
                ),
            },
            "tool",
        ),
        WRITTEN,
        action_record,
    ),
    Tool(
        "decision_record",
        "Record a decision",
        "Record a decision and its reason when you make it. Reasons cannot be reconstructed from actions"
        " later. Call it for naming schemes, skipped files and abandoned approaches."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "what": "ISO dates first", "why": "they sort", "alternatives":'
        ' ["vendor first"]}',
        takes(
            {
                "what": string("What was decided."),
                "why": string("The reason."),
                "alternatives": array(string("What was not chosen."), "What else was considered.", most=50),
                "replaces": integer("The position of the decision that this one replaces."),
            },
            "what",
        ),
        WRITTEN,
        decision_record,
    ),
    Tool(
        "fact_record",
        "Record a durable fact",
        "Record something that stays true after this session, such as where invoices go. A later fact with"
        " the same key replaces it. Facts from the user take precedence over yours."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "key": "invoices.folder", "value": "~/Documents/Invoices"}',
        takes(
            {"key": string("A short dotted name.", most=200), "value": {"description": "Any JSON value."}},
            "key",
            "value",
        ),
        WRITTEN,
        fact_record,
    ),
    Tool(
        "pending_add",
        "Note pending work",
        "Record work that is still to do, so that the next session finds it. Call it before you pause or"
        " close a session with unfinished work."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "what": "the October scans"}',
        takes({"what": string("What is left to do."), "id": PENDING_ID}, "what"),
        WRITTEN,
        pending_add,
    ),
    Tool(
        "pending_done",
        "Mark pending work done",
        "Mark pending work as done, by the id from pending_add or session_state."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "id": "a1b2c3d4"}',
        takes({"id": PENDING_ID}, "id", trust=False),
        WRITTEN,
        pending_done,
        idempotent=True,
    ),
)


def session_handoff(caller: Caller, args: dict[str, Any]) -> ToolResult:
    found = session_for_writing(caller, args["session"])
    session = caller.memory.sessions.handoff(
        found["id"],
        to=args["to"],
        note=args["note"],
        answer_schema=args.get("answer_schema"),
        source=SOURCE,
        expected_seq=args.get("expected_seq"),
    )
    question = session.pop("question")
    who = "a person" if args["to"] == "human" else "an agent"
    return ToolResult(
        {**session_answer(session), "question": question},
        f"Question {question} is open for {who} in session {session['id']}."
        " session_state lists it under open_questions until it is answered.",
    )


def handoff_answer(caller: Caller, args: dict[str, Any]) -> ToolResult:
    """Answer a question to an agent. An agent must not answer a question to a person."""
    found = session_for_writing(caller, args["session"])
    waiting = caller.memory.history.state(found["id"])["open_questions"]
    asked = next((question for question in waiting if question["id"] == args["question"]), None)
    if asked is not None and asked["to"] == "human":
        raise InvalidInput(
            f'Question "{args["question"][:40]}" is for a person.',
            hint="Ask the user to answer it.",
            details={"open_questions": [asked["id"]]},
        )
    session = caller.memory.sessions.answer(
        found["id"], args["question"], args["answer"], source=SOURCE, expected_seq=args.get("expected_seq")
    )
    return ToolResult(
        session_answer(session), f"Question {args['question']} is answered in session {session['id']}."
    )


HANDOFF_TOOLS = (
    Tool(
        "session_handoff",
        "Hand a question over",
        "Call when only a person or the next agent can decide. It leaves a question in the session, which"
        " stays open until it is answered. Only a person can answer a question to a human. If your"
        " client can show a form, the person is asked at once: see `answered` and `reply`."
        " Costs about 150 tokens."
        ' Example: {"session": "…", "to": "human", "note": "Delete the duplicates?"}',
        input_object(
            {
                "session": SESSION,
                "to": choice(("human", "agent"), "Who should answer."),
                "note": string("The question, with what is needed to answer it."),
                "answer_schema": {
                    "type": "object",
                    "description": "A JSON Schema of the answer, if it has one.",
                },
                "expected_seq": EXPECTED,
            },
            ("session", "to", "note"),
        ),
        output_object(
            {
                **SESSION_ANSWER,
                "question": STRING,
                "shown": {"type": "boolean", "description": "Whether a form was shown. Missing if not."},
                "answered": {"type": "boolean", "description": "Whether the question is answered."},
                "reply": {
                    "description": "What the person entered. null if the form was declined or dismissed."
                },
            },
            ("session", "session_info", "question"),
        ),
        session_handoff,
    ),
    Tool(
        "handoff_answer",
        "Answer a question left to an agent",
        "Call when you continue a session with a question to an agent (to: agent) under open_questions of"
        " session_state and can answer it. Only the user can answer a question to a human. Costs about"
        " 150 tokens."
        ' Example: {"session": "…", "question": "9f2c1a04", "answer": "by vendor"}',
        input_object(
            {
                "session": SESSION,
                "question": string("The question's id, from open_questions.", most=200),
                "answer": {"description": "The answer, as text or as answer_schema requires."},
                "expected_seq": EXPECTED,
            },
            ("session", "question", "answer"),
        ),
        output_object(SESSION_ANSWER, ("session", "session_info")),
        handoff_answer,
    ),
)
