"""The names by which a rollout of Codex and its hooks know the same thing.

The session is the root thread's: hooks in a subagent name it, with the subagent as `agent_id`.
"""

from __future__ import annotations

from fazm_memory.capture.agents.fields import digest

NAME = "codex"


def action_key(session: str, call_id: str) -> str:
    """The key of a call: a hook has its parts as `session_id` and `tool_use_id`."""
    return f"{NAME}:{session}:{call_id}"


def start_key(session: str, call_id: str) -> str:
    return f"{action_key(session, call_id)}:start"


def prompt_key(session: str, turn: str, prompt: str) -> str:
    """The key of a prompt: a hook has `session_id`, `turn_id` and `prompt`.

    A turn may be steered by further prompts, so the text is part of the key.
    """
    return f"{NAME}:{session}:{turn}:prompt:{digest(prompt.strip())}"


def open_key(session: str) -> str:
    return f"{NAME}:{session}:open"


def title_key(session: str, title: str) -> str:
    return f"{NAME}:{session}:title:{digest(title)}"


def record_key(thread: str, name: str) -> str:
    """The key of what only rollouts tell: the ordinal of a record in its thread."""
    return f"{NAME}:{thread}:{name}"
