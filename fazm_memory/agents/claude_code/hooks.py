"""Claude Code's hook events as drafts.

They have the same keys and outcomes as those of its transcripts.

A call is reported before it runs and when it has ended. A refused call has no event of its own; it is
reported with its batch. Messages and titles are left to the transcript. A compaction is reported here only
when there is no transcript.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fazm_memory.agents import tool_calls
from fazm_memory.agents.claude_code.calls import (
    DENIED,
    HEAD,
    TaskList,
    call_result,
    meanings,
    output_text,
    presented_plan,
)
from fazm_memory.agents.claude_code.transcript import NAME, action_key, prompt_key, start_key
from fazm_memory.agents.claude_code.user_records import user_words
from fazm_memory.agents.fields import MAX_TEXT, capped, digest, ident, mapping, sequence, text, whole
from fazm_memory.agents.tool_calls import Meaning
from fazm_memory.engines.shell_effects import KnownFolders

NOT_ACCEPTED = "<tool_use_error>"

HookRecord = tuple[str, dict[str, Any], str]  # kind, payload, key


def claude_hook_events(
    event: Mapping[str, Any], *, home: str | None, transcript: bool, known: KnownFolders | None = None
) -> Iterator[HookRecord]:
    """The records of an event. `transcript` is whether the session has one."""
    name = event.get("hook_event_name")
    if name == "UserPromptSubmit":
        yield from _prompt(event)
    elif name == "PreToolUse" and (call_id := ident(event.get("tool_use_id"))):
        tool, tool_input = _tool(event), event.get("tool_input")
        payload = tool_calls.start(tool, tool_input, call_id, _agent_id(event))
        yield "action.start", payload, start_key(call_id)
        yield from _meant(event, call_id, presented_plan(call_id, tool, tool_input))
    elif name == "PostToolUse":
        response = event.get("tool_response")
        yield from _action(event, event, {"content": _response_text(response)}, response, home, known)
    elif name == "PostToolUseFailure":
        block = {"content": text(event.get("error")), "is_error": True}
        result = {"interrupted": event.get("is_interrupt") is True}
        yield from _action(event, event, block, result, home, known)
    elif name == "PostToolBatch":
        yield from _refused(event, home)
    elif name == "PostCompact" and not transcript:
        summary = capped(text(event.get("compact_summary")), tool_calls.OUTPUT)
        payload = {"keys": [], "trigger": ident(event.get("trigger")) or None, "summary": summary or None}
        key = f"{NAME}:{ident(event.get('session_id'))}:compact:{digest(summary)}"
        yield "evicted", {field: value for field, value in payload.items() if value is not None}, key


def claude_task_events(event: Mapping[str, Any], tasks: TaskList) -> Iterator[HookRecord]:
    """The whole list of tasks after a call that changed it.

    For a session without a transcript.
    """
    call_id, response = ident(event.get("tool_use_id")), event.get("tool_response")
    if event.get("hook_event_name") == "PostToolUse" and call_id and _agent_id(event) is None:
        output = _response_text(response)
        found = tasks.ended(_tool(event), event.get("tool_input"), output, mapping(response))
        yield from _meant(event, call_id, found)


def _prompt(event: Mapping[str, Any]) -> Iterator[HookRecord]:
    words = user_words(iter((text(event.get("prompt")),)))
    prompt_id = ident(event.get("prompt_id"))
    if words and prompt_id:
        yield "prompt", {"text": capped(words, MAX_TEXT)}, prompt_key(prompt_id)


def _refused(event: Mapping[str, Any], home: str | None) -> Iterator[HookRecord]:
    """The calls of a batch that were refused.

    The others were reported by their own events.
    """
    for call in map(mapping, sequence(event.get("tool_calls"))):
        output = output_text(call.get("tool_response"))
        if output.startswith(NOT_ACCEPTED) or DENIED.match(output[:HEAD]):
            yield from _action(event, call, {"content": output, "is_error": True}, None, home)


def _action(
    event: Mapping[str, Any],
    call: Mapping[str, Any],
    block: Mapping[str, Any],
    result: Any,
    home: str | None,
    known: KnownFolders | None = None,
) -> Iterator[HookRecord]:
    call_id = ident(call.get("tool_use_id"))
    if not call_id:
        return
    tool, tool_input, cwd = _tool(call), call.get("tool_input"), text(event.get("cwd"))
    ended = call_result(block, result, tool=tool, tool_input=tool_input, cwd=cwd, home=home, known=known)
    duration_ms = whole(call.get("duration_ms"))
    payload = tool_calls.ended_action(tool, tool_input, ended, call_id, _agent_id(event), duration_ms)
    yield "action", payload, action_key(call_id)
    for number, listing in enumerate(ended.seen):
        yield "seen", listing, f"{action_key(call_id)}:seen:{number}"
    words = text(block.get("content"))
    found = meanings(call_id, tool, tool_input, words, ended.outcome, mapping(result))
    yield from _meant(event, call_id, found)


def _meant(event: Mapping[str, Any], call_id: str, found: Iterable[Meaning]) -> Iterator[HookRecord]:
    """What a call means."""
    for meaning in found:
        if _agent_id(event) is None or meaning.kind == "decision":
            yield meaning.kind, meaning.payload, f"{action_key(call_id)}:{meaning.suffix}"


def _response_text(response: Any) -> str:
    """The text of a tool's response.

    A hook gets an object where the transcript has text.
    """
    if isinstance(response, (str, list)):
        return output_text(response)
    answer = mapping(response)
    if changed := text(answer.get("filePath")):
        # The object also has the whole file, before and after, which is not recorded here.
        return f"The file {changed} was {'created' if answer.get('type') == 'create' else 'updated'}."
    if "stdout" in answer or "stderr" in answer:
        return "\n".join(filter(None, (text(answer.get("stdout")), text(answer.get("stderr")))))
    if "content" in answer:
        return output_text(answer["content"])
    file = mapping(answer.get("file"))
    return text(file.get("content")) if file else json.dumps(answer, ensure_ascii=False) if answer else ""


def _tool(call: Mapping[str, Any]) -> str:
    return ident(call.get("tool_name")) or "unknown"


def _agent_id(event: Mapping[str, Any]) -> str | None:
    return ident(event.get("agent_id")) or None
