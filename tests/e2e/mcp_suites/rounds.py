"""Fixtures of the official suite that ask the client for something and are called again with its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types

ANY = {"type": "object", "properties": {}}


def form(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(words: str) -> types.CreateMessageRequest:
    reply = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=words))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[reply], max_tokens=100)
    )


NAME = form("What is your name?", "name")
PREFIX = "test_input_required_result_"
# What is asked in each round, by tool; a tool named in `STATED` hands its state back and forth.
ROUNDS: dict[str, tuple[dict[str, Any], ...]] = {
    "elicitation": ({"user_name": NAME},),
    "sampling": ({"capital_question": sampling("What is the capital of France?")},),
    "list_roots": ({"client_roots": types.ListRootsRequest()},),
    "request_state": ({"confirm": form("Please confirm", "ok", "boolean")},),
    "multiple_inputs": (
        {"user_name": NAME, "greeting": sampling("Greet"), "client_roots": types.ListRootsRequest()},
    ),
    "multi_round": ({"step1": NAME}, {"step2": form("Your favorite color?", "color")}),
    "tampered_state": ({"confirm": form("Please confirm", "ok", "boolean")},),
    "capabilities": ({"user_name": NAME, "greeting": sampling("Greet")},),
    "prompt": ({"user_context": form("What context?", "context")},),
}
STATED = frozenset({"request_state", "multiple_inputs", "multi_round", "tampered_state"})
TOOLS = {f"{PREFIX}{name}": ANY for name in ROUNDS if name != "prompt"}


def needed(
    name: str,
    answers: Mapping[str, Any] | None,
    state: str | None,
    able: types.ClientCapabilities | None,
) -> types.InputRequiredResult | None:
    """What is still to be asked, or None when all was answered."""
    name = name.removeprefix(PREFIX)
    at = int(state or 0)
    asked = ROUNDS[name][at]
    if name == "capabilities":  # only what this client can do
        asked = {key: one for key, one in asked.items() if _can(able, one)}
    if all(key in (answers or {}) for key in asked):
        at += 1
        if at == len(ROUNDS[name]):
            return None
        asked = ROUNDS[name][at]
    stated = str(at) if name in STATED else None
    return types.InputRequiredResult(input_requests=asked, request_state=stated)


def _can(able: types.ClientCapabilities | None, asked: Any) -> bool:
    if able is None:
        return False
    return (able.elicitation if isinstance(asked, types.ElicitRequest) else able.sampling) is not None
