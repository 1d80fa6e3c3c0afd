"""The MCP server: the memory as tools, resources and prompts for any agent. Only this room imports `mcp`."""
