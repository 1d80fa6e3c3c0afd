"""The command with which each agent resumes one of its sessions.

It runs in the folder where the session began; elsewhere the agent does not find it. Words are quoted for the
shell. An id that could be read as an option is refused.
"""

from __future__ import annotations

import re
import shlex

from fazm_memory.text import shell_word

RESUME_COMMANDS: dict[str, str] = {
    "claude-code": "claude --resume {id}",
    "codex": "codex resume {id}",
    "gemini": "gemini --resume {id}",
    "opencode": "opencode --session {id}",
    "copilot": "copilot --resume={id}",
    "qwen": "qwen --resume {id}",
    "cursor": "cursor-agent --resume {id}",
    "hermes": "hermes --resume {id}",
    "cline": "cline --id {id}",
    "goose": "goose session --resume --session-id {id}",
    "antigravity": "agy --conversation={id}",
}
# How each agent begins a new session with a first message.
NEW_SESSION_COMMANDS: dict[str, str] = {
    "claude-code": "claude {text}",
    "codex": "codex {text}",
    "gemini": "gemini --prompt-interactive {text}",
    "opencode": "opencode --prompt {text}",
}

# Whoever records names their session: what begins with a dash would be an option, quoted or not.
is_resumable_id = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}").fullmatch
INVALID_ID_REASON = "the id of its session is not one that a command may be given"


def no_command_reason(agent: str) -> str:
    """Why there is no command for a session: the agent has none at all, or does not know this one."""
    if agent in RESUME_COMMANDS:
        return f"{agent} itself does not know this session: it is a branch, or was opened elsewhere"
    return f"{agent} has no command that resumes a session"


def rewound_reason(to: int) -> str:
    """Why the agent's own session is not the one to go on with after a rewind."""
    return f"it was rewound to {to}, and the agent's own record goes on past that"


def native_resume_command(agent: str, agent_session_id: str | None, workspace: str | None) -> str | None:
    """The shell command that resumes the agent's own session, or None when the agent has none."""
    command = RESUME_COMMANDS.get(agent)
    if command is None or agent_session_id is None or not is_resumable_id(agent_session_id):
        return None
    resume = command.format(id=shlex.quote(agent_session_id))
    return f"cd {shell_word(workspace)} && {resume}" if workspace else resume
