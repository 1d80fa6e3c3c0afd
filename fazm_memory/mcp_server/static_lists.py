"""Lists that are always the same: tools, prompts, resource templates.

Needs neither the memory nor the SDK, so that `stdio.Preload` can answer before the SDK is loaded. The server
builds its own lists from the same functions.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.mcp_server import (
    journal_tools,
    reading_tools,
    recording_tools,
    resources,
    session_tools,
    small_set,
)
from fazm_memory.mcp_server import resources as prompts
from fazm_memory.mcp_server.stdio import is_request
from fazm_memory.mcp_server.tool import FULL, SMALL, Tool, encode_cursor

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
    """A tool as in `tools/list`. A tool without an output schema is listed as briefly as possible."""
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
    """The result of a request that needs no memory and no SDK. None for all other messages."""
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
