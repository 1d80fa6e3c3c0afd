"""The protocol as data: a JSON Schema of events, and all tools, resources and prompts.

`python -m tests.mcp_server.specification docs` writes docs/protocol.schema.json and
docs/protocol.calls.json. A test compares them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fazm_memory.events import ACTORS, KINDS, SOURCES, TRUSTS, json_schema
from fazm_memory.mcp_server import resources
from fazm_memory.mcp_server import resources as prompts
from fazm_memory.mcp_server.calls import TOOLS_BY_SET, prompt_listing, template_listing, tool_listing
from fazm_memory.mcp_server.tool import FULL, SMALL

DRAFT = "https://json-schema.org/draft/2020-12/schema"
DIGEST = {"type": "string", "pattern": "^[0-9a-f]+$"}


def schema() -> dict[str, Any]:
    """The schema of an event, with the payload by kind. A forgotten payload is null."""
    envelope: dict[str, Any] = {
        "session": {"type": "string"},
        "seq": {"type": "integer", "minimum": 0},
        "at": {"type": "string", "format": "date-time"},
        "turn": {"type": "integer", "minimum": 0},
        "kind": {"enum": list(KINDS)},
        "actor": {"enum": list(ACTORS)},
        "source": {"type": "string", "minLength": 1, "examples": list(SOURCES)},
        "trust": {"enum": list(TRUSTS)},
        "payload": {"type": ["object", "null"]},
        "digest": DIGEST,
        "prev": {"type": "string"},
    }
    return {
        "$schema": DRAFT,
        "title": "An event of a session",
        "type": "object",
        "properties": envelope,
        "required": list(envelope),
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": name}, "payload": {"type": "object"}}},
                "then": {"properties": {"payload": {"$ref": f"#/$defs/{name}"}}},
            }
            for name in KINDS
        ],
        "$defs": {
            name: json_schema(kind.payload) | {"x-version": kind.version, "x-durable": kind.durable}
            for name, kind in KINDS.items()
        },
    }


def calls() -> dict[str, Any]:
    """Every tool, resource and prompt, as in the lists."""
    return {
        "tools": [tool_listing(tool) for tool in TOOLS_BY_SET[FULL].values()],
        "defaultTools": [tool_listing(tool) for tool in TOOLS_BY_SET[SMALL].values()],
        "resources": [resources.context_resource()],
        "resourceTemplates": [template_listing(one) for one in resources.TEMPLATES],
        "prompts": [prompt_listing(name) for name in prompts.PROMPTS],
    }


def documents() -> dict[str, str]:
    """The files of the specification by name."""
    files = {"protocol.schema.json": schema(), "protocol.calls.json": calls()}
    return {name: json.dumps(one, indent=1, ensure_ascii=False) + "\n" for name, one in files.items()}


if __name__ == "__main__":
    for name, text in documents().items():
        Path(sys.argv[1], name).write_text(text, encoding="utf-8")
