"""The events of the protocol as one JSON Schema, made from the same classes that read and write the log.

`python -m fazm_memory.mcp_server.specification` prints docs/protocol.schema.json; a test holds them together.
"""

from __future__ import annotations

import json
from typing import Any

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
        "source": {"enum": list(SOURCES)},
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


def document() -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(document(), end="")
