"""Asking the person: a handoff to a human is put before them at once, where the client can show a form.

The question is recorded first, so that it stays open whatever becomes of the form. An answer is recorded as
a person's, through the client: that it was a person the client alone can know, so it is believed as the
client's word. Declined or dismissed, the question waits as it would have without a form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext

from fazm_memory.capture.draft import Draft
from fazm_memory.mcp_server.tool import SOURCE
from fazm_memory.memory import Memory

TOOL = "session_handoff"
ASKED = "answer"  # the name of the form among those a client may be asked to show, and of its only field
SIMPLE = frozenset({"string", "number", "integer", "boolean"})
Context = ServerRequestContext[Any, Any]


def can_ask(context: Context) -> bool:
    """Whether the client says that it can show a form."""
    told = context.session.client_capabilities
    return told is not None and told.elicitation is not None


def form(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the person fills in: forms are flat, so any other answer is given in words."""
    schema = schema or {}
    fields = schema.get("properties")
    if isinstance(fields, dict) and fields and all(_simple(one) for one in fields.values()):
        required = [one for one in schema.get("required", ()) if one in fields]
        return {"type": "object", "properties": fields, "required": required}
    only = dict(schema) if _simple(schema) else {"type": "string", "title": "Answer"}
    return {"type": "object", "properties": {ASKED: only}, "required": [ASKED]}


def _simple(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") in SIMPLE


def state_of(session: str, question: str) -> str:
    """What a client without a connection hands back with the answer; the SDK seals it."""
    return json.dumps([session, question])


def read_state(state: str) -> tuple[str, str]:
    session, question = json.loads(state)
    return session, question


def take(memory: Memory, session: str, question: str, told: types.ElicitResult) -> Any:
    """Record what the person answered, and give it; None when there is no answer."""
    if told.action != "accept" or not told.content:
        return None
    answer = told.content[ASKED] if set(told.content) == {ASKED} else dict(told.content)
    given = {"id": question, "answer": answer, "waived": False}
    draft = Draft(session, "handoff.answer", given, source=SOURCE, actor="person")
    if (error := memory.record([draft])[0].error) is not None:
        raise error
    return answer
