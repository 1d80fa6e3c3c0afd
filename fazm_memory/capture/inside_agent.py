"""Whether a command was typed by a person or run in an agent's shell: agents mark the shells they start.

The marks are a courtesy, and an agent that removes them passes for a person. They keep an honest agent from
speaking in the user's name by accident; they are no lock.
"""

from __future__ import annotations

from collections.abc import Mapping

# The variable that each agent sets for the commands it runs, and the name of its sessions here. Settings that
# a person may have in their own shell (CODEX_HOME, GEMINI_API_KEY, …) are no mark.
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


def inside_agent(environment: Mapping[str, str]) -> str | None:
    """The agent in whose shell this runs; None for a person's own."""
    return next((agent for mark, agent in MARKS.items() if environment.get(mark, "").strip()), None)
