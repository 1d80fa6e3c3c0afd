"""Tool lists and tool calls without the SDK.

Checks the arguments, runs the tool, returns its result. The server on the SDK and the answers before the
SDK is loaded use the same functions. The lists need neither the memory nor the SDK, so that `stdio.Preload`
can answer before the SDK is loaded. An agent cannot use the command line, so the next step in an error is
always one of our tools or a word to the user.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

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
from fazm_memory.mcp_server.stdio import is_request
from fazm_memory.mcp_server.tool import FULL, SMALL, Caller, Tool, ToolResult, harmless
from fazm_memory.recall import plain_name
from fazm_memory.records import dataclass, replace
from fazm_memory.text import nearest_word, sentence

if TYPE_CHECKING:
    from fazm_memory.app import Memory
from fazm_memory.mcp_server import (
    journal_tools,
    reading_tools,
    recording_tools,
    resources,
    session_tools,
    small_set,
)
from fazm_memory.mcp_server import resources as prompts
from fazm_memory.mcp_server.tool import encode_cursor

PAGE = 50  # entries of a list; all tools fit on one page
# In the order in which a model reads them.
TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tools in (
        session_tools.TOOLS,
        recording_tools.HANDOFF_TOOLS,
        recording_tools.TOOLS,
        journal_tools.TOOLS,
        session_tools.LISTING_TOOLS,
        reading_tools.TOOLS,
    )
    for tool in tools
}
TOOLS_BY_SET: dict[str, dict[str, Tool]] = {SMALL: {tool.name: tool for tool in small_set.TOOLS}, FULL: TOOLS}


def tool_listing(tool: Tool) -> dict[str, Any]:
    """A tool as in `tools/list`.

    A tool without an output schema is listed as briefly as possible.
    """
    listed = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    if not tool.output_schema:
        return listed | {
            "annotations": {"readOnlyHint": True} if tool.reads_only else {"destructiveHint": False}
        }
    return listed | {
        "title": tool.title,
        "outputSchema": tool.output_schema,
        "annotations": {
            "title": tool.title,
            "readOnlyHint": tool.reads_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent or tool.reads_only,
            "openWorldHint": False,
        },
    }


def prompt_listing(name: str) -> dict[str, Any]:
    """A prompt as in `prompts/list`."""
    prompt = prompts.PROMPTS[name]
    return {
        "name": name,
        "title": prompt["title"],
        "description": prompt["description"],
        "arguments": [
            {"name": argument, "description": about, "required": False}
            for argument, about in prompt["arguments"].items()
        ],
    }


def template_listing(template: tuple[str, str, str, str]) -> dict[str, Any]:
    """A template as in `resources/templates/list`."""
    uri, name, title, about = template
    return {
        "name": name,
        "title": title,
        "uriTemplate": uri,
        "description": about,
        "mimeType": "application/json",
    }


def answer(message: Any, tools: str = SMALL) -> dict[str, Any] | None:
    """The result of a request that needs no memory and no SDK.

    None for all other messages.
    """
    if is_request(message, "ping"):
        return {}
    if not isinstance(message, dict) or not _asks_for_first_page(message.get("params")):
        return None
    if is_request(message, "tools/list"):
        return {"tools": [tool_listing(tool) for tool in TOOLS_BY_SET[tools].values()]}
    if is_request(message, "prompts/list"):
        return {"prompts": [prompt_listing(name) for name in prompts.PROMPTS]}
    if is_request(message, "resources/templates/list"):
        return {"resourceTemplates": [template_listing(template) for template in resources.TEMPLATES]}
    if is_request(message, "resources/list"):  # the sessions are on the next page, which needs the memory
        return {"resources": [resources.context_resource()], "nextCursor": encode_cursor({"skip": 0})}
    return None


def _asks_for_first_page(params: Any) -> bool:
    """Whether there is no cursor and nothing invalid, which the SDK reports better."""
    if params is None:
        return True
    if not isinstance(params, dict) or not set(params) <= {"_meta", "cursor"}:
        return False
    return params.get("cursor") is None and isinstance(params.get("_meta", {}), dict)


NEXT_STEP: dict[type[FazmMemoryError], str] = {
    NotFound: "Call session_list for existing handles, or session_open for a new session.",
    Ambiguous: "Call session_list and pass the whole id.",
    InvalidInput: "Correct the arguments and call again.",
    InvalidRequest: "Correct the arguments and call again.",
    Conflict: "Call session_events from the position you expected. Then call again with expected_seq = head.",
    RecordingPaused: "Continue without recording and do not retry. The user has paused recording.",
    StoreBusy: "Call again in a moment.",
    Declined: "Tell the user what was refused and why. Continue only as the user says.",
}
NEXT_STEP_SMALL: dict[type[FazmMemoryError], str] = NEXT_STEP | {
    NotFound: "Call memory_search for handles, or session_note with kind open for a new session.",
    Ambiguous: "Call memory_search and pass the whole id.",
    Conflict: "Call session_read with view events from the position you expected. Then call again.",
}
# What to call after a refused move, by the lifecycle of the session; `copied` is that of another machine.
NEXT_MOVE = {
    "paused": "Call session_resume. Then call again.",
    "closed": "Call session_resume. Then call again.",
    "archived": "Call session_archive with undo, then session_resume. Then call again.",
    "copied": "Call session_fork and use the new session.",
}
NEXT_MOVE_SMALL = {
    "paused": "Call session_note with kind open and its handle. Then call again.",
    "closed": "Call session_note with kind open and its handle. Then call again.",
    "archived": "Tell the user. A person restores it with `fazm-memory archive --undo`.",
    "copied": "Call session_note with kind open for a session of your own.",
}
WITHOUT_FILES = {
    "session_rewind": "Leave `files` and `dry_run` out to rewind the state alone.",
    "session_fork": "Leave `into` out to fork the state alone.",
}
NEXT_AFTER_TURN = "Call again without `turn`."
NEXT_TO_ARCHIVE = "Call session_close. Then call again."
NEXT_AT_WORK = "The session is at work: go on recording, or call session_pause or session_close."
NEXT_AT_WORK_SMALL = "The session is at work: go on with session_note."
NEXT_FOR_OPEN_QUESTION = "Tell the user the question. Continue when it is answered or waived."
NEXT_OTHERWISE = "Continue without the memory and ask the user to run `fazm-memory doctor`."


@cache
def _validator(tool_set: str, name: str) -> Any:
    # Imported here so that the first call pays for it, not the handshake.
    from jsonschema import Draft202012Validator

    return Draft202012Validator(TOOLS_BY_SET[tool_set][name].input_schema)


def check_arguments(tool: Tool, arguments: dict[str, Any]) -> None:
    """Raise for arguments that do not match the tool's schema.

    The error names the first wrong one.
    """
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
    if problem.validator == "enum":
        raise _unknown_value(tool, problem)
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
    """Whether a value surely matches a schema.

    Others are left to jsonschema, which is slow to load.
    """
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
    """The refusal of a name that is not in the schema.

    It lists the valid names and the nearest of them.
    """
    known = list(problem.schema["properties"])
    name = next(name for name in problem.instance if name not in known)
    where = ".".join(str(part) for part in problem.absolute_path)
    message = f'{tool.name} has no argument "{f"{where}." if where else ""}{name[:60]}".'
    return _unknown_word(tool, message, "arguments", name, known)


def _unknown_value(tool: Tool, problem: Any) -> FazmMemoryError:
    """The refusal of a word that an argument does not take, with those that it takes."""
    name, known = str(problem.instance), list(map(str, problem.schema["enum"]))
    where = ".".join(str(part) for part in problem.absolute_path)
    return _unknown_word(tool, f'{tool.name} has no "{name[:60]}" for {where}.', "values", name, known)


# What one call names so, another names so: the five tools have fewer names, and agents mix them up.
OTHER_NAMES = {
    "what": "text view note", "text": "what note title", "title": "text what", "note": "text what",
    "content": "text", "message": "text", "name": "key id tool", "key": "name id", "at": "to",
    "id": "session", "handle": "session", "command": "input", "arguments": "input", "args": "input",
    "result": "output", "status": "outcome", "path": "files", "reason": "why text", "why": "reason",
    "limit": "last budget", "max_tokens": "budget",
}  # fmt: skip


def _unknown_word(tool: Tool, message: str, what: str, name: str, known: list[str]) -> FazmMemoryError:
    meant = (other for other in OTHER_NAMES.get(name, "").split() if other in known)
    near = next(meant, None) or nearest_word(name, known)
    asked = "" if near is None else f'Did you mean "{near}"? '
    refused = InvalidRequest if tool.reads_only else InvalidInput
    return refused(
        message,
        hint=f"{asked}Valid {what}: {', '.join(known)}.",
        details={"unknown": name[:60], "valid": known, **({} if near is None else {"nearest": near})},
    )


def error_data(
    error: FazmMemoryError, tool: Tool, caller: Caller, arguments: dict[str, Any]
) -> dict[str, Any]:
    """The error with the session's handle, what was kept and what to call next."""
    details = error.to_json()
    hint = details.pop("hint", "")
    handle = arguments.get("session")
    data = {
        "ok": False,
        **details,
        "kept": _kept(tool, caller, handle),
        "next": _next_step(error, tool, caller, handle),
    }
    if isinstance(handle, str):
        data["session"] = handle[:200]
    if isinstance(hint, str) and "--files" in hint:
        hint = WITHOUT_FILES.get(tool.name, "")
    if isinstance(hint, str) and hint and "fazm-memory" not in hint:  # commands are for people
        data["hint"] = hint
    return data


