"""Who runs a command: a person, or an agent in its shell.

Agents set environment variables in the shells they start. An agent that removes them passes for a person:
this prevents accidents, not abuse.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from fazm_memory.cli.output import echo_err
from fazm_memory.errors import Declined

# Variables that agents set for their commands, and the agent's name here. Settings that a person may have in
# their own shell (CODEX_HOME, GEMINI_API_KEY, …) do not count.
MARKS = {
    "CLAUDECODE": "claude-code",
    "CODEX_THREAD_ID": "codex",
    "CODEX_SANDBOX": "codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "codex",
    "CODEX_CI": "codex",
    "GEMINI_CLI": "gemini",
    "OPENCODE": "opencode",
    "CURSOR_AGENT": "cursor",
    "COPILOT_CLI": "copilot",
    "AI_AGENT": "agent",
}


def agent_from_environment(environment: Mapping[str, str]) -> str | None:
    """The agent whose shell this is, or None."""
    return next((agent for mark, agent in MARKS.items() if environment.get(mark, "").strip()), None)


def calling_agent() -> str | None:
    """The agent that runs this command, or None for a person. Tells the user which."""
    agent = agent_from_environment(os.environ)
    if agent is not None:
        echo_err(f"note: This runs in the shell of {agent}, so it is recorded as said by the agent.")
    return agent


def require_person(what: str) -> None:
    """Raise Declined in the shell of an agent: a person must do this, for example "Deleting"."""
    agent = agent_from_environment(os.environ)
    if agent is not None:
        raise Declined(
            f"{what} needs a person. This is the shell of {agent}. Nothing was changed.",
            hint="Run the command in a terminal of your own.",
        )
