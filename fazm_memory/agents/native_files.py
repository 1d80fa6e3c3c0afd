"""The files that an agent needs to resume a session.

This module says which they are and where they belong. A path is stored below a named folder of the agent,
because that folder is elsewhere on another machine. Claude Code also names a project's folder after its path,
which may be another one there.
"""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from fazm_memory.agents.antigravity import antigravity_folder
from fazm_memory.agents.base import Places, RecordFile, config_folder, openclaw_home
from fazm_memory.agents.goose import goose_folder
from fazm_memory.agents.opencode import opencode_folder
from fazm_memory.agents.shared_database import ROWS, is_row_database, is_rows, stamps_of
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass

CLAUDE, CODEX, HOME = "claude", "codex", "home"
COWORK = "claude-cowork"
OWN_FOLDERS = ("copilot", "cline")  # agents with a folder for each session, all of which a resume needs
PROJECTS = "projects"
NATIVE_SUFFIXES = (".jsonl", ".json")
OWN_DATABASE = "store.db"  # Cursor's CLI has a database for each session
CONVERSATIONS = "conversations"  # Antigravity's folder with a database for each session, which a resume needs
# Versions of files from before the agent's edits, which its own rewind puts back. Each is written once.
FILE_HISTORY = "file-history"
# Below an agent's folder: what it stores for a session beside the transcript and the folder named like it.
BESIDE = {
    CLAUDE: ("todos/{id}*.json", "tasks/{id}/**/*", "session-env/{id}/**/*", f"{FILE_HISTORY}/{{id}}/*"),
    "qwen": (
        "todos/{id}*.json", "{project}/chats/{id}.*.json", "{project}/chats/{id}.*.jsonl",
        "{project}/chats/archive/{id}.*.json", "{project}/chats/archive/{id}.*.jsonl",
        "{project}/subagents/{id}/*.json", f"{FILE_HISTORY}/{{id}}/*",
    ),
}  # fmt: skip
SHARED_NAMES = frozenset({"session_index.jsonl", "history.jsonl"})  # lists of all sessions


@dataclass(frozen=True)
class NativeFile:
    """A file of a session.

    `path` is below the folder `root`, which is at `origin` on this machine.

    Rows of a database that many sessions share are one file for each session. Its `stamp` changes with them.
    """

    agent: str
    session: str
    root: str
    path: str
    origin: str
    stamp: str = ""

    @property
    def absolute(self) -> Path:
        return Path(self.origin, self.path.removesuffix(ROWS) if self.is_rows else self.path)

    @property
    def is_rows(self) -> bool:
        return is_rows(self.root, self.path)

    @property
    def is_database(self) -> bool:
        return not self.is_rows and self.path.endswith(".db")

    @property
    def name(self) -> str:
        """What identifies the file within its session.

        Codex and Qwen Code move a transcript when they archive the session.
        """
        if self.root == "qwen":
            return self.path.replace("/chats/archive/", "/chats/")
        return Path(self.path).name if self.root == CODEX else self.path

    @property
    def is_final(self) -> bool:
        """Whether the agent writes the file once and never changes it."""
        return self.path.startswith(f"{FILE_HISTORY}/")


def agent_roots(places: Places) -> dict[str, Path]:
    """The folders of the agents by name."""
    return {
        CLAUDE: config_folder("claude-code", places),
        CODEX: config_folder("codex", places),
        **{agent: config_folder(agent, places) for agent in (*OWN_FOLDERS, "qwen")},
        HOME: places.home,
        # After the home, so that only rows are named by these folders.
        "hermes": config_folder("hermes", places),
        "goose": goose_folder(places),
        "opencode": opencode_folder(places),
        "openclaw": openclaw_home(places),
    }


# Where sessions are stored below each folder. Other files there are settings and notes that agents obey.
SESSION_FILES = {
    CLAUDE: lazy_regex(
        r"projects/[^/]+/(?:[^/]+\.jsonl|(?!memory/)[^/]+/.+)|todos/[^/]+\.json|tasks/[^/]+/.+"
    ),
    CODEX: lazy_regex(r"(?:archived_)?sessions/(?:.+/)?rollout-[^/]+\.jsonl"),
    HOME: lazy_regex(
        r"\.\w+/(?:.+/)?(?:chats|subagents|sessions|session-state|agent-transcripts)/.+\.jsonl?"
        r"|(?:Library/Application Support|\.config)/Claude/local-agent-mode-sessions/(?:.+/)?local_[^/]+"
        r"/\.claude/projects/[^/]+/(?:[^/]+\.jsonl|(?!memory/)[^/]+/.+)"
        r"|\.cursor/chats/[^/]+/[^/]+/store\.db"
        r"|\.gemini/antigravity-cli/(?:brain/[^/]+/(?:.+/)?[^/]+\.jsonl|conversations/[^/]+\.db)"
    ),
    "copilot": lazy_regex(r"session-state/[^/]+/(?:.+/)?[^/]+\.(?:jsonl?|ya?ml|md)"),
    "cline": lazy_regex(r"sessions/[^/]+/[^/]+\.json"),
    "qwen": lazy_regex(
        r"projects/[^/]+/chats/(?:archive/)?[^/]+\.jsonl|projects/[^/]+/subagents/.+\.(?:jsonl|meta\.json)"
        r"|todos/[^/]+\.json"
    ),
    "hermes": lazy_regex(r"(?:profiles/[^/]+/)?state\.db\.rows"),
    "goose": lazy_regex(r"sessions\.db\.rows"),
    "opencode": lazy_regex(r"opencode\.db\.rows"),
    "openclaw": lazy_regex(r"agents/[^/]+/agent/openclaw-agent\.sqlite\.rows"),
}


