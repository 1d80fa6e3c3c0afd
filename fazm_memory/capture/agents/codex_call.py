"""One tool call of Codex, from what its two logs say of it: how it ended, what it gave, what it touched.

The conversation (`response_item`) has the call and the text the model was given; the event log has an item
with the exit code, the changed files and the duration. The item is believed first, the text where there is
no item: some tools, and all older versions, have none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from fazm_memory.capture.agents import fields
from fazm_memory.capture.agents.codex_kinds import END_EVENTS
from fazm_memory.capture.agents.fields import mapping, record_of, sequence, text, whole
from fazm_memory.capture.agents.file_tools import touched
from fazm_memory.capture.agents.folder_listing import listed_by_command
from fazm_memory.capture.agents.patch import patched_files
from fazm_memory.capture.agents.tool_call import INPUT, OUTPUT, shell_files, summary, touch
from fazm_memory.capture.shell import Known

SHELLS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
WRITE_STDIN = "write_stdin"
STOPPED = -1  # the exit code of a process that Codex killed, as when the session ends
# Tools that answer in prose when they fail and have no item to say so.
COMPLAINT = re.compile(
    r"(unsupported call|unable to|failed to|error[: ]|invalid|missing|unknown|no such|cannot|could not"
    r"|[\w ]{1,60} failed)",
    re.IGNORECASE,
)
EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
RUNNING = re.compile(r"^Process running with session ID ", re.MULTILINE)
WALL = re.compile(r"^Wall time: (\d{1,9}(?:\.\d+)?) seconds?", re.MULTILINE)
HEAD = 400  # the lines above `Output:` are within this
DENIED = re.compile(
    r"rejected by (the )?user|denied by|not approved|blocked by|user rejected|declined"
    r'|CreateProcess \{ message: "Rejected\(',  # a rule of the user's forbids the command
    re.IGNORECASE,
)
TIMED_OUT = re.compile(r"(command )?timed out after", re.IGNORECASE)
ABORTED = re.compile(r"aborted by (the )?user|^aborted", re.IGNORECASE)
LONGEST_COMPLAINT = 1000

KEPT = (
    "type", "id", "source", "status", "command", "cwd", "exit_code", "duration", "aggregated_output",
    "changes", "server", "tool", "arguments", "result", "error", "query", "path", "prompt",
)  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """How a call ended; `running` when the tool gave way before its process did."""

    output: str
    outcome: str = "ok"
    error: str | None = None
    duration_ms: int | None = None
    files: tuple[dict[str, Any], ...] = ()
    seen: tuple[dict[str, Any], ...] = ()
    running: bool = False


def begun(payload: Mapping[str, Any]) -> tuple[str, Any]:
    """The tool and the input of a call in the conversation."""
    kind, name = payload.get("type"), text(payload.get("name"))
    if kind == "local_shell_call":
        return "local_shell", mapping(payload.get("action"))
    if kind == "tool_search_call":
        return "tool_search", payload.get("arguments")
    namespace = text(payload.get("namespace"))
    tool = f"{namespace}__{name}" if namespace.startswith("mcp__") else name
    if kind == "custom_tool_call":
        return tool, payload.get("input")
    arguments = text(payload.get("arguments"))
    parsed = record_of(arguments)
    return tool, parsed if parsed is not None else arguments


def output_text(output: Any) -> str:
    """What the model was given: plain text, a list of parts, or an object that holds either."""
    if isinstance(output, dict):
        output = output.get("content") or output.get("output")
    if isinstance(output, list):
        return "\n".join(text(mapping(part).get("text")) for part in output)
    return text(output)


def item_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """The item of an `item_completed`, or one made of an older end event, within bounds."""
    if event.get("type") == "item_completed":
        item = mapping(event.get("item"))
        began, over = whole(event.get("started_at_ms")), whole(event.get("completed_at_ms"))
        took = over - began if began is not None and over is not None else None
    else:
        item = {**event, "type": END_EVENTS[text(event.get("type"))], "id": event.get("call_id")}
        item |= mapping(event.get("invocation"))
        if "success" in event:
            item["status"] = "completed" if event["success"] else "failed"
        took = None
    kept = {name: item[name] for name in KEPT if name in item}
    if "changes" in kept:
        kept["changes"] = {
            path: {name: mapping(how).get(name) for name in ("type", "move_path")}
            for path, how in mapping(kept["changes"]).items()
        }
    return mapping(fields.bounded(kept | {"took_ms": took}, INPUT))


def called_by_item(item: Mapping[str, Any]) -> tuple[str, Any]:
    """The tool and the input of an item that has no call in the conversation: code mode, the user's `!`."""
    kind = item.get("type")
    if kind == "CommandExecution":
        return "exec_command", {
            "cmd": _command_line(item.get("command")),
            "workdir": _folder(item.get("cwd")),
        }
    if kind == "FileChange":
        return "apply_patch", {"changes": item.get("changes")}
    if kind == "McpToolCall":
        return f"mcp__{text(item.get('server'))}__{text(item.get('tool'))}", item.get("arguments")
    if kind == "WebSearch":
        return "web_search", {"query": item.get("query")}
    if kind == "ImageView":
        return "view_image", {"path": item.get("path")}
    return text(item.get("tool")) or text(kind), item.get("arguments") or item.get("prompt")


