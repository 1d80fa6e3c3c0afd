"""The lists that need neither the memory nor the SDK.

Importing the SDK takes a second or more, and a client that waits so long starts its model without our tools.
So what is always the same is answered from here, by values the SDK's server is made of too.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.mcp_server import pages, prompts, resources
from fazm_memory.mcp_server.catalogue import TOOLS
from fazm_memory.mcp_server.greeting import is_request
from fazm_memory.mcp_server.tool import Tool

PAGE = 50  # entries of a list; all our tools fit on one


def listed(tool: Tool) -> dict[str, Any]:
    """A tool as `tools/list` shows it."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.takes,
        "outputSchema": tool.gives,
        "annotations": {
            "title": tool.title,
            "readOnlyHint": tool.reads_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent or tool.reads_only,
            "openWorldHint": False,
        },
    }


def listed_prompt(name: str) -> dict[str, Any]:
    """A prompt as `prompts/list` shows it."""
    about = prompts.PROMPTS[name]
    given = [
        {"name": one, "description": said, "required": False} for one, said in about["arguments"].items()
    ]
    return {
        "name": name,
        "title": about["title"],
        "description": about["description"],
        "arguments": given,
    }


def listed_template(template: tuple[str, str, str, str]) -> dict[str, Any]:
    """A template as `resources/templates/list` shows it."""
    uri, name, title, about = template
    return {
        "name": name,
        "title": title,
        "uriTemplate": uri,
        "description": about,
        "mimeType": "application/json",
    }


def answer(message: Any) -> dict[str, Any] | None:
    """The result of a request that needs no memory and no SDK; None for every other message."""
    if is_request(message, "ping"):
        return {}
    if not isinstance(message, dict) or not _plain(message.get("params")):
        return None  # a cursor, or something that the SDK refuses better
    if is_request(message, "tools/list"):
        return {"tools": [listed(tool) for tool in TOOLS.values()]}
    if is_request(message, "prompts/list"):
        return {"prompts": [listed_prompt(name) for name in prompts.PROMPTS]}
    if is_request(message, "resources/templates/list"):
        return {"resourceTemplates": [listed_template(one) for one in resources.TEMPLATES]}
    if is_request(message, "resources/list"):  # the sessions among them are on the next page: it waits
        return {"resources": [resources.first()], "nextCursor": pages.cursor({"skip": 0})}
    return None


def _plain(params: Any) -> bool:
    """Whether parameters ask for nothing in particular; a token for progress among them changes no answer."""
    if params is None:
        return True
    if not isinstance(params, dict) or not set(params) <= {"_meta", "cursor"}:
        return False
    return params.get("cursor") is None and isinstance(params.get("_meta", {}), dict)
