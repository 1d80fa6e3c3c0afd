"""One tool call of opencode: how it ended, what it gave, what it touched.

A command that failed counts as completed there: its exit code is in the metadata. What was cut off or ran too
long is told in the text of the output.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fazm_memory.capture.agents.fields import mapping, sequence, text, whole
from fazm_memory.capture.agents.file_tools import touched
from fazm_memory.capture.agents.folder_listing import listed_by_command, listed_names, listed_paths
from fazm_memory.capture.agents.patch import patched_files
from fazm_memory.capture.agents.tool_call import shell_files, summary, touch
from fazm_memory.capture.shell import Known

PATCHES = frozenset({"apply_patch", "patch"})
TIMED_OUT = "terminated command after exceeding timeout"
ABORTED = "User aborted the command"
ABOUT_THE_SHELL = "\n\n<shell_metadata>\n"
NO_OUTPUT = "(no output)"
DENIED = ("The user rejected permission", "The user has specified a rule which prevents")


@dataclass(frozen=True)
class Ended:
    tool: str
    output: str
    outcome: str
    error: str | None
    files: tuple[dict[str, Any], ...] = ()
    seen: tuple[dict[str, Any], ...] = ()


def ended(
    tool: str, state: Mapping[str, Any], *, cwd: str, home: str | None, known: Known | None = None
) -> Ended:
    """How a call ended, from the state of its part."""
    over = _ended(tool, state, cwd, home, known)
    if known is not None and over.outcome == "ok":
        known.take(over.files, over.seen)
    return over


def _ended(tool: str, state: Mapping[str, Any], cwd: str, home: str | None, known: Known | None) -> Ended:
    given, metadata = mapping(state.get("input")), mapping(state.get("metadata"))
    output = text(state.get("output"))
    if state.get("status") == "error":
        error = text(state.get("error"))
        outcome = _failure(error, metadata)
        if outcome == "interrupted":
            return stopped(tool, state, cwd=cwd, home=home, known=known)
        return Ended(tool, output, outcome, summary(error) or "failed")
    if tool == "invalid":
        # Stands for a tool that is not there or was called wrongly.
        return Ended(
            text(given.get("tool"))[:200] or tool, output, "error", summary(text(given.get("error")))
        )
    if tool == "bash":
        return _shell(given, metadata, output, cwd, home, known)
    files, seen = _touched(tool, given, metadata, cwd, home), _seen(tool, metadata, output, cwd)
    return Ended(tool, output, "ok", None, tuple(files), tuple(seen))


def stopped(
    tool: str, state: Mapping[str, Any], *, cwd: str, home: str | None, known: Known | None = None
) -> Ended:
    """A call that was cut off. What a command had done by then it has done."""
    given = mapping(state.get("input"))
    output = text(mapping(state.get("metadata")).get("output"))
    files = []
    if tool == "bash" and (command := text(given.get("command"))):
        folder = posixpath.join(cwd, text(given.get("workdir")))
        files = shell_files(command, cwd=folder, output=output, ok=False, home=home, known=known)
    return Ended(tool, output, "interrupted", "cut off before it had a result", tuple(files))


def _failure(error: str, metadata: Mapping[str, Any]) -> str:
    if metadata.get("interrupted") is True or error.startswith("Tool execution aborted"):
        return "interrupted"
    if error.startswith(DENIED):
        return "denied"
    return "timeout" if "timed out" in error[:300].lower() else "error"


def _shell(
    given: Mapping[str, Any],
    metadata: Mapping[str, Any],
    output: str,
    cwd: str,
    home: str | None,
    known: Known | None,
) -> Ended:
    command, code = text(given.get("command")), whole(metadata.get("exit"))
    folder = posixpath.join(cwd, text(given.get("workdir")))
    output, _, about = output.partition(ABOUT_THE_SHELL)
    output = "" if output == NO_OUTPUT else output
    outcome, error = "ok", None
    if TIMED_OUT in about:
        outcome, error = "timeout", summary(about)
    elif ABORTED in about:
        outcome, error = "interrupted", ABORTED
    elif code:
        outcome, error = "error", ": ".join(filter(None, (f"exit code {code}", summary(output))))
    ok = outcome == "ok"
    files = []
    if command:
        files = shell_files(command, cwd=folder, output=output, ok=ok, home=home, known=known)
    whole_output = ok and metadata.get("truncated") is not True
    seen = listed_by_command(command, output, folder, home) if whole_output else []
    return Ended("bash", output, outcome, error, tuple(files), tuple(seen))


def _touched(
    tool: str, given: Mapping[str, Any], metadata: Mapping[str, Any], cwd: str, home: str | None
) -> list[dict[str, Any]]:
    if tool in PATCHES:
        told = [_patched(mapping(one)) for one in sequence(metadata.get("files"))]
        return [one for one in told if one is not None] or patched_files(text(given.get("patchText")), cwd)
    if tool == "read" and mapping(metadata.get("display")).get("type") == "directory":
        return []
    created: bool | None = None
    if isinstance(metadata.get("exists"), bool):
        created = not metadata["exists"]
    elif tool == "edit":
        created = given.get("oldString") == ""
    return touched(tool, given, cwd=cwd, created=created, home=home)


def _patched(told: Mapping[str, Any]) -> dict[str, Any] | None:
    path, moved = text(told.get("filePath")), text(told.get("movePath"))
    if not path:
        return None
    if moved:
        return touch(moved, "renamed", path)
    return touch(path, {"add": "created", "delete": "deleted"}.get(text(told.get("type")), "modified"))


def _seen(tool: str, metadata: Mapping[str, Any], output: str, cwd: str) -> list[dict[str, Any]]:
    shown = mapping(metadata.get("display"))
    if tool == "read" and shown.get("type") == "directory":
        names = [name for name in sequence(shown.get("entries")) if isinstance(name, str)]
        return listed_names(posixpath.join(cwd, text(shown.get("path"))), names)
    if tool == "glob" and metadata.get("truncated") is not True:
        return listed_paths((line for line in output.splitlines() if line.startswith("/")), cwd)
    return []