def _next_step(error: FazmMemoryError, tool: Tool, caller: Caller, handle: object) -> str:
    full = caller.tool_set == FULL
    if "open_questions" in error.details:
        return NEXT_FOR_OPEN_QUESTION
    if isinstance(error, InvalidTransition):
        lifecycle = str(error.details.get("lifecycle", "copied"))
        if tool.name == "session_archive" and lifecycle not in ("closed", "archived"):
            return NEXT_TO_ARCHIVE
        if full:
            return NEXT_MOVE.get(lifecycle, NEXT_AT_WORK)
        return NEXT_MOVE_SMALL.get(lifecycle, NEXT_AT_WORK_SMALL)
    if isinstance(error, Conflict) and "turn" in error.details:
        return NEXT_AFTER_TURN
    if isinstance(error, NotFound) and _events_of(caller, handle) is not None:
        return NEXT_STEP[InvalidRequest]  # what is not found is something of the session
    return (NEXT_STEP if full else NEXT_STEP_SMALL).get(type(error), NEXT_OTHERWISE)


def _kept(tool: Tool, caller: Caller, handle: object) -> str:
    if tool.reads_only:
        return "Reading changes nothing."
    if not isinstance(handle, str):
        return "This call recorded nothing."
    events = _events_of(caller, handle)
    if events is None:
        return "This call recorded nothing. Every session is unchanged."
    kept = "its 1 event" if events == 1 else f"all {events} events"
    return f"This call recorded nothing. The session keeps {kept}."


