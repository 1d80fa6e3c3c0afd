"""A ledger over MCP on stdio, with one tool that answers and one that always fails.

Written against the wire rather than a library: the clients under test must meet a server, not a dependency.
"""

from __future__ import annotations

import json
import sys
from typing import Any

NAME = "ledger"

_TOOLS = [
    {
        "name": "look_up",
        "description": "Look up an item in the ledger.",
        "inputSchema": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
    },
    {
        "name": "strike",
        "description": "Strike an item from the ledger. The ledger never allows it.",
        "inputSchema": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
    },
]


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """The reply to one JSON-RPC message; None for a notification."""
    if "id" not in message:
        return None
    params = message.get("params", {})
    match message["method"]:
        case "initialize":
            result: dict[str, Any] = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": NAME, "version": "1"},
            }
        case "ping":
            result = {}
        case "tools/list":
            result = {"tools": _TOOLS}
        case "tools/call":
            result = _call(params["name"], params["arguments"])
        case method:
            error = {"code": -32601, "message": f"no method {method}"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    item = arguments["item"]
    if tool == "look_up":
        return {"content": [{"type": "text", "text": f"{item}: 42 EUR"}]}
    return {"content": [{"type": "text", "text": f"{item} cannot be struck"}], "isError": True}


def main() -> None:
    for line in sys.stdin:
        reply = answer(json.loads(line))
        if reply is not None:
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