def ended(
    tool: str,
    given: Any,
    told: str,
    item: Mapping[str, Any] | None,
    *,
    cwd: str,
    home: str | None,
    known: Known | None = None,
) -> Ended:
    """How a call ended, from the text the model got and the item, when there is one."""
    over = _ended(tool, given, told, item or {}, cwd, home, known)
    if known is not None and over.outcome == "ok":
        known.take(over.files, over.seen)
    return over


def _ended(
    tool: str,
    given: Any,
    told: str,
    item: Mapping[str, Any],
    cwd: str,
    home: str | None,
    known: Known | None,
) -> Ended:
    if tool in SHELLS or tool == WRITE_STDIN or item.get("type") == "CommandExecution":
        return _shell(tool, given, told, item, cwd, home, known)
    if tool == "apply_patch" or item.get("type") == "FileChange":
        return _patch(given, told, item, cwd)
    output = _body(told) or _item_output(item)
    outcome = _outcome(told, item)
    if outcome == "ok" and not item and len(told) < LONGEST_COMPLAINT and COMPLAINT.match(told):
        outcome = "error"
    files = touched(tool, given, cwd=cwd, home=home) if outcome == "ok" else []
    return Ended(output, outcome, summary(output), _duration(told, item), tuple(files))


def stopped(
    tool: str, given: Any, why: str, *, cwd: str, home: str | None, known: Known | None = None
) -> Ended:
    """A call that was cut off. What a command had done by then it has done."""
    files = []
    if tool in SHELLS and (command := _command(mapping(given))):
        folder = _workdir(mapping(given)) or cwd
        files = shell_files(command, cwd=folder, ok=False, home=home, known=known)
    return Ended("", "interrupted", why, files=tuple(files))


def _shell(
    tool: str,
    given: Any,
    told: str,
    item: Mapping[str, Any],
    cwd: str,
    home: str | None,
    known: Known | None,
) -> Ended:
    arguments = mapping(given)
    # What a process does to files is told by the call that began it, not by those that write to it.
    command = _command(arguments) or _command_line(item.get("command")) if tool != WRITE_STDIN else ""
    folder = _workdir(arguments) or _folder(item.get("cwd")) or cwd
    older = mapping(mapping(record_of(told)).get("metadata")) if told.startswith("{") else {}
    output = text(item.get("aggregated_output")) or _body(told)
    code = whole(item.get("exit_code"))
    if code is None:
        code = whole(older.get("exit_code"))
    if code is None and (found := EXIT.search(told[:HEAD])):
        code = whole(int(found.group(1)[:9]))
    if code is None and not item and RUNNING.search(told[:HEAD]):
        return Ended(output, duration_ms=_duration(told, item), running=True)
    outcome = _outcome(told, item)
    if outcome in ("ok", "error") and code != 0:
        stopped = "interrupted" if code == STOPPED else "error"
        outcome = "timeout" if TIMED_OUT.match(output) else stopped
    first = summary(output)
    error = f"exit code {code}{': ' + first if first else ''}" if code is not None else first
    if code == STOPPED:
        error = "stopped before it ended"
    ok = outcome == "ok"
    files = []
    if command and outcome != "denied":
        files = shell_files(command, cwd=folder, output=output, ok=ok, home=home, known=known)
    return Ended(
        output,
        outcome,
        error,
        _duration(told, item),
        tuple(files),
        tuple(listed_by_command(command, output, folder, home)) if ok and len(output) < OUTPUT else (),
    )


