"""A told call: which files it touched and which it was shown, where its teller did not say.

An agent that tells its calls by line or over MCP may leave `files` out. What a shell command did, what a file
tool was given and what a listing showed is then read as in the agents' own records, and by the same rules: a
name that is not known is never made up, and what the call alone does not settle is marked as inferred.
"""

from __future__ import annotations

import json
import posixpath
import shlex
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fazm_memory.capture.agents.fields import mapping, sequence, text
from fazm_memory.capture.agents.file_tools import bare, touched
from fazm_memory.capture.agents.folder_listing import listed_by_command, listed_names
from fazm_memory.capture.agents.tool_call import shell_files
from fazm_memory.capture.shell import Known
from fazm_memory.model import codec
from fazm_memory.model.payloads import Action, FileTouch, Seen

SHELLS = frozenset(
    {
        "bash", "sh", "zsh", "shell", "shellcommand", "localshell", "terminal", "exec", "execute",
        "execcommand", "executecommand", "runcommand", "runshellcommand", "runterminalcmd", "containerexec",
        "runbash", "executebash",
    }
)  # fmt: skip
COMMANDS = ("command", "cmd", "script")
FOLDERS = ("cwd", "workdir", "working_directory")
LISTINGS = frozenset(
    {"ls", "listdirectory", "listdir", "oslistdir", "listfiles", "listfolder", "readdir", "readdirectory"}
)
LISTED = ("path", "folder", "directory", "dir", "dir_path", "target_directory")
NAMES = ("files", "entries", "items")
MOST_OUTPUT = 256 << 10
MOST_SESSIONS = 64


class ToldCalls:
    """Reads told calls in order; of each session it remembers for a while what its listings showed."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Known] = OrderedDict()

    def completed(self, session: str, action: Action, workspace: str | None) -> Action:
        """The action with the files it touched and those it was shown, as far as they can be told."""
        tool, ok = bare(action.tool).replace(".", ""), action.outcome == "ok"
        cwd = _folder(mapping(action.input), workspace or "")
        files: list[dict[str, Any]] = []
        seen: list[dict[str, Any]] = []
        known = self._of(session)
        if tool in SHELLS and action.outcome != "denied" and (command := _command(action.input)):
            output = _printed(action.output) or action.error or ""
            files = shell_files(command, cwd=cwd, output=output, ok=ok, home=_home(cwd), known=known)
            seen = listed_by_command(command, output, cwd, _home(cwd)) if ok else []
        elif tool in LISTINGS and ok:
            seen = _listed(mapping(action.input), action.output, cwd)
        elif ok:
            files = [
                one
                for one in touched(action.tool, action.input, cwd=cwd, home=_home(cwd))
                if one["path"].startswith(("/", "~/"))
            ]
        if not files and not seen:
            return action
        if ok:
            known.take(files, seen)
        return replace(
            action,
            files=tuple(codec.decode(FileTouch, one) for one in files),
            seen=tuple(codec.decode(Seen, one) for one in seen) or action.seen,
        )

    def _of(self, session: str) -> Known:
        known = self._known.pop(session, None) or Known()
        known.carry()
        self._known[session] = known
        while len(self._known) > MOST_SESSIONS:
            self._known.popitem(last=False)
        return known


def _command(given: Any) -> str:
    """The command as a person would type it: `bash -lc X` is X."""
    if isinstance(given, Mapping):
        given = next((given[name] for name in COMMANDS if given.get(name)), "")
    if isinstance(given, str):
        return given
    words = [word for word in sequence(given) if isinstance(word, str)]
    return words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else shlex.join(words)


def _folder(given: Mapping[str, Any], workspace: str) -> str:
    return posixpath.join(
        workspace, next((text(given[name]) for name in FOLDERS if text(given.get(name))), "")
    )


def _home(cwd: str) -> str | None:
    """The home folder that a folder lies in, by where systems put them; `~` is told by nothing else."""
    parts = cwd.split("/")
    if len(parts) > 2 and parts[0] == "" and parts[1] in ("Users", "home"):
        return "/".join(parts[:3])
    return "/root" if parts[:2] == ["", "root"] else None


def _printed(output: Any) -> str:
    """What a call printed, errors included."""
    if isinstance(output, Mapping):
        told = [text(output.get(name)) for name in ("stdout", "output", "text", "stderr")]
        output = "\n".join(part for part in told if part)
    return text(output)[:MOST_OUTPUT]


def _listed(given: Mapping[str, Any], output: Any, cwd: str) -> list[dict[str, Any]]:
    """The folder that a listing tool showed: a list of names or entries, or a name on each line."""
    folder = posixpath.join(cwd, next((text(given[name]) for name in LISTED if text(given.get(name))), ""))
    if isinstance(output, str) and output[:1] in ("[", "{") and not output.startswith(("[FILE]", "[DIR]")):
        output = _json(output)
    if isinstance(output, Mapping):
        output = next((output[name] for name in NAMES if isinstance(output.get(name), list)), output)
    blocks = [text(mapping(one).get("text")) for one in sequence(output)]
    if isinstance(output, list) and not any(blocks):
        names = _names(output)
    else:
        names = _lines("\n".join(blocks) if blocks else _printed(output))
    return listed_names(posixpath.normpath(folder) if folder else "", names)


def _json(output: str) -> Any:
    try:
        return json.loads(output)
    except (ValueError, RecursionError):
        return output


def _names(entries: Iterable[Any]) -> list[str]:
    found = []
    for entry in entries:
        about = mapping(entry)
        name = text(entry) or text(about.get("name")) or text(about.get("path"))
        kind = text(about.get("type")).lower()
        folder = name.endswith("/") or kind in ("dir", "directory", "folder") or about.get("is_dir") is True
        base = posixpath.basename(name.rstrip("/"))
        found.append(f"{base}/" if folder and base else base)
    return found


def _lines(output: str) -> list[str]:
    """Names on lines; those of the common file server carry `[FILE]` or `[DIR]` before them."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if any(line.startswith(("[FILE] ", "[DIR] ")) for line in lines):
        return [line.removeprefix("[FILE] ") for line in lines if line.startswith("[FILE] ")]
    # A sentence is no name: a listing in which one stands is not a plain one.
    return [] if any("/" in line.rstrip("/") or ": " in line for line in lines) else lines
