"""The memory as an MCP server: tools, resources and prompts.

Only this package imports `mcp`. `tool` describes a tool as data, the `*_tools` modules hold the tools,
`server` runs and serves them on the SDK. `stdio` answers a client while the SDK is still loading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.mcp_server.server import MCP_PATH, MemoryServer, http_app
    from fazm_memory.mcp_server.stdio import serve_stdio

__getattr__ = lazy_exports(
    __name__,
    {
        "server": "MCP_PATH MemoryServer http_app",
        "stdio": "serve_stdio",
    },
)