def _patch(given: Any, told: str, item: Mapping[str, Any], cwd: str) -> Ended:
    output = _body(told) or _item_output(item)
    outcome = _outcome(told, item)
    if outcome == "ok" and not item:
        found = EXIT.search(told[:HEAD])
        outcome = "ok" if (found and found.group(1) == "0") or told.startswith("Success") else "error"
    files: list[dict[str, Any]] = []
    if outcome == "ok":
        changes = mapping(item.get("changes"))
        patch = given if isinstance(given, str) else text(mapping(given).get("input"))
        files = [_changed(path, mapping(how)) for path, how in changes.items()] or patched_files(patch, cwd)
    return Ended(output, outcome, summary(output), _duration(told, item), tuple(files))


def _changed(path: str, how: Mapping[str, Any]) -> dict[str, Any]:
    if moved := text(how.get("move_path")):
        return touch(moved, "renamed", path)
    return touch(path, {"add": "created", "delete": "deleted"}.get(text(how.get("type")), "modified"))


def _outcome(told: str, item: Mapping[str, Any]) -> str:
    status = item.get("status")
    head = told[:HEAD]
    denied = status != "completed" and DENIED.search(head[:160]) and not EXIT.search(head)
    if status == "declined" or denied:
        return "denied"
    if ABORTED.search(_body(head)[:60]):
        return "interrupted"
    if TIMED_OUT.match(_body(head)):
        return "timeout"
    result = mapping(item.get("result"))
    if status == "failed" or result.get("isError") is True or "Err" in result or item.get("error"):
        return "error"
    return "ok"


def _body(told: str) -> str:
    """The output itself, without the lines that Codex puts above it."""
    above, found, below = told[:HEAD].partition("\nOutput:\n")
    if found and (EXIT.search(above) or WALL.search(above) or RUNNING.search(above)):
        return below + told[HEAD:]
    if told.startswith("{") and (older := record_of(told)) is not None and "metadata" in older:
        return text(older.get("output"))
    return WALL.sub("", told, count=1).lstrip("\n") if told.startswith("Wall time") else told


def _item_output(item: Mapping[str, Any]) -> str:
    result = mapping(item.get("result"))
    result = mapping(result.get("Ok")) or result
    return output_text(result.get("content")) or text(item.get("error")) or text(item.get("query"))


def _duration(told: str, item: Mapping[str, Any]) -> int | None:
    took = whole(item.get("took_ms"))
    if took is not None:
        return took
    spent = mapping(item.get("duration"))
    if spent:
        return (whole(spent.get("secs")) or 0) * 1000 + (whole(spent.get("nanos")) or 0) // 1_000_000
    found = WALL.search(told[:HEAD])
    return round(float(found.group(1)) * 1000) if found else None


def _command(arguments: Mapping[str, Any]) -> str:
    return _command_line(arguments.get("cmd", arguments.get("command")))


def _workdir(arguments: Mapping[str, Any]) -> str:
    return text(arguments.get("workdir")) or text(arguments.get("working_directory"))


def _command_line(command: Any) -> str:
    """The command as a person would type it: `bash -lc X` is X."""
    if isinstance(command, str):
        return command
    words = [word for word in sequence(command) if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-lc", "-c", "-Command"):
        return words[2]
    return shlex.join(words)


def _folder(place: Any) -> str:
    return unquote(text(place).removeprefix("file://"))
