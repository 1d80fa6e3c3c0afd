"""Results of calls in Claude Code: outcome, error, duration, and the files touched or listed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fazm_memory.agents.claude_code.decisions import REFUSED_BY_USER, refusal_reason
from fazm_memory.agents.fields import mapping, sequence, strip_injected_text, text, whole
from fazm_memory.agents.tool_calls import (
    OUTPUT,
    CallResult,
    listed_by_command,
    listed_names,
    listed_paths,
    shell_files,
    touched_files,
)
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.lazy import lazy_regex

SHELL = "Bash"
HEAD = 2000  # the client's own text is at the beginning
PRINTED = 256 << 10  # characters of an output that are searched for file names

# Without a person to ask, the error is the question itself.
DENIED = lazy_regex(
    r"The user doesn't want to proceed with this tool use"
    r"|Permission (?:to|for) .{1,1000}?(?:has been|was) denied"
    r"|\w+ requested permissions to "
    r"|PreToolUse:\S{1,100} hook |Hook PreToolUse\S{0,100} denied|User denied|User aborted"
    r"|.{0,600}?(?:requires? (?:manual |explicit )?approval|Approve (?:only if|to allow)"
    r"|was blocked\. For security|blocked by (?:a deny rule|permission rules)"
    r"|cannot be (?:statically )?validated|for security analysis)",
    re.DOTALL,
)
TIMED_OUT = lazy_regex(
    r"^(?:Command|Ripgrep search|Tool request|Request|MCP server \".{1,200}\" tool \".{1,200}\") timed out"
    r"|^MCP error -32001",
    re.MULTILINE,
)
STOPPED = lazy_regex(
    r"The user doesn't want to take this action right now|\[Request interrupted by user|Interrupted by user"
    r"|Command (?:was )?aborted before|.{0,20}The operation was aborted",
    re.DOTALL,
)
WRAPPING = ("tool_use_error", "error")
STILL_RUNNING = "the command went on in the background"
TREE_ENTRY = lazy_regex(r"  - (.+)")


def call_result(
    block: Mapping[str, Any],
    result: Any,
    *,
    tool: str,
    tool_input: Any,
    cwd: str,
    home: str | None = None,
    known: KnownFolders | None = None,
) -> CallResult:
    """The result of a call from its block and the `toolUseResult` object, if any."""
    output = strip_injected_text(output_text(block.get("content")) or text(result))
    for tag in WRAPPING:
        output = output.removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")
    failed = block.get("is_error") is True or text(mapping(block.get("content")).get("type")).endswith(
        "_error"
    )
    refused = refusal_reason(output) if failed else None
    interrupted = mapping(result).get("interrupted") is True
    outcome = "denied" if refused is not None else _outcome(output, failed, interrupted)
    ok = outcome == "ok"
    error = None if ok else output.strip().removeprefix("Error: ") or outcome
    if refused is not None:  # without the client's instructions to the model
        output, error = "", refused or REFUSED_BY_USER
    call = CallResult(
        output,
        outcome,
        error,
        tuple(_files(tool, tool_input, output, mapping(result), outcome, cwd, home, known)),
        tuple(_listings(tool, tool_input, output, mapping(result), cwd)) if ok else (),
        duration_ms=_duration(mapping(result)),
    )
    if known is not None and ok:
        known.add_call(call.files, call.seen)
    return call


def interrupted_result(
    why: str,
    *,
    tool: str,
    tool_input: Any,
    cwd: str,
    home: str | None = None,
    known: KnownFolders | None = None,
) -> CallResult:
    """The result of an interrupted call. Its command may already have changed files."""
    files = _files(tool, tool_input, "", {}, "interrupted", cwd, home, known)
    return CallResult("", "interrupted", why, files=tuple(files))


def is_result(block: Mapping[str, Any]) -> bool:
    """Whether a block is the result of a call. Tools of the vendor have other types."""
    return text(block.get("type")).endswith("tool_result")


def output_text(content: Any) -> str:
    """The text of a result, which is a text or a list of blocks."""
    if isinstance(content, dict):  # an error of the vendor's own tools
        return text(content.get("error_code"))
    if not isinstance(content, list):
        return text(content)
    parts = []
    for block in map(mapping, content):
        kind, words = text(block.get("type")), text(block.get("text"))
        if kind != "text":
            parts.append(f"[{kind[:40] or 'something'}]")
        elif not words.startswith("agentId: "):  # a note to the model about its subagent
            parts.append(words)
    return "\n".join(parts)


def _outcome(output: str, failed: bool, interrupted: bool) -> str:
    if not failed and not interrupted:
        return "ok"
    head = output[:HEAD].lstrip().removeprefix("Error: ")
    if TIMED_OUT.search(head):
        return "timeout"
    if not head.startswith("Exit code"):  # otherwise the text is the command's output
        if DENIED.match(head):
            return "denied"
        if STOPPED.match(head):
            return "interrupted"
    return "interrupted" if interrupted else "error"


def _files(
    tool: str,
    tool_input: Any,
    output: str,
    result: Mapping[str, Any],
    outcome: str,
    cwd: str,
    home: str | None,
    known: KnownFolders | None,
) -> list[dict[str, Any]]:
    if tool == SHELL:
        command = text(mapping(tool_input).get("command"))
        if not command or outcome == "denied":
            return []
        ok = outcome == "ok"
        files = shell_files(command, cwd=cwd, output=output[:PRINTED], ok=ok, home=home, known=known)
        if result.get("backgroundTaskId"):
            files = [file | {"inferred": True, "why": STILL_RUNNING} for file in files]
        return files
    if outcome != "ok":
        return []
    return touched_files(tool, tool_input, cwd=cwd, created=_created(output, result), home=home)


def _created(output: str, result: Mapping[str, Any]) -> bool | None:
    """Whether a written file is new, by the object or else by the text."""
    if (kind := text(result.get("type"))) in ("create", "update"):
        return kind == "create"
    if output.startswith("File created"):
        return True
    return False if " has been updated" in output[:HEAD] else None


def _listings(
    tool: str, tool_input: Any, output: str, result: Mapping[str, Any], cwd: str
) -> list[dict[str, Any]]:
    arguments = mapping(tool_input)
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
        if (duration := whole(result.get(name))) is not None:
            return duration
    seconds = result.get("durationSeconds")
    return whole(seconds * 1000) if isinstance(seconds, (int, float)) else None
