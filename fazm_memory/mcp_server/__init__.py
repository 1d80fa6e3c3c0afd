"""The memory as an MCP server: tools, resources and prompts. Only this package imports `mcp`.

`tool` describes a tool as data, the `*_tools` modules hold the tools, `server` runs them on the SDK and
`transports` serves them. `stdio` answers a client while the SDK is still loading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.mcp_server.server import MemoryServer
    from fazm_memory.mcp_server.stdio import serve_stdio
    from fazm_memory.mcp_server.transports import MCP_PATH, http_app

__getattr__ = lazy_exports(
    __name__,
    {
        "server": "MemoryServer",
        "stdio": "serve_stdio",
        "transports": "MCP_PATH http_app",
    },
)
