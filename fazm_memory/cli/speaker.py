"""In whose name a command speaks: the user's, unless it runs in an agent's shell; the agent is told so."""

from __future__ import annotations

import os

from fazm_memory.capture.inside_agent import inside_agent
from fazm_memory.cli.output import talk


def speaker() -> str | None:
    """The agent that runs this command in its shell; None for a person."""
    agent = inside_agent(os.environ)
    if agent is not None:
        talk(f"note: this runs in the shell of {agent}, so it speaks as the agent, not as the user")
    return agent
