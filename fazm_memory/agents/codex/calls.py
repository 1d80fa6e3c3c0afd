"""Tool calls of Codex: their outcomes, their results and the files they touched.

The conversation (`response_item`) has the call and the text that the model got. The event log has an item
with the exit code, the changed files and the duration. The item is preferred; some tools, and all older
versions, have none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from fazm_memory.agents import fields, tool_calls
from fazm_memory.agents.fields import (
    bounded,
    digest,
    is_carried,
    mapping,
    record_of,
    sequence,
    text,
    whole,
)
from fazm_memory.agents.tool_calls import (
    INPUT,
    OUTPUT,
    CallResult,
    call_meanings,
    listed_by_command,
    patched_files,
    shell_files,
    summary,
    touch,
    touched_files,
)
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
AT_ONCE = frozenset({"web_search_call", "image_generation_call"})
TURN_STARTS = frozenset({"task_started", "turn_started"})
TURN_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted"})
TITLES = frozenset({"thread_name_updated", "session_name_updated"})

# Items with the result of a call, and the end events that older versions wrote instead.
ITEMS = frozenset(
    {"CommandExecution", "FileChange", "McpToolCall", "WebSearch", "ImageView", "CollabAgentToolCall"}
)
END_EVENTS = {
    "exec_command_end": "CommandExecution",
    "patch_apply_end": "FileChange",
    "mcp_tool_call_end": "McpToolCall",
    "web_search_end": "WebSearch",
}

# Not recorded: reasoning, settings, starts of calls, and copies of what another record contains.
RECORD_NOISE = frozenset(
    {
        "world_state", "inter_agent_communication", "inter_agent_communication_metadata",
        "security_risk_score", "realtime_item", "dynamic_tools_updated", "retained_context",
    }
)  # fmt: skip
RESPONSE_NOISE = frozenset(
    {
        "reasoning", "agent_message", "compaction", "compaction_summary", "compaction_trigger",
        "context_compaction", "ghost_snapshot", "additional_tools", "configuration_update", "other",
    }
)  # fmt: skip
EVENT_NOISE = frozenset(
    {
        "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content",
        "agent_reasoning_section_break", "context_compacted", "thread_settings_applied",
        "thread_goal_updated", "thread_rolled_back", "undo_completed", "entered_review_mode",
        "exited_review_mode", "sub_agent_activity", "error", "warning", "stream_error", "plan_update",
        "view_image_tool_call", "image_generation_end", "item_started", "hook_started", "hook_completed",
        "turn_diff", "session_configured", "background_event", "guardian_assessment", "guardian_warning",
        "exec_command_begin", "mcp_tool_call_begin", "patch_apply_begin", "web_search_begin",
        "collab_agent_spawn_end", "collab_agent_interaction_end", "collab_waiting_end", "collab_close_end",
        "collab_resume_end", "dynamic_tool_call_request", "dynamic_tool_call_response",
        "shutdown_complete", "deprecation_notice", "model_reroute",
    }
)  # fmt: skip
ITEM_NOISE = frozenset(
    {
        "UserMessage", "AgentMessage", "Reasoning", "Plan", "ContextCompaction", "EnteredReviewMode",
        "ExitedReviewMode", "Sleep", "ImageGeneration", "SubAgentActivity", "HookPrompt", "Error",
    }
)  # fmt: skip

# The longest of these lines are recognized by their beginning and never parsed.
_NOISE_LINE = lazy_regex(
    rb'\{"timestamp":"[^"]{1,40}",(?:"ordinal":\d{1,15},)?"type":"(?:world_state"'
    rb'|response_item","payload":\{"type":"reasoning"'
    rb'|event_msg","payload":\{"type":"(?:thread_settings_applied|agent_reasoning|user_message|agent_message)")'
)


def is_noise(line: bytes) -> bool:
    """Whether the beginning of a line shows that it is not recorded."""
    return is_carried(line) or _NOISE_LINE.match(line) is not None


NAME = "codex"


def action_key(session: str, call_id: str) -> str:
    """The key of a call, from a hook's `session_id` and `tool_use_id`."""
    return f"{NAME}:{session}:{call_id}"


