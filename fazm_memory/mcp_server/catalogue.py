"""Every tool by its name, in the order in which a model reads them."""

from __future__ import annotations

from fazm_memory.mcp_server import (
    handoff_tools,
    listing_tools,
    memory_tools,
    reading_tools,
    recording_tools,
    session_tools,
)
from fazm_memory.mcp_server.tool import Tool

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for room in (session_tools, handoff_tools, recording_tools, listing_tools, reading_tools, memory_tools)
    for tool in room.TOOLS
}
