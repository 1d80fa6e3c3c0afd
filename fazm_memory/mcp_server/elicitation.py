"""Elicitation: show a question to the user as a form, if the client supports forms.

The question is recorded first, so it stays open if the form fails. The person at the client fills in the
form, not the model. But only the client says so, therefore the answer has the trust of an agent, not of the
user. A declined or dismissed form answers nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext

FIELD = "answer"  # the name of the form, and of its only field
SIMPLE = frozenset({"string", "number", "integer", "boolean"})
Context = ServerRequestContext[Any, Any]


def can_ask(context: Context) -> bool:
    """Whether the client supports forms."""
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def is_for_person(args: Mapping[str, Any]) -> bool:
    return bool(args.get("to", "human") == "human")


def question(args: Mapping[str, Any]) -> str:
    return str(args["note"] if "note" in args else args["text"])


def form(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The form's schema. Forms are flat, so for a nested answer the person enters text."""
    schema = schema or {}
    fields = schema.get("properties")
    if isinstance(fields, dict) and fields and all(_simple(field) for field in fields.values()):
        required = [name for name in schema.get("required", ()) if name in fields]
        return {"type": "object", "properties": fields, "required": required}
    only = dict(schema) if _simple(schema) else {"type": "string", "title": "Answer"}
    return {"type": "object", "properties": {FIELD: only}, "required": [FIELD]}


def _simple(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") in SIMPLE


def state_of(session: str, question: str) -> str:
    """What a stateless client sends back with the answer. The SDK signs it."""
    return json.dumps([session, question])


def read_state(state: str) -> tuple[str, str]:
    session, question = json.loads(state)
    return session, question


def reply(result: types.ElicitResult) -> Any:
    """What the person entered, or None if the form was declined or dismissed."""
    if result.action != "accept" or not result.content:
        return None
    return result.content[FIELD] if set(result.content) == {FIELD} else dict(result.content)
