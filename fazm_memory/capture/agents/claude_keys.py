"""The names by which a transcript of Claude Code and its hooks know the same thing."""

from __future__ import annotations

NAME = "claude-code"


def action_key(call_id: str) -> str:
    """The key of a call: a hook has the id as `tool_use_id`, and a fork copies it."""
    return f"{NAME}:{call_id}"


def start_key(call_id: str) -> str:
    return f"{action_key(call_id)}:start"


def prompt_key(prompt_id: str) -> str:
    """The key of a prompt: a hook has the id as `prompt_id`."""
    return f"{NAME}:{prompt_id}:prompt"


def open_key(session: str) -> str:
    return f"{NAME}:{session}:open"


def usage_key(message_id: str) -> str:
    return f"{NAME}:{message_id}:usage"


def record_key(uuid: str) -> str:
    return f"{NAME}:{uuid}"
