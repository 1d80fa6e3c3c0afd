"""What a tool answers: its data and a few words, or an error that names the handle, what was kept and what to
call next.

An agent has no hands on the command line, so the next step is always one of our tools, or the user.
"""

from __future__ import annotations

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
from fazm_memory.mcp_server.tool import Caller, Tool

NEXT: dict[type[FazmMemoryError], str] = {
    NotFound: "call session_list for the handles there are, or session_open for a new one",
    Ambiguous: "call session_list and pass the whole id",
    InvalidInput: "mend the arguments and call again",
    InvalidRequest: "mend the arguments and call again",
    InvalidTransition: "call session_resume with this handle if it was put aside, then call again",
    Conflict: "call session_events from the position you expected, then call again with expected_seq = head",
    RecordingPaused: "go on without recording and do not retry: the user has paused it on purpose",
    StoreBusy: "call again in a moment",
    Declined: "tell the user what was refused and why, and go on only as they say",
}
WAIT_FOR_THEM = "tell the user what is asked, and go on when it is answered or waived"
ASK_THE_USER = "go on without the memory and tell the user to run `fazm-memory doctor`"


@cache
def _validator(name: str) -> Any:
    # Late: the first answer, not the handshake, pays for it.
    from jsonschema import Draft202012Validator

    from fazm_memory.mcp_server.catalogue import TOOLS

    return Draft202012Validator(TOOLS[name].takes)


def check(tool: Tool, given: dict[str, Any]) -> None:
    """Refuse arguments that do not fit the tool's schema, naming the first that is wrong."""
    problem = min(
        _validator(tool.name).iter_errors(given), key=lambda one: list(map(str, one.path)), default=None
    )
    if problem is not None:
        where = ".".join(str(part) for part in problem.absolute_path)
        said = problem.message if len(problem.message) <= 200 else f"{problem.validator} is not met"
        refused = InvalidRequest if tool.reads_only else InvalidInput
        raise refused(f"{where}: {said}" if where else said)


def trouble(error: FazmMemoryError, tool: Tool, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """An error as data an agent can act on."""
    told = error.to_json()
    hint = told.pop("hint", "")
    handle = given.get("session")
    made = {
        "ok": False,
        **told,
        "kept": _kept(tool, caller, handle),
        "next": WAIT_FOR_THEM if "open_questions" in told else NEXT.get(type(error), ASK_THE_USER),
    }
    if isinstance(handle, str):
        made["session"] = handle[:200]
    if isinstance(hint, str) and hint and "fazm-memory" not in hint:  # commands are for people
        made["hint"] = hint
    return made


def _kept(tool: Tool, caller: Caller, handle: object) -> str:
    if tool.reads_only:
        return "reading changes nothing"
    if isinstance(handle, str):
        try:
            events = caller.memory.session(handle)["events"]
        except FazmMemoryError:
            return "nothing was recorded by this call; every session is as it was"
        kept = "its one event" if events == 1 else f"all {events} events"
        return f"nothing was recorded by this call; the session keeps {kept}"
    return "nothing was recorded by this call"


def in_words(told: dict[str, Any]) -> str:
    """The same error for whoever reads text."""
    handle = f" (session {told['session']})" if "session" in told else ""
    hint = f" {told['hint']}." if "hint" in told else ""
    return f"{told['title']}{handle}: {told['error']}.{hint} Kept: {told['kept']}. Next: {told['next']}."
