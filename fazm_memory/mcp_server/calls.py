"""Tool calls without the SDK: who calls, running the tool, and its result as JSON.

The server on the SDK and the answers before the SDK is loaded use the same functions.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fazm_memory.errors import FazmMemoryError
from fazm_memory.mcp_server import answers
from fazm_memory.mcp_server.static_lists import TOOLS_BY_SET
from fazm_memory.mcp_server.stdio import is_request
from fazm_memory.mcp_server.tool import FULL, SMALL, Caller, Tool, ToolResult
from fazm_memory.records import dataclass, replace

if TYPE_CHECKING:
    from fazm_memory.app import Memory

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
    """The agent that started this server, its id of the session, and its folder. None if unknown."""

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
    """The tool and arguments of a call that needs nothing of the SDK; None for all other messages.

    A question to the user may be shown as a form, which the SDK does.
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
    """Run a tool. The caller always gets an answer. Unexpected exceptions are logged with their trace."""
    try:
        answers.check_arguments(tool, args)
        return success(tool.run(caller, args))
    except FazmMemoryError as error:
        return failure(answers.error_data(error, tool, caller, args))
    except Exception as error:
        sys.stderr.write(f"fazm-memory mcp: The tool {tool.name} failed.\n{traceback.format_exc()}")
        unexpected = FazmMemoryError(f"{tool.name} failed with an unexpected {type(error).__name__}.")
        return failure(answers.error_data(unexpected, tool, caller, args))


def success(result: ToolResult) -> dict[str, Any]:
    content = [{"type": "text", "text": result.text}]
    return {"content": content, "structuredContent": result.data, "isError": False}


def failure(data: dict[str, Any]) -> dict[str, Any]:
    # Not as structured content: clients check that against the output schema even for an error.
    content = [{"type": "text", "text": answers.error_text(data)}]
    return {"content": content, "isError": True, "_meta": {ERROR: data}}
