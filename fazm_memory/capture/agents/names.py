"""The agents we know, by the names that commands, events and hooks call them."""

from __future__ import annotations

AGENTS = ("fazm", "claude-code", "codex", "gemini", "opencode")
# Those that take hooks or our MCP server in a configuration of their own.
CONNECTABLE = ("fazm", "claude-code", "codex", "gemini")
