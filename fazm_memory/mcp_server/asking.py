"""Asking the person: a handoff to a human is put before them at once, where the client can show a form.

The question is recorded first, so that it stays open whatever becomes of the form. Whoever sits at the
client fills it in, not the model: what it brings is the person's answer, through a door of its own. That a
person was there is the client's word alone, so it is believed like an agent's, never like the user's. A form
that is declined or dismissed answers nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext

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


def reply(told: types.ElicitResult) -> Any:
    """What was filled in; None when the form was declined or dismissed."""
    if told.action != "accept" or not told.content:
        return None
    return told.content[ASKED] if set(told.content) == {ASKED} else dict(told.content)
