"""The tools that hand a question over, to a person or to the next agent, and answer one left to an agent."""

from __future__ import annotations

from typing import Any

from fazm_memory.errors import InvalidInput
from fazm_memory.mcp_server.handles import to_write
from fazm_memory.mcp_server.tool import (
    SESSION,
    SESSION_SHAPE,
    SOURCE,
    STRING,
    Caller,
    Told,
    Tool,
    one_of,
    record,
    shape,
    text,
)


def session_handoff(caller: Caller, given: dict[str, Any]) -> Told:
    found = to_write(caller, given["session"])
    made = caller.memory.handoff(
        found["id"],
        to=given["to"],
        note=given["note"],
        answer_schema=given.get("answer_schema"),
        source=SOURCE,
    )
    question = made.pop("question")
    who = "a person" if given["to"] == "human" else "an agent"
    return Told(
        {"session": made, "question": question},
        f"question {question} is left to {who} in session {made['id']};"
        " session_state shows it under open_questions until it is answered",
    )


def handoff_answer(caller: Caller, given: dict[str, Any]) -> Told:
    """Answer what was left to an agent. What was left to a person an agent must not answer for them."""
    found = to_write(caller, given["session"])
    waiting = caller.memory.state(found["id"])["open_questions"]
    asked = next((one for one in waiting if one["id"] == given["question"]), None)
    if asked is not None and asked["to"] == "human":
        raise InvalidInput(
            f"question {given['question'][:40]!r} is for a person",
            hint="ask the user to answer it",
            details={"open_questions": [asked["id"]]},
        )
    made = caller.memory.answer(found["id"], given["question"], given["answer"], source=SOURCE)
    return Told({"session": made}, f"question {given['question']} is answered in session {made['id']}")


TOOLS = (
    Tool(
        "session_handoff",
        "Hand a question over",
        "Call when only a person, or the next agent, can decide: it leaves a question in the session itself,"
        " open until somebody answers; only a person answers one to a human. If your client can show a form"
        " the person is asked at once: `answered` and `reply` tell what came of it. Costs about 150 tokens."
        ' Example: {"session": "…", "to": "human", "note": "Delete the duplicates?"}',
        record(
            {
                "session": SESSION,
                "to": one_of(("human", "agent"), "Who is to answer."),
                "note": text("The question, with what is needed to answer it."),
                "answer_schema": {
                    "type": "object",
                    "description": "A JSON Schema of the answer, if it has one.",
                },
            },
            ("session", "to", "note"),
        ),
        shape(
            {
                "session": SESSION_SHAPE,
                "question": STRING,
                "shown": {"type": "boolean", "description": "Whether a form was shown; left out if not."},
                "answered": {"type": "boolean", "description": "Whether the question is answered by it."},
                "reply": {"description": "What was filled in; null when it was declined or dismissed."},
            },
            ("session", "question"),
        ),
        session_handoff,
    ),
    Tool(
        "handoff_answer",
        "Answer a question left to an agent",
        "Call when you take up a session with a question to an agent (to: agent) under open_questions of its"
        " session_state, and can answer it. One to a human is the user's alone. Costs about 150 tokens."
        ' Example: {"session": "…", "question": "9f2c1a04", "answer": "by vendor"}',
        record(
            {
                "session": SESSION,
                "question": text("The question's id, from open_questions.", most=200),
                "answer": {"description": "The answer, in words or as its answer_schema asks."},
            },
            ("session", "question", "answer"),
        ),
        shape({"session": SESSION_SHAPE}, ("session",)),
        handoff_answer,
    ),
)
