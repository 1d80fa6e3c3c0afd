"""The contract of a reader.

It finds an agent's records and reads them in chunks from a cursor.

A reader is a pure function of bytes and a cursor. What it must remember between chunks, such as a call
without a result, is carried in the cursor. The cursor is stored in the same transaction as the events it led
to, so every record is taken in exactly once.
"""

from __future__ import annotations

import errno
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from fazm_memory.agents.fields import record_of
from fazm_memory.events import Draft
from fazm_memory.paths import open_regular
from fazm_memory.records import dataclass, field
from fazm_memory.text import shell_word

AGENTS = (
    "fazm", "claude-code", "codex", "gemini", "opencode", "copilot", "qwen", "cursor", "hermes", "cline",
    "openclaw", "goose", "claude-cowork", "antigravity",
)  # fmt: skip
# Agents whose configuration can take our hooks or our MCP server.
CONNECTABLE = (
    "fazm", "claude-code", "codex", "gemini", "copilot", "qwen", "cursor", "hermes", "cline", "openclaw",
    "goose", "antigravity",
)  # fmt: skip
MCP_ONLY = ("openclaw", "goose")  # they have no hooks that we could use


CHUNK = 1 << 20
OWNERS = "fazm"  # who owns sessions: carried by readers, also when a file is read again
LONGEST_LINE = 64 << 20  # a longer line is skipped and counted
LONGEST_SKIPPED = 256 << 20  # a file with an even longer line is not read: it has holes, or is no text


@dataclass(frozen=True)
class Places:
    """Where agents store things on this machine. Tests use another home."""

    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    tmp: Path = Path("/tmp")


def copilot_home(places: Places) -> Path:
    return Path(places.env.get("COPILOT_HOME") or places.home / ".copilot")


def hermes_home(places: Places) -> Path:
    return Path(places.env.get("HERMES_HOME") or places.home / ".hermes")


def cline_data(places: Places) -> Path:
    return Path(places.env.get("CLINE_DATA_DIR") or places.home / ".cline" / "data")


def openclaw_home(places: Places) -> Path:
    return Path(places.env.get("OPENCLAW_STATE_DIR") or places.home / ".openclaw")


CONFIG_FOLDERS: dict[str, Callable[[Places], Path]] = {
    "claude-code": lambda at: Path(at.env.get("CLAUDE_CONFIG_DIR") or at.home / ".claude"),
    "codex": lambda at: Path(at.env.get("CODEX_HOME") or at.home / ".codex"),
    "gemini": lambda at: at.home / ".gemini",
    "fazm": lambda at: at.home / ".fazm",
    "copilot": copilot_home,
    "qwen": lambda at: Path(at.env.get("QWEN_HOME") or at.home / ".qwen"),
    "cursor": lambda at: at.home / ".cursor",
    "cline": cline_data,
    "hermes": hermes_home,
    "openclaw": openclaw_home,
    "goose": lambda at: Path(at.env.get("XDG_CONFIG_HOME") or at.home / ".config") / "goose",
    "antigravity": lambda at: at.home / ".gemini" / "antigravity-cli",
}


def config_folder(agent: str, places: Places) -> Path:
    """The folder of an agent's configuration."""
    return CONFIG_FOLDERS[agent](places)


@dataclass(frozen=True)
class RecordFile:
    """A file of an agent's records. `session` is the agent's id of its session.

    `quiet`: nobody has written to it for a while, so a last line without its end is complete.
    """

    agent: str
    path: Path
    session: str
    size: int
    mtime: float
    quiet: bool = False


