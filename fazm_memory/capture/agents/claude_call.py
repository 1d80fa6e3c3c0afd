"""One tool call of Claude Code, from its result: how it ended, what it gave, which files it touched.

A result is a text for the model and, for many tools, an object with more. There is no field for the outcome
besides `is_error`; that a call was refused, stopped or timed out is said in the client's own fixed words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fazm_memory.capture.agents.fields import mapping, sequence, text, whole
from fazm_memory.capture.agents.file_tools import touched
from fazm_memory.capture.agents.folder_listing import listed_by_command, listed_names, listed_paths
from fazm_memory.capture.agents.injected import without_injected
from fazm_memory.capture.agents.tool_call import OUTPUT, shell_files
from fazm_memory.capture.shell import Known

SHELL = "Bash"
HEAD = 2000  # the client's own words stand at the beginning
PRINTED = 256 << 10  # of what a command printed, looked through for the files it names

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected"
# Where nobody is there to ask, the question itself comes back as the error.
DENIED = re.compile(
    r"The user doesn't want to proceed with this tool use"
    r"|Permission (?:to|for) .{1,1000}?(?:has been|was) denied"
    r"|\w+ requested permissions to "
    r"|PreToolUse:\S{1,100} hook |Hook PreToolUse\S{0,100} denied|User denied|User aborted"
    r"|.{0,600}?(?:requires? (?:manual |explicit )?approval|Approve (?:only if|to allow)"
    r"|was blocked\. For security|blocked by (?:a deny rule|permission rules)"
    r"|cannot be (?:statically )?validated|for security analysis)",
    re.DOTALL,
)
TIMED_OUT = re.compile(
    r"^(?:Command|Ripgrep search|Tool request|Request|MCP server \".{1,200}\" tool \".{1,200}\") timed out"
    r"|^MCP error -32001",
    re.MULTILINE,
)
STOPPED = re.compile(
    r"The user doesn't want to take this action right now|\[Request interrupted by user|Interrupted by user"
    r"|Command (?:was )?aborted before|.{0,20}The operation was aborted",
    re.DOTALL,
)
WRAPPING = ("tool_use_error", "error")
STILL_RUNNING = "the command went on in the background"
TREE_ENTRY = re.compile(r"  - (.+)")


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    output: str
    outcome: str = "ok"
    error: str | None = None
    duration_ms: int | None = None
    files: tuple[dict[str, Any], ...] = ()
    seen: tuple[dict[str, Any], ...] = ()


def ended(
    block: Mapping[str, Any],
    result: Any,
    *,
    tool: str,
    given: Any,
    cwd: str,
    home: str | None = None,
    known: Known | None = None,
) -> Ended:
    """What a result says of the call it answers. `result` is the object beside it, if there is one."""
    output = without_injected(output_text(block.get("content")) or text(result))
    for tag in WRAPPING:
        output = output.removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")
    failed = block.get("is_error") is True or text(mapping(block.get("content")).get("type")).endswith(
        "_error"
    )
    outcome = _outcome(output, failed, mapping(result).get("interrupted") is True)
    ok = outcome == "ok"
    over = Ended(
        output,
        outcome,
        None if ok else output.strip().removeprefix("Error: ") or outcome,
        _duration(mapping(result)),
        tuple(_files(tool, given, output, mapping(result), outcome, cwd, home, known)),
        tuple(_seen(tool, given, output, mapping(result), cwd)) if ok else (),
    )
    if known is not None and ok:
        known.take(over.files, over.seen)
    return over


def stopped(
    why: str, *, tool: str, given: Any, cwd: str, home: str | None = None, known: Known | None = None
) -> Ended:
    """A call that was cut off. What a command had done by then it has done."""
    files = _files(tool, given, "", {}, "interrupted", cwd, home, known)
    return Ended("", "interrupted", why, files=tuple(files))


def is_result(block: Mapping[str, Any]) -> bool:
    """Whether a block answers a call; the vendor's own tools have kinds of their own."""
    return text(block.get("type")).endswith("tool_result")


def output_text(content: Any) -> str:
    """What the model was given: a text, or blocks of which some are not text."""
    if isinstance(content, dict):  # how the vendor's own tools fail
        return text(content.get("error_code"))
    if not isinstance(content, list):
        return text(content)
    parts = []
    for block in map(mapping, content):
        kind, told = text(block.get("type")), text(block.get("text"))
        if kind != "text":
            parts.append(f"[{kind[:40] or 'something'}]")
        elif not told.startswith("agentId: "):  # how the model may go on with a subagent
            parts.append(told)
    return "\n".join(parts)


def _outcome(told: str, failed: bool, interrupted: bool) -> str:
    if not failed and not interrupted:
        return "ok"
    head = told[:HEAD].lstrip().removeprefix("Error: ")
    if TIMED_OUT.search(head):
        return "timeout"
    if not head.startswith("Exit code"):  # the words that follow are the command's, not the client's
        if DENIED.match(head):
            return "denied"
        if STOPPED.match(head):
            return "interrupted"
    return "interrupted" if interrupted else "error"


def _files(
    tool: str,
    given: Any,
    output: str,
    result: Mapping[str, Any],
    outcome: str,
    cwd: str,
    home: str | None,
    known: Known | None,
) -> list[dict[str, Any]]:
    if tool == SHELL:
        command = text(mapping(given).get("command"))
        if not command or outcome == "denied":
            return []
        ok = outcome == "ok"
        files = shell_files(command, cwd=cwd, output=output[:PRINTED], ok=ok, home=home, known=known)
        if result.get("backgroundTaskId"):
            files = [told | {"inferred": True, "why": STILL_RUNNING} for told in files]
        return files
    if outcome != "ok":
        return []
    return touched(tool, given, cwd=cwd, created=_created(output, result), home=home)


def _created(output: str, result: Mapping[str, Any]) -> bool | None:
    """Whether a written file is new: told by the object, or by the text where there is none."""
    if (kind := text(result.get("type"))) in ("create", "update"):
        return kind == "create"
    if output.startswith("File created"):
        return True
    return False if " has been updated" in output[:HEAD] else None


def _seen(tool: str, given: Any, output: str, result: Mapping[str, Any], cwd: str) -> list[dict[str, Any]]:
    arguments = mapping(given)
    if tool == SHELL:
        command = text(arguments.get("command"))
        return listed_by_command(command, output, cwd) if command and len(output) < OUTPUT else []
    if tool == "Glob":
        names = [name for name in sequence(result.get("filenames")) if isinstance(name, str)]
        return listed_paths(names, cwd)
    if tool == "LS":
        folder = text(arguments.get("path")) or cwd
        return listed_names(folder.rstrip("/") or "/", _entries(TREE_ENTRY, output))
    return []


def _entries(entry: re.Pattern[str], output: str) -> list[str]:
    return [found.group(1) for line in output.splitlines() if (found := entry.fullmatch(line))]


def _duration(result: Mapping[str, Any]) -> int | None:
    for name in ("durationMs", "totalDurationMs"):
        if (told := whole(result.get(name))) is not None:
            return told
    seconds = result.get("durationSeconds")
    return whole(seconds * 1000) if isinstance(seconds, (int, float)) else None
