"""Calls of Claude Code: outcome, error, duration and files, and what they mean.

Some calls are answers, refusals and verdicts of the user, plans, or lists of steps. Transcript and hooks
report the same call, so both use this and give the same events with the same keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fazm_memory.agents.fields import (
    MAX_TEXT,
    capped,
    ident,
    mapping,
    sequence,
    strip_injected_text,
    text,
    whole,
)
from fazm_memory.agents.tool_calls import (
    OUTPUT,
    STATUSES,
    CallResult,
    Meaning,
    answer,
    listed_by_command,
    listed_names,
    listed_paths,
    refusal,
    shell_files,
    steps,
    touched_files,
    verdict,
)
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.lazy import lazy_regex
from fazm_memory.text import plan_title

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
    files = touched_files(tool, tool_input, cwd=cwd, created=_created(output, result), home=home)
    line = _first_changed_line(result)
    return [file | {"line": line} for file in files] if line is not None and len(files) == 1 else files


def _first_changed_line(result: Mapping[str, Any]) -> int | None:
    """The first line that an edit changed, from the patch beside the result."""
    hunk = next(map(mapping, sequence(result.get("structuredPatch"))), {})
    line = whole(hunk.get("oldStart"))
    for text_line in sequence(hunk.get("lines")):
        if line is not None and text(text_line)[:1] in ("+", "-"):
            return max(1, line)
        line = None if line is None else line + 1
    return None


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


# What calls mean

ASK, PRESENT_PLAN, WRITE_STEPS = "AskUserQuestion", "ExitPlanMode", "TodoWrite"

# The client's words around a refusal. Only what follows "the user said:" is the user's.
REFUSED = lazy_regex(
    r"\s*(?:Error: )?The user doesn't want to proceed with this tool use\.(?:[^\n]*?"
    r"To tell you how to proceed, the user said:\s*(?P<reason>.*)|.*)",
    re.DOTALL,
)
CLIENT_NOTE = lazy_regex(r"\n\s*\nNote: The user's next message may contain.*", re.DOTALL)
REFUSED_BY_USER = "refused by the user"
ANSWERED = lazy_regex(r'"((?:[^"\\]|\\.)+?)"="((?:[^"\\]|\\.)*)"')


def refusal_reason(output: str) -> str | None:
    """The reason of a refusal in the user's words.

    "" is a refusal without a reason; None is no refusal.
    """
    found = REFUSED.fullmatch(output)
    if found is None:
        return None
    return CLIENT_NOTE.sub("", found["reason"] or "").strip()


def presented_plan(call_id: str, tool: str, tool_input: Any) -> Iterator[Meaning]:
    """The plan that a call presents to the user."""
    plan = text(mapping(tool_input).get("plan")).strip()
    if tool == PRESENT_PLAN and plan:
        payload = {"title": plan_title(plan), "text": capped(plan, MAX_TEXT), "call_id": call_id}
        yield Meaning("plan", payload | {"status": "presented"}, "plan")


def meanings(
    call_id: str, tool: str, tool_input: Any, output: str, outcome: str, result: Mapping[str, Any]
) -> Iterator[Meaning]:
    """The events that an ended call stands for.

    `result` is the client's own object, if it has one.
    """
    if outcome in ("ok", "denied"):
        yield from presented_plan(call_id, tool, tool_input)
    reason = refusal_reason(output) if outcome == "denied" else None
    if reason:
        yield from _refused(call_id, tool, tool_input, reason)
    elif outcome != "ok":
        return
    elif tool == PRESENT_PLAN:
        yield from _approved(call_id, tool_input, result)
    elif tool == ASK:
        yield from _answers(call_id, tool_input, output, result)
    elif tool == WRITE_STEPS:
        items = (mapping(item) for item in sequence(mapping(tool_input).get("todos")))
        yield steps({**item, "text": item.get("content")} for item in items)


def _refused(call_id: str, tool: str, tool_input: Any, reason: str) -> Iterator[Meaning]:
    plan = text(mapping(tool_input).get("plan")).strip()
    if tool == PRESENT_PLAN and plan:
        yield from verdict(call_id, plan_title(plan), "rejected", reason)
        return
    yield refusal(call_id, tool, tool_input, reason)


def _approved(call_id: str, tool_input: Any, result: Mapping[str, Any]) -> Iterator[Meaning]:
    """An accepted plan. The user may have edited it before."""
    plan = text(mapping(tool_input).get("plan")).strip()
    final = text(result.get("plan")).strip() or plan
    if not final or result.get("isAgent") is True:
        return
    yield from verdict(call_id, plan_title(final), "accepted", "accepted", final if final != plan else "")


def _answers(call_id: str, tool_input: Any, output: str, result: Mapping[str, Any]) -> Iterator[Meaning]:
    """The answers to the questions of a call, one decision for each question."""
    asked = {text(question.get("question")): question for question in _questions(tool_input)}
    answers = mapping(result.get("answers")) or dict(ANSWERED.findall(output))
    notes = mapping(result.get("annotations"))
    for number, (question, given) in enumerate(answers.items()):
        chosen = ", ".join(map(str, given)) if isinstance(given, list) else text(given)
        note = text(mapping(notes.get(question)).get("notes")).strip()
        what = "\n".join(part for part in (chosen.strip(), note if note != chosen else "") if part)
        yield from answer(call_id, number, asked.get(question, {"question": question}), what)


def _questions(tool_input: Any) -> list[Mapping[str, Any]]:
    return [mapping(question) for question in sequence(mapping(tool_input).get("questions"))]


CREATE, UPDATE, LIST = "TaskCreate", "TaskUpdate", "TaskList"
CREATED = lazy_regex(r"Task #(\S{1,40}) created successfully: (.*)", re.DOTALL)


class TaskList:
    """The list of a session whose client reports it task by task."""

    def __init__(self, carry: Mapping[str, Any]) -> None:
        self.tasks: dict[str, dict[str, Any]] = {name: dict(task) for name, task in carry.items()}

    def ended(self, tool: str, tool_input: Any, output: str, result: Mapping[str, Any]) -> Iterator[Meaning]:
        """Take a successful call. Yields the whole list if it has changed."""
        before = {name: dict(task) for name, task in self.tasks.items()}
        arguments = mapping(tool_input)
        if tool == CREATE:
            self._create(arguments, output, mapping(result.get("task")))
        elif tool == UPDATE and result.get("success") is not False:
            self._update(arguments)
        elif tool == LIST:
            for task in map(mapping, sequence(result.get("tasks"))):
                self._put(ident(task.get("id")), text(task.get("subject")), text(task.get("status")))
        if self.tasks != before:
            yield steps({"id": name, **task} for name, task in self.tasks.items())

    def _create(self, arguments: Mapping[str, Any], output: str, task: Mapping[str, Any]) -> None:
        found = CREATED.match(output)
        name = ident(task.get("id")) or (found[1] if found else "")
        self._put(name, text(arguments.get("subject")) or (found[2].strip() if found else ""), "pending")

    def _update(self, arguments: Mapping[str, Any]) -> None:
        name, status = ident(arguments.get("taskId")), text(arguments.get("status"))
        if status == "deleted":
            self.tasks.pop(name, None)
        elif name in self.tasks:
            self._put(name, text(arguments.get("subject")), status)

    def _put(self, name: str, subject: str, status: str) -> None:
        known = self.tasks.get(name, {"text": "", "status": "pending"})
        if name and (subject or known["text"]):
            self.tasks[name] = {
                "text": subject or known["text"],
                "status": status if status in STATUSES else known["status"],
            }
