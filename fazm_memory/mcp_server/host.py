"""The host: what the program that started this server has told of itself, so that its sessions are its own.

Claude Code hands its session's id to the servers it starts. With it, a session opened here is the very one
that hooks and transcripts fill with actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KNOWN = {"claude-ai": "claude-desktop", "codex-mcp-client": "codex", "gemini-cli-mcp-client": "gemini"}
LONGEST = 80


@dataclass(frozen=True)
class Host:
    """The agent this server belongs to, its own id of the session, and where it works; None if unknown."""

    agent: str | None = None
    key: str | None = None
    workspace: str | None = None


def from_environment(environment: Mapping[str, str]) -> Host:
    key = environment.get("CLAUDE_CODE_SESSION_ID")
    if not key:
        return Host()
    return Host("claude-code", key, environment.get("CLAUDE_PROJECT_DIR"))


def agent_name(client: str | None) -> str:
    """The agent a client's name in `initialize` stands for."""
    name = " ".join((client or "").split())[:LONGEST]
    return KNOWN.get(name, name or "unknown")
