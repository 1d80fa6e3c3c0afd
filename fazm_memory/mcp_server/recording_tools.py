"""The tools with which an agent writes its own memory: actions, decisions, facts, pending work.

The source is always "mcp" and the actor always the agent: what a caller says of itself can lower how far it
is believed, never raise it. There is no tool for the user's words; those come from where the user typed them.
"""

from __future__ import annotations

from typing import Any, get_args

from fazm_memory.capture.draft import Draft
from fazm_memory.errors import FazmMemoryError, InvalidInput
from fazm_memory.mcp_server.handles import to_write
from fazm_memory.mcp_server.tool import (
    EXPECTED,
    INTEGER,
    SESSION,
    SOURCE,
    STRING,
    Caller,
    Schema,
    Told,
    Tool,
    fresh,
    many,
    one_of,
    record,
    shape,
    text,
    whole,
)
from fazm_memory.model.words import Outcome, Touch

CLAIMS = ("unverified", "web", "tool", "local", "agent")
TURN = whole("A turn at or after the current one; the current one, when left out.", most=10**9)
TRUST = one_of(CLAIMS, "Claim less trust than usual, as for text from the web. More cannot be claimed.")
WRITTEN = shape(
    {
        "session": STRING,
        "seq": INTEGER,
        "head": {"type": "integer", "description": "Pass as expected_seq to append right after this."},
        "duplicate": {"type": "boolean", "description": "It was known already and was not recorded again."},
        "id": STRING,
        "note": STRING,
    },
    ("session", "seq", "head", "duplicate"),
)
ABOUT_WRITING = " Costs about 60 tokens. It is durable when the answer comes."


def write(caller: Caller, given: dict[str, Any], kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Record one event in the session that `given` names, or raise why not."""
    found = to_write(caller, given["session"])
    draft = Draft(
        session=found["id"],
        kind=kind,
        payload=payload,
        turn=given.get("turn"),
        source=SOURCE,
        trust=given.get("trust"),
        expected_seq=given.get("expected_seq"),
    )
    told = caller.memory.record([draft])[0]
    if told.appended is None:
        raise told.error or refused()
    return {
        "session": told.appended.session,
        "seq": told.appended.seq,
        "head": caller.memory.session(told.appended.session)["events"],
        "duplicate": told.appended.duplicate,
    }


def refused() -> FazmMemoryError:
    return InvalidInput("it could not be recorded")


def _only(given: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if given.get(name) is not None}


def _told(data: dict[str, Any], what: str) -> Told:
    known = " (known already)" if data["duplicate"] else ""
    return Told(data, f"{what} recorded in session {data['session']} at {data['seq']}{known}")


def action_record(caller: Caller, given: dict[str, Any]) -> Told:
    names = ("tool", "input", "output", "error", "outcome", "duration_ms", "call_id", "files")
    return _told(write(caller, given, "action", _only(given, *names)), "action")


def decision_record(caller: Caller, given: dict[str, Any]) -> Told:
    return _told(write(caller, given, "decision", _only(given, "what", "why", "alternatives")), "decision")


def fact_record(caller: Caller, given: dict[str, Any]) -> Told:
    return _told(write(caller, given, "fact", {"key": given["key"], "value": given["value"]}), "fact")


def pending_add(caller: Caller, given: dict[str, Any]) -> Told:
    name = given.get("id") or fresh(4)
    data = write(caller, given, "pending", {"id": name, "what": given["what"]})
    return Told(
        data | {"id": name}, f"pending {name!r} recorded in session {data['session']} at {data['seq']}"
    )


def pending_done(caller: Caller, given: dict[str, Any]) -> Told:
    data = write(caller, given, "pending.done", {"id": given["id"]}) | {"id": given["id"]}
    note = caller.memory.nothing_pending(data["session"], data["seq"])
    if note is not None:
        hint = "session_state with keys [pending_actions] lists what is open"
        return Told(data | {"note": note}, f"recorded, but {note}; {hint}")
    return Told(data, f"pending {given['id']!r} is done in session {data['session']}")


def _takes(properties: dict[str, Schema], *required: str, trust: bool = True) -> Schema:
    more = {"turn": TURN, "expected_seq": EXPECTED} | ({"trust": TRUST} if trust else {})
    return record({"session": SESSION, **properties, **more}, ("session", *required))


PENDING_ID = text("A name for it within the session.", most=200)

TOOLS = (
    Tool(
        "action_record",
        "Record an action",
        "Record a tool call you made: what went in, what came out, how it ended. Skip it when hooks record"
        " your tool calls already (Claude Code, Codex and Fazm once connected). A failed call is worth"
        " recording too: give `error`. The same call_id told twice is one action."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "tool": "Bash", "input": {"command": "mv a b"}, "call_id": "c1",'
        ' "files": [{"path": "b", "change": "renamed", "from": "a"}]}',
        _takes(
            {
                "tool": text("The tool's name.", most=200),
                "input": {"description": "What the tool was given."},
                "output": {"description": "What it brought back. Secrets are removed, long text is cut."},
                "error": text("What went wrong.", most=100_000),
                "outcome": one_of(get_args(Outcome), "Read from `error` when left out."),
                "duration_ms": whole("How long it took."),
                "call_id": text("Your id of the call: makes telling it twice harmless.", most=200),
                "files": many(
                    record(
                        {
                            "path": text("Absolute, or relative to the session's workspace.", most=4096),
                            "change": one_of(get_args(Touch), "What happened to it."),
                            "from": text("The old path of a renamed file.", most=4096),
                        },
                        ("path", "change"),
                    ),
                    "Files it touched. Left out, they are read from shell commands and common file tools.",
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
        "Record why you chose this and not that, at the moment you choose: the one thing nobody can"
        " reconstruct from your actions later. Call it for naming schemes, skipped files, approaches given"
        " up."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "what": "ISO dates first", "why": "they sort", "alternatives":'
        ' ["vendor first"]}',
        _takes(
            {
                "what": text("What was decided."),
                "why": text("The reason."),
                "alternatives": many(text("What was not chosen."), "What else was considered.", most=50),
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
        " the same key replaces it; the user's own word outranks yours."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "key": "invoices.folder", "value": "~/Documents/Invoices"}',
        _takes(
            {"key": text("A short dotted name.", most=200), "value": {"description": "Any JSON value."}},
            "key",
            "value",
        ),
        WRITTEN,
        fact_record,
    ),
    Tool(
        "pending_add",
        "Note pending work",
        "Note work that is still to be done, so that the next session finds it as open. Call it before you"
        " pause or close with something left."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "what": "the October scans"}',
        _takes({"what": text("What is left to do."), "id": PENDING_ID}, "what"),
        WRITTEN,
        pending_add,
    ),
    Tool(
        "pending_done",
        "Mark pending work done",
        "Mark pending work as done, by the id pending_add gave or session_state lists."
        + ABOUT_WRITING
        + ' Example: {"session": "…", "id": "a1b2c3d4"}',
        _takes({"id": PENDING_ID}, "id", trust=False),
        WRITTEN,
        pending_done,
        idempotent=True,
    ),
)