def _events_of(caller: Caller, handle: object) -> int | None:
    """How many events the session has that a call named; None if there is none."""
    if not isinstance(handle, str):
        return None
    try:
        return int(caller.memory.sessions.get(handle)["events"])
    except FazmMemoryError:
        return None


def error_text(data: dict[str, Any]) -> str:
    """The same error as text. Handles and arguments in it are made harmless."""
    handle = f" (session {plain_name(data['session'])})" if "session" in data else ""
    parts = [f"{data['title']}{handle}: {harmless(sentence(data['error']))}"]
    if "hint" in data:
        parts.append(harmless(sentence(data["hint"])))
    return " ".join((*parts, data["kept"], f"Next: {data['next']}"))


AGENT_OF_CLIENT = {
    "claude-ai": "claude-desktop",
    "codex-mcp-client": "codex",
    "gemini-cli-mcp-client": "gemini",
}
LONGEST_NAME = 80
ERROR = "ai.fazm/error"  # the `_meta` key of an error as data
HANDOFF_TOOLS = {SMALL: "session_note", FULL: "session_handoff"}  # the tool that asks, by tool set
PARAMETERS = frozenset({"name", "arguments", "_meta"})


@dataclass(frozen=True)
class HostAgent:
    """The agent that started this server, its session and its folder.

    Each is None if unknown.
    """

    agent: str | None = None
    key: str | None = None
    workspace: str | None = None


