"""Checks of a tool's arguments, and errors as data that an agent can act on.

An agent cannot use the command line, so the next step is always one of our tools or a word to the user.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from fazm_memory.errors import (
    Ambiguous,
    Conflict,
    Declined,
    FazmMemoryError,
    InvalidInput,
    InvalidRequest,
    InvalidTransition,
    NotFound,
    RecordingPaused,
    StoreBusy,
)
from fazm_memory.mcp_server.tool import FULL, SMALL, Caller, Tool
from fazm_memory.recall import plain_name, quote
from fazm_memory.text import sentence

NEXT_STEP: dict[type[FazmMemoryError], str] = {
    NotFound: "Call session_list for existing handles, or session_open for a new session.",
    Ambiguous: "Call session_list and pass the whole id.",
    InvalidInput: "Correct the arguments and call again.",
    InvalidRequest: "Correct the arguments and call again.",
    InvalidTransition: "If the session is paused or closed, call session_resume. Then call again.",
    Conflict: "Call session_events from the position you expected. Then call again with expected_seq = head.",
    RecordingPaused: "Continue without recording and do not retry. The user has paused recording.",
    StoreBusy: "Call again in a moment.",
    Declined: "Tell the user what was refused and why. Continue only as the user says.",
}
NEXT_STEP_SMALL: dict[type[FazmMemoryError], str] = NEXT_STEP | {
    NotFound: "Call memory_search for handles, or session_note with kind open for a new session.",
    Ambiguous: "Call memory_search and pass the whole id.",
    InvalidTransition: "If the session is paused or closed, call session_note with kind open and its handle.",
    Conflict: "Call session_read with view events from the position you expected. Then call again.",
}
NEXT_FOR_OPEN_QUESTION = "Tell the user the question. Continue when it is answered or waived."
MOST_TEXT = 600
NEXT_OTHERWISE = "Continue without the memory and ask the user to run `fazm-memory doctor`."


@cache
def _validator(tool_set: str, name: str) -> Any:
    # Imported here so that the first call pays for it, not the handshake.
    from jsonschema import Draft202012Validator

    from fazm_memory.mcp_server.static_lists import TOOLS_BY_SET

    return Draft202012Validator(TOOLS_BY_SET[tool_set][name].input_schema)


def check_arguments(tool: Tool, arguments: dict[str, Any]) -> None:
    """Raise for arguments that do not match the tool's schema, naming the first wrong one."""
    if plainly_valid(tool.input_schema, arguments):
        return
    errors = _validator(FULL if tool.output_schema else SMALL, tool.name).iter_errors(arguments)
    # A misspelt name first: it may also be why a required one is missing.
    problem = min(
        errors,
        key=lambda error: (error.validator != "additionalProperties", list(map(str, error.path))),
        default=None,
    )
    if problem is None:
        return
    if problem.validator == "additionalProperties":
        raise _unknown_argument(tool, problem)
    where = ".".join(str(part) for part in problem.absolute_path)
    message = problem.message if len(problem.message) <= 200 else f"{problem.validator} is not met"
    refused = InvalidRequest if tool.reads_only else InvalidInput
    raise refused(f"{where}: {message}" if where else message)


TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
NO_CHECK = frozenset({"description", "title", "default"})


def plainly_valid(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value surely matches a schema. Others are left to jsonschema, which is slow to load."""
    checks: dict[str, Callable[[Any], bool]] = {
        "type": lambda names: any(
            type(value) in TYPES[name] for name in ([names] if isinstance(names, str) else names)
        ),
        "enum": lambda options: type(value) is str and value in options,
        "minLength": lambda least: not isinstance(value, str) or len(value) >= least,
        "maxLength": lambda most: not isinstance(value, str) or len(value) <= most,
        "minimum": lambda least: type(value) not in (int, float) or value >= least,
        "maximum": lambda most: type(value) not in (int, float) or value <= most,
        "minItems": lambda least: not isinstance(value, list) or len(value) >= least,
        "maxItems": lambda most: not isinstance(value, list) or len(value) <= most,
        "items": lambda inner: (
            not isinstance(value, list) or all(plainly_valid(inner, item) for item in value)
        ),
        "required": lambda names: not isinstance(value, dict) or all(name in value for name in names),
        "properties": lambda known: (
            not isinstance(value, dict)
            or all(plainly_valid(known[name], item) for name, item in value.items() if name in known)
        ),
        "additionalProperties": lambda allowed: (
            allowed is False
            and (not isinstance(value, dict) or schema.get("properties", {}).keys() >= value.keys())
        ),
    }
    return all(name in NO_CHECK or (name in checks and checks[name](rule)) for name, rule in schema.items())


def _unknown_argument(tool: Tool, problem: Any) -> FazmMemoryError:
    """The refusal of a name that is not in the schema, with the valid names and the nearest of them."""
    from difflib import get_close_matches

    known = list(problem.schema["properties"])
    name = next(name for name in problem.instance if name not in known)
    where = ".".join(str(part) for part in problem.absolute_path)
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    guess = f'Did you mean "{near[0]}"? ' if near else ""
    refused = InvalidRequest if tool.reads_only else InvalidInput
    return refused(
        f'{tool.name} has no argument "{f"{where}." if where else ""}{name[:60]}".',
        hint=f"{guess}Valid arguments: {', '.join(known)}.",
        details={"unknown": name[:60], "valid": known, **({"nearest": near[0]} if near else {})},
    )


def error_data(
    error: FazmMemoryError, tool: Tool, caller: Caller, arguments: dict[str, Any]
) -> dict[str, Any]:
    """The error with the session's handle, what was kept and what to call next."""
    details = error.to_json()
    hint = details.pop("hint", "")
    handle = arguments.get("session")
    steps = NEXT_STEP if caller.tool_set == FULL else NEXT_STEP_SMALL
    next_step = steps.get(type(error), NEXT_OTHERWISE)
    data = {
        "ok": False,
        **details,
        "kept": _kept(tool, caller, handle),
        "next": NEXT_FOR_OPEN_QUESTION if "open_questions" in details else next_step,
    }
    if isinstance(handle, str):
        data["session"] = handle[:200]
    if isinstance(hint, str) and hint and "fazm-memory" not in hint:  # commands are for people
        data["hint"] = hint
    return data


def _kept(tool: Tool, caller: Caller, handle: object) -> str:
    if tool.reads_only:
        return "Reading changes nothing."
    if isinstance(handle, str):
        try:
            events = caller.memory.sessions.get(handle)["events"]
        except FazmMemoryError:
            return "This call recorded nothing. Every session is unchanged."
        kept = "its 1 event" if events == 1 else f"all {events} events"
        return f"This call recorded nothing. The session keeps {kept}."
    return "This call recorded nothing."


def error_text(data: dict[str, Any]) -> str:
    """The same error as text. Handles and arguments in it are made harmless."""
    handle = f" (session {plain_name(data['session'])})" if "session" in data else ""
    parts = [f"{data['title']}{handle}: {harmless(sentence(data['error']))}"]
    if "hint" in data:
        parts.append(harmless(sentence(data["hint"])))
    return " ".join((*parts, data["kept"], f"Next: {data['next']}"))


def harmless(text: str) -> str:
    """One line without anything that has a meaning for a model, as in a quoted text."""
    return quote(text, MOST_TEXT)[1:-1].replace('\\"', '"')
