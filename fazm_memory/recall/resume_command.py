"""How each agent takes up a session of its own: the command, in the folder the session began in.

The folder matters: a session resumed elsewhere is not found. Words are quoted for the shell, since a folder's
name may hold anything; an id that could be read as an option of the program is none.
"""

from __future__ import annotations

import re
import shlex

COMMANDS: dict[str, str] = {
    "claude-code": "claude --resume {id}",
    "codex": "codex resume {id}",
    "gemini": "gemini --resume {id}",
    "opencode": "opencode --session {id}",
}
# How each agent begins a new session with a first message.
ANEW: dict[str, str] = {
    "claude-code": "claude {text}",
    "codex": "codex {text}",
    "gemini": "gemini --prompt-interactive {text}",
    "opencode": "opencode --prompt {text}",
}

# Whoever records names their session: what begins with a dash would be an option, quoted or not.
RESUMABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}").fullmatch
NOT_AN_ID = "the id of its session is not one that a command may be given"


def none_of_its_own(agent: str) -> str:
    """Why there is no command for a session: the agent has none at all, or does not know this one."""
    if agent in COMMANDS:
        return f"{agent} itself does not know this session: it is a branch, or was opened elsewhere"
    return f"{agent} has no command that resumes a session"


def went_back(to: int) -> str:
    """Why the agent's own session is not the one to go on with after a rewind."""
    return f"it was rewound to {to}, and the agent's own record goes on past that"


def resume_command(agent: str, agent_session_id: str | None, workspace: str | None) -> str | None:
    """The shell command that resumes the agent's own session, or None when the agent has none."""
    command = COMMANDS.get(agent)
    if command is None or agent_session_id is None or not RESUMABLE(agent_session_id):
        return None
    made = command.format(id=shlex.quote(agent_session_id))
    return f"cd {shlex.quote(workspace)} && {made}" if workspace else made