def is_session_file(root: str, path: str) -> bool:
    """Whether a file of another machine may be restored.

    It must be a session and not a setting of the agent.
    """
    pattern = SESSION_FILES.get(root)
    return pattern is not None and pattern.fullmatch(path) is not None


def session_files(record: RecordFile, places: Places) -> Iterator[NativeFile]:
    """The record and the other files of its session."""
    if is_row_database(record):
        yield from _row_files(record, places)
        return
    own_database = record.agent == "cursor" and record.path.name == OWN_DATABASE
    suffixed = record.path.suffix in NATIVE_SUFFIXES and record.path.name not in SHARED_NAMES
    roots = agent_roots(places).items()
    found = next(((root, folder) for root, folder in roots if record.path.is_relative_to(folder)), None)
    if found is None or not (suffixed or own_database):
        return
    root, folder = found
    paths = [record.path]
    like_claude = root == CLAUDE and record.path.parent.parent == folder / PROJECTS
    if record.path.stem == record.session and (like_claude or record.agent == COWORK):
        own = record.path.with_suffix("")
        paths += [path for path in own.rglob("*") if path.suffix != ".lock"]
    if record.agent == COWORK:
        # local_ID/.claude/projects/FOLDER/SESSION.jsonl; the app lists the session by local_ID.json.
        folders = (each for each in record.path.parents if each.name.startswith("local_"))
        paths += [Path(f"{each}.json") for each in folders]
    if root != CLAUDE or record.path.stem == record.session:
        project = "/".join(record.path.relative_to(folder).parts[:2])
        names = {"id": glob.escape(record.session), "project": glob.escape(project)}
        for pattern in BESIDE.get(root, ()):
            paths += folder.glob(pattern.format(**names))
    if root in OWN_FOLDERS and record.path.parent.name == record.session:
        paths += [path for path in record.path.parent.rglob("*") if path.suffix not in (".lock", ".tmp")]
    if own_database:
        paths += record.path.parent.glob("*.json")
    if record.agent == "antigravity":
        paths.append(antigravity_folder(places).with_name(CONVERSATIONS) / f"{record.session}.db")
    for path in sorted(dict.fromkeys(paths)):
        if path == record.path or (path.is_file() and not path.is_symlink()):
            relative = path.relative_to(folder).as_posix()
            yield NativeFile(record.agent, record.session, root, relative, str(folder))


def _row_files(record: RecordFile, places: Places) -> Iterator[NativeFile]:
    folder = agent_roots(places)[record.agent]
    if record.path.is_relative_to(folder):
        path = f"{record.path.relative_to(folder).as_posix()}{ROWS}"
        for session, stamp in stamps_of(record.path, record.agent).items():
            yield NativeFile(record.agent, session, record.agent, path, str(folder), stamp)


def project_folder(workspace: str) -> str:
    """The name that Claude Code gives to the folder of a project."""
    return re.sub(r"[^A-Za-z0-9]", "-", workspace)


def moved_path(root: str, path: str, before: str | None, after: str | None) -> str:
    """The path below `root` after the workspace was moved from `before` to `after`.

    If it is not known where it was, the folder of the project is the one that the path names.
    """
    parts = path.split("/")
    if after is None or before == after:
        return path
    project, chats = (
        root == CLAUDE and parts[0] == PROJECTS,
        root == HOME and parts[:2] == [".cursor", "chats"],
    )
    if project and len(parts) > 2 and (before is None or parts[1] == project_folder(before)):
        parts[1] = project_folder(after)
    if chats and len(parts) > 3 and (before is None or parts[2] == _hashed(before)):
        parts[2] = _hashed(after)
    return "/".join(parts)


def _hashed(workspace: str) -> str:
    """The name that Cursor's CLI gives to the folder of a project."""
    return hashlib.md5(workspace.encode(), usedforsecurity=False).hexdigest()