def start_key(session: str, call_id: str) -> str:
    return f"{action_key(session, call_id)}:start"


def prompt_key(session: str, turn: str, prompt: str) -> str:
    """The key of a prompt.

    A turn may have several prompts, so the text is part of it, at the end.
    """
    return f"{NAME}:{session}:{turn}:prompt:{digest(prompt.strip())}"


def open_key(session: str) -> str:
    return f"{NAME}:{session}:open"


def title_key(session: str, title: str) -> str:
    return f"{NAME}:{session}:title:{digest(title)}"


def record_key(thread: str, name: str) -> str:
    """The key of an event that only rollouts report, from the ordinal of its record."""
    return f"{NAME}:{thread}:{name}"


SHELLS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
WRITE_STDIN = "write_stdin"
STOPPED = -1  # the exit code of a process that Codex killed
# Some tools have no item and report a failure only as text.
COMPLAINT = lazy_regex(
    r"(unsupported call|unable to|failed to|error[: ]|invalid|missing|unknown|no such|cannot|could not"
    r"|[\w ]{1,60} failed)",
    re.IGNORECASE,
)
EXIT = lazy_regex(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
RUNNING = lazy_regex(r"^Process running with session ID ", re.MULTILINE)
WALL = lazy_regex(r"^Wall time: (\d{1,9}(?:\.\d+)?) seconds?", re.MULTILINE)
HEAD = 400  # the lines above `Output:` are within this
DENIED = lazy_regex(
    r"rejected by (the )?user|denied by|not approved|blocked by|user rejected|declined"
    r'|CreateProcess \{ message: "Rejected\(',  # a rule of the user's forbids the command
    re.IGNORECASE,
)
TIMED_OUT = lazy_regex(r"(command )?timed out after", re.IGNORECASE)
ABORTED = lazy_regex(r"aborted by (the )?user|^aborted", re.IGNORECASE)
LONGEST_COMPLAINT = 1000

ITEM_FIELDS = (
    "type", "id", "source", "status", "command", "cwd", "exit_code", "duration", "aggregated_output",
    "changes", "server", "tool", "arguments", "result", "error", "query", "path", "prompt",
)  # fmt: skip


def call_of(payload: Mapping[str, Any]) -> tuple[str, Any]:
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
    """The text of an output: plain text, a list of parts, or an object with either."""
    if isinstance(output, dict):
        output = output.get("content") or output.get("output")
    if isinstance(output, list):
        return "\n".join(text(mapping(part).get("text")) for part in output)
    return text(output)


def item_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """The item of an `item_completed` or of an older end event, limited in size."""
    if event.get("type") == "item_completed":
        item = mapping(event.get("item"))
        began, ended = whole(event.get("started_at_ms")), whole(event.get("completed_at_ms"))
        took = ended - began if began is not None and ended is not None else None
    else:
        item = {**event, "type": END_EVENTS[text(event.get("type"))], "id": event.get("call_id")}
        item |= mapping(event.get("invocation"))
        if "success" in event:
            item["status"] = "completed" if event["success"] else "failed"
        took = None
    selected = {name: item[name] for name in ITEM_FIELDS if name in item}
    if "changes" in selected:
        selected["changes"] = {
            path: {name: mapping(how).get(name) for name in ("type", "move_path")}
            for path, how in mapping(selected["changes"]).items()
        }
    return mapping(fields.bounded(selected | {"took_ms": took}, INPUT))


def called_by_item(item: Mapping[str, Any]) -> tuple[str, Any]:
    """The tool and the input of an item without a call.

    Code mode and the user's `!` make such items.
    """
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


def call_result(
    tool: str,
    tool_input: Any,
    shown: str,
    item: Mapping[str, Any] | None,
    *,
    cwd: str,
    home: str | None,
    known: KnownFolders | None = None,
) -> CallResult:
    """The result of a call, from the text the model got and the item, if any."""
    result = _ended(tool, tool_input, shown, item or {}, cwd, home, known)
    if known is not None and result.outcome == "ok":
        known.add_call(result.files, result.seen)
    return result


def _ended(
    tool: str,
    tool_input: Any,
    shown: str,
    item: Mapping[str, Any],
    cwd: str,
    home: str | None,
    known: KnownFolders | None,
) -> CallResult:
    if tool in SHELLS or tool == WRITE_STDIN or item.get("type") == "CommandExecution":
        return _shell(tool, tool_input, shown, item, cwd, home, known)
    if tool == "apply_patch" or item.get("type") == "FileChange":
        return _patch(tool_input, shown, item, cwd)
    output = _body(shown) or _item_output(item)
    outcome = _outcome(shown, item)
    if outcome == "ok" and not item and len(shown) < LONGEST_COMPLAINT and COMPLAINT.match(shown):
        outcome = "error"
    files = touched_files(tool, tool_input, cwd=cwd, home=home) if outcome == "ok" else []
    return CallResult(output, outcome, summary(output), tuple(files), duration_ms=_duration(shown, item))


def interrupted_result(
    tool: str, tool_input: Any, why: str, *, cwd: str, home: str | None, known: KnownFolders | None = None
) -> CallResult:
    """The result of an interrupted call. Its command may already have changed files."""
    files = []
    if tool in SHELLS and (command := _command(mapping(tool_input))):
        folder = _workdir(mapping(tool_input)) or cwd
        files = shell_files(command, cwd=folder, ok=False, home=home, known=known)
    return CallResult("", "interrupted", why, files=tuple(files))


def _shell(
    tool: str,
    tool_input: Any,
    shown: str,
    item: Mapping[str, Any],
    cwd: str,
    home: str | None,
    known: KnownFolders | None,
) -> CallResult:
    arguments = mapping(tool_input)
    # The files of a process belong to the call that started it.
    command = _command(arguments) or _command_line(item.get("command")) if tool != WRITE_STDIN else ""
    folder = _workdir(arguments) or _folder(item.get("cwd")) or cwd
    older = mapping(mapping(record_of(shown)).get("metadata")) if shown.startswith("{") else {}
    output = text(item.get("aggregated_output")) or _body(shown)
    code = whole(item.get("exit_code"))
    if code is None:
        code = whole(older.get("exit_code"))
    if code is None and (found := EXIT.search(shown[:HEAD])):
        code = whole(int(found.group(1)[:9]))
    if code is None and not item and RUNNING.search(shown[:HEAD]):
        return CallResult(output, duration_ms=_duration(shown, item), running=True)
    outcome = _outcome(shown, item)
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
    return CallResult(
        output,
        outcome,
        error,
        tuple(files),
        tuple(listed_by_command(command, output, folder, home)) if ok and len(output) < OUTPUT else (),
        duration_ms=_duration(shown, item),
    )


def _patch(tool_input: Any, shown: str, item: Mapping[str, Any], cwd: str) -> CallResult:
    output = _body(shown) or _item_output(item)
    outcome = _outcome(shown, item)
    if outcome == "ok" and not item:
        found = EXIT.search(shown[:HEAD])
        outcome = "ok" if (found and found.group(1) == "0") or shown.startswith("Success") else "error"
    files: list[dict[str, Any]] = []
    if outcome == "ok":
        changes = mapping(item.get("changes"))
        patch = tool_input if isinstance(tool_input, str) else text(mapping(tool_input).get("input"))
        files = [_changed(path, mapping(how)) for path, how in changes.items()] or patched_files(patch, cwd)
    return CallResult(output, outcome, summary(output), tuple(files), duration_ms=_duration(shown, item))


def _changed(path: str, how: Mapping[str, Any]) -> dict[str, Any]:
    if moved := text(how.get("move_path")):
        return touch(moved, "renamed", path)
    return touch(path, {"add": "created", "delete": "deleted"}.get(text(how.get("type")), "modified"))


def _outcome(shown: str, item: Mapping[str, Any]) -> str:
    status = item.get("status")
    head = shown[:HEAD]
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


def _body(shown: str) -> str:
    """The output without the lines that Codex adds above it."""
    above, found, below = shown[:HEAD].partition("\nOutput:\n")
    if found and (EXIT.search(above) or WALL.search(above) or RUNNING.search(above)):
        return below + shown[HEAD:]
    if shown.startswith("{") and (older := record_of(shown)) is not None and "metadata" in older:
        return text(older.get("output"))
    return WALL.sub("", shown, count=1).lstrip("\n") if shown.startswith("Wall time") else shown


def _item_output(item: Mapping[str, Any]) -> str:
    result = mapping(item.get("result"))
    result = mapping(result.get("Ok")) or result
    return output_text(result.get("content")) or text(item.get("error")) or text(item.get("query"))


def _duration(shown: str, item: Mapping[str, Any]) -> int | None:
    took = whole(item.get("took_ms"))
    if took is not None:
        return took
    spent = mapping(item.get("duration"))
    if spent:
        return (whole(spent.get("secs")) or 0) * 1000 + (whole(spent.get("nanos")) or 0) // 1_000_000
    found = WALL.search(shown[:HEAD])
    return round(float(found.group(1)) * 1000) if found else None


def _command(arguments: Mapping[str, Any]) -> str:
    return _command_line(arguments.get("cmd", arguments.get("command")))


def _workdir(arguments: Mapping[str, Any]) -> str:
    return text(arguments.get("workdir")) or text(arguments.get("working_directory"))


def _command_line(command: Any) -> str:
    """The command as typed: `bash -lc X` is X."""
    if isinstance(command, str):
        return command
    words = [word for word in sequence(command) if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-lc", "-c", "-Command"):
        return words[2]
    return shlex.join(words)


def _folder(place: Any) -> str:
    return unquote(text(place).removeprefix("file://"))


MOST_OPEN = 200
TOOL_NAME = 200


@dataclass(frozen=True)
class CallContext:
    """The session, agent, folder and time of a record."""

    session: str
    agent_id: str | None
    cwd: str
    home: str | None
    at: int | None


@dataclass(frozen=True)
class PartialDraft:
    """A draft without the fields that all drafts of a thread share."""

    kind: str
    payload: Mapping[str, Any]
    key: str
    at: int | None
    actor: str | None = None


class OpenCalls:
    """The open and the recently ended calls.

    Both tables are limited and stored in the cursor.
    """

    def __init__(self, carry: Mapping[str, Any]) -> None:
        self.open: dict[str, dict[str, Any]] = {
            name: dict(call) for name, call in mapping(carry.get("open")).items()
        }
        self.done: dict[str, bool] = dict(mapping(carry.get("done")))  # True while the process runs
        self.known = KnownFolders(mapping(carry.get("known")))

    def carry(self) -> dict[str, Any]:
        values = {"open": self.open, "done": self.done, "known": self.known.carry()}
        return {name: value for name, value in values.items() if value}

    def begin(self, context: CallContext, call_id: str, tool: str, tool_input: Any) -> Iterator[PartialDraft]:
        if len(self.open) >= MOST_OPEN:
            oldest = next(iter(self.open))
            yield from self._started(context, oldest)
            del self.open[oldest]
        call = {"tool": tool[:TOOL_NAME], "input": bounded(tool_input, tool_calls.INPUT)}
        self.open[call_id] = call | {"at": context.at, "cwd": context.cwd}

    def started(self, context: CallContext) -> Iterator[PartialDraft]:
        """Report each call without a result as started, once."""
        for call_id in self.open:
            yield from self._started(context, call_id)

    def _started(self, context: CallContext, call_id: str) -> Iterator[PartialDraft]:
        call = self.open[call_id]
        if not call.get("started"):
            call["started"] = True
            payload = tool_calls.start(call["tool"], call["input"], call_id, context.agent_id)
            yield PartialDraft("action.start", payload, start_key(context.session, call_id), call["at"])

    def result(self, context: CallContext, call_id: str, shown: str) -> Iterator[PartialDraft]:
        """End a call with the text that the model got."""
        call = self.open.pop(call_id, None)
        if call is None:
            if call_id in self.done:
                return
            # The record of its start may be damaged.
            call = {"tool": "unknown", "input": None}
        tool, tool_input, cwd = call["tool"], call["input"], text(call.get("cwd")) or context.cwd
        result = call_result(
            tool, tool_input, shown, call.get("item"), cwd=cwd, home=context.home, known=self.known
        )
        yield from self._act(context, call_id, tool, tool_input, result)

    def completed(self, context: CallContext, call_id: str, item: dict[str, Any]) -> Iterator[PartialDraft]:
        """Take the item of a call from the event log."""
        if call_id in self.open:
            self.open[call_id]["item"] = item
            return
        runs = self.done.get(call_id)
        if runs is False:
            return
        tool, tool_input = called_by_item(item)
        result = call_result(tool, tool_input, "", item, cwd=context.cwd, home=context.home, known=self.known)
        if runs is None:
            actor = "person" if item.get("source") == "user_shell" else None
            yield from self._act(context, call_id, tool, tool_input, result, actor)
            return
        self.done[call_id] = False
        news = {
            "call_id": call_id,
            "outcome": result.outcome,
            "error": result.error if result.outcome != "ok" else None,
            "duration_ms": result.duration_ms,
            "output_summary": tool_calls.summary(result.output),
            "files": list(result.files) or None,
        }
        known = {name: value for name, value in news.items() if value is not None}
        yield PartialDraft("action.amend", known, f"{action_key(context.session, call_id)}:end", context.at)

    def at_once(
        self, context: CallContext, call_id: str, tool: str, payload: Mapping[str, Any]
    ) -> Iterator[PartialDraft]:
        """A call run by the model's host: one record has the call and the result."""
        if call_id not in self.done:
            tool_input = {
                name: payload[name] for name in ("action", "query", "revised_prompt") if name in payload
            }
            result = CallResult("", "error" if payload.get("status") == "failed" else "ok")
            yield from self._act(context, call_id, tool, tool_input, result)

    def interrupt(self, context: CallContext, why: str) -> Iterator[PartialDraft]:
        calls, self.open = self.open, {}
        for call_id, call in calls.items():
            tool, tool_input, cwd = call["tool"], call["input"], text(call.get("cwd")) or context.cwd
            result = interrupted_result(tool, tool_input, why, cwd=cwd, home=context.home, known=self.known)
            yield from self._act(context, call_id, tool, tool_input, result)

    def _act(
        self,
        context: CallContext,
        call_id: str,
        tool: str,
        tool_input: Any,
        result: CallResult,
        actor: str | None = None,
    ) -> Iterator[PartialDraft]:
        payload = tool_calls.ended_action(tool[:TOOL_NAME], tool_input, result, call_id, context.agent_id)
        key = action_key(context.session, call_id)
        yield PartialDraft("action", payload, key, context.at, actor)
        for number, listing in enumerate(result.seen):
            yield PartialDraft("seen", listing, f"{key}:seen:{number}", context.at)
        for meaning in call_meanings(call_id, tool, tool_input, result.output, result.outcome, {}):
            if context.agent_id is None or meaning.kind == "decision":
                payload, name = meaning.payload, f"{key}:{meaning.suffix}"
                yield PartialDraft(meaning.kind, payload, name, context.at, meaning.actor)
        self.done[call_id] = result.running
        if len(self.done) > MOST_OPEN:
            del self.done[next(iter(self.done))]