def from_environment(environment: Mapping[str, str]) -> HostAgent:
    key = environment.get("CLAUDE_CODE_SESSION_ID")
    if not key:
        return HostAgent()
    return HostAgent("claude-code", key, environment.get("CLAUDE_PROJECT_DIR"))


def agent_name(client: str | None) -> str:
    """The agent that a client's name in `initialize` stands for."""
    name = " ".join((client or "").split())[:LONGEST_NAME]
    return AGENT_OF_CLIENT.get(name, name or "unknown")


def caller_of(
    memory: Memory, host: HostAgent, client: str | None, *, connection: str | None, tool_set: str
) -> Caller:
    caller = Caller(memory, agent=agent_name(client), connection=connection, tool_set=tool_set)
    if host.agent is None or host.agent == caller.agent:
        return replace(caller, key=host.key, workspace=host.workspace)
    return caller


def is_handoff(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether a call leaves a question."""
    return tool == HANDOFF_TOOLS[FULL] or (tool == HANDOFF_TOOLS[SMALL] and args.get("kind") == "handoff")


def early_call(message: Any, tool_set: str) -> tuple[Tool, dict[str, Any]] | None:
    """The tool and arguments of a call that needs no SDK.

    None for all other messages. A question to the user may be shown as a form, which the SDK does.
    """
    params = message.get("params") if is_request(message, "tools/call") else None
    if not isinstance(params, dict) or not PARAMETERS.issuperset(params):
        return None
    name, args = params.get("name"), params.get("arguments") or {}
    tool = TOOLS_BY_SET[tool_set].get(name) if isinstance(name, str) else None
    if tool is None or not isinstance(args, dict) or not isinstance(params.get("_meta", {}), dict):
        return None
    return None if is_handoff(tool.name, args) else (tool, args)


def run_tool(tool: Tool, caller: Caller, args: dict[str, Any]) -> dict[str, Any]:
    """Run a tool; the caller always gets an answer.

    Unexpected exceptions are logged with their trace.
    """
    try:
        check_arguments(tool, args)
        return success(tool.run(caller, args))
    except FazmMemoryError as error:
        return failure(error_data(error, tool, caller, args))
    except Exception as error:
        sys.stderr.write(f"fazm-memory mcp: The tool {tool.name} failed.\n{traceback.format_exc()}")
        unexpected = FazmMemoryError(f"{tool.name} failed with an unexpected {type(error).__name__}.")
        return failure(error_data(unexpected, tool, caller, args))


def success(result: ToolResult) -> dict[str, Any]:
    content = [{"type": "text", "text": result.text}]
    return {"content": content, "structuredContent": result.data, "isError": False}


def failure(data: dict[str, Any]) -> dict[str, Any]:
    # Not as structured content: clients check that against the output schema even for an error.
    content = [{"type": "text", "text": error_text(data)}]
    return {"content": content, "isError": True, "_meta": {ERROR: data}}