def record_file(agent: str, path: Path, session: str) -> Iterator[RecordFile]:
    """The record at a path, or nothing if its agent has deleted it meanwhile."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return
    yield RecordFile(agent, path, session, stat.st_size, stat.st_mtime)


@dataclass(frozen=True)
class Cursor:
    """How far a file has been read, and what its reader remembers. Stored as JSON."""

    offset: int = 0
    carry: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Chunk:
    """The drafts of a chunk.

    `more`: complete lines are left. `unknown` counts record types that cannot be read yet, `bad` counts lines
    that are no records. `waiting`: the rest is read when the file is quiet. `trouble`: why the file as a
    whole cannot be read.
    """

    drafts: tuple[Draft, ...]
    cursor: Cursor
    more: bool = False
    unknown: Mapping[str, int] = field(default_factory=dict)
    bad: int = 0
    waiting: bool = False
    trouble: str = ""


def damaged(record: RecordFile, cursor: Cursor) -> Chunk:
    """What a reader answers about a file that is written as a whole and is no record."""
    if not record.quiet:
        return Chunk((), cursor, waiting=True)  # it may be being written
    return Chunk((), cursor, bad=1, trouble="The file is damaged: it is no JSON object.")


class Reader(Protocol):
    """What an agent's module offers.

    Files that an older `version` has read are read again, once.
    """

    name: str
    version: int

    def find(self, places: Places) -> Iterator[RecordFile]:
        """The record files, in any order. A missing folder is no error."""

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        """The next chunk, at most about `limit` bytes of it, complete lines only."""


@dataclass(frozen=True)
class Lines:
    """Complete lines of a file, and the offset after the last.

    `rest`: a line without its end follows.
    """

    lines: tuple[bytes, ...]
    offset: int
    more: bool
    overlong: int = 0
    rest: bool = False


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, up to the first that is too long to be a record."""
    while (line := file.readline(LONGEST_LINE)) and (len(line) < LONGEST_LINE or line.endswith(b"\n")):
        yield line


def _overlong_line(file: BinaryIO, size: int) -> int:
    """Skip the rest of a line of which `size` bytes are read.

    Returns its length, or 0 without its end.
    """
    while size <= LONGEST_SKIPPED:
        rest = file.readline(LONGEST_LINE)
        size += len(rest)
        if rest.endswith(b"\n"):
            return size
        if not rest:
            return 0
    raise OSError(errno.EFBIG, f"has a line of more than {LONGEST_SKIPPED >> 20} MiB")


def complete_lines(path: Path, offset: int, limit: int = CHUNK, *, quiet: bool = False) -> Lines:
    """Read about `limit` bytes of complete lines from `offset`.

    A half-written last line is left for later.

    In a `quiet` file a last line that is an object is complete, although its end is missing.
    """
    lines: list[bytes] = []
    taken = 0
    overlong = 0
    with open_regular(path) as file:
        file.seek(offset)
        while taken < limit:
            line = file.readline(LONGEST_LINE)
            if not line.endswith(b"\n"):
                if len(line) < LONGEST_LINE:
                    if quiet and record_of(line) is not None:
                        lines.append(line)
                        taken, line = taken + len(line), b""
                    return Lines(tuple(lines), offset + taken, False, overlong, rest=bool(line))
                skipped = _overlong_line(file, len(line))
                if not skipped:
                    return Lines(tuple(lines), offset + taken, more=False, overlong=overlong)
                taken += skipped
                overlong += 1
                continue
            lines.append(line)
            taken += len(line)
        more = bool(file.read(1))
    return Lines(tuple(lines), offset + taken, more=more, overlong=overlong)


# The command with which each agent resumes one of its sessions
#
# It runs in the folder where the session began; elsewhere the agent does not find it. Words are quoted for
# the shell. An id that could be read as an option is refused.

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
    "copilot": "copilot --interactive {text}",
    "qwen": "qwen --prompt-interactive {text}",
}

# Whoever records names their session: what begins with a dash would be an option, quoted or not.
is_resumable_id = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}").fullmatch
INVALID_ID_REASON = "the id of its session is not one that a command may be given"


def no_command_reason(agent: str) -> str:
    """Why a session has no command.

    The agent has none at all, or does not know this session.
    """
    if agent in RESUME_COMMANDS:
        return f"{agent} itself does not know this session: it is a branch, or was opened elsewhere"
    return f"{agent} has no command that resumes a session"


def rewound_reason(to: int) -> str:
    """Why the agent's own session is not the one to go on with after a rewind."""
    return f"it was rewound to {to}, and the agent's own record goes on past that"


def native_resume_command(agent: str, agent_session_id: str | None, workspace: str | None) -> str | None:
    """The shell command that resumes the agent's own session, if it has one."""
    command = RESUME_COMMANDS.get(agent)
    if command is None or agent_session_id is None or not is_resumable_id(agent_session_id):
        return None
    resume = command.format(id=shlex.quote(agent_session_id))
    return f"cd {shell_word(workspace)} && {resume}" if workspace else resume
