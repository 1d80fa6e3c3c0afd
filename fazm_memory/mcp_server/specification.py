"""The protocol for machines: its events as one JSON Schema, made from the classes of the log, and its calls.

`python -m fazm_memory.mcp_server.specification FOLDER` writes both there, docs/protocol.schema.json and
docs/protocol.calls.json; a test holds them together.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fazm_memory.mcp_server import prompts, resources
from fazm_memory.mcp_server.catalogue import TOOLS
from fazm_memory.mcp_server.early import listed, listed_prompt, listed_template
from fazm_memory.model.codec import json_schema
from fazm_memory.model.events import KINDS
from fazm_memory.model.trust import ACTORS, SOURCES, TRUSTS

DRAFT = "https://json-schema.org/draft/2020-12/schema"
DIGEST = {"type": "string", "pattern": "^[0-9a-f]+$"}


def schema() -> dict[str, Any]:
    """An event of the log: its envelope, and its payload by kind. A forgotten payload is null."""
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
    """Every tool with what it takes and gives, every address and every prompt, as the lists tell them."""
    return {
        "tools": [listed(tool) for tool in TOOLS.values()],
        "resources": [resources.first()],
        "resourceTemplates": [listed_template(one) for one in resources.TEMPLATES],
        "prompts": [listed_prompt(name) for name in prompts.PROMPTS],
    }


def documents() -> dict[str, str]:
    """The files of the specification by their names."""
    made = {"protocol.schema.json": schema(), "protocol.calls.json": calls()}
    return {name: json.dumps(one, indent=1, ensure_ascii=False) + "\n" for name, one in made.items()}


if __name__ == "__main__":
    for name, text in documents().items():
        Path(sys.argv[1], name).write_text(text, encoding="utf-8")
