"""What Claude Code tells its hooks, in the words its transcripts use: the same keys, the same outcomes.

A call is announced before it runs and told when it has ended. One that was refused or that the client did not
accept ends without an event of its own; it is told with the batch it was in. Words and titles are left to the
transcript, which tells them better; a compaction is told here when there is no transcript.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fazm_memory.capture.agents import claude_call, tool_call
from fazm_memory.capture.agents.claude_keys import NAME, action_key, prompt_key, start_key
from fazm_memory.capture.agents.claude_prompt import own_words
from fazm_memory.capture.agents.fields import SAID, capped, digest, ident, mapping, sequence, text, whole
from fazm_memory.capture.shell import Known

NOT_ACCEPTED = "<tool_use_error>"

Told = tuple[str, dict[str, Any], str]  # kind, payload, key


def told(
    event: Mapping[str, Any], *, home: str | None, transcript: bool, known: Known | None = None
) -> Iterator[Told]:
    """What an event tells. `transcript` says whether there is one to tell the rest."""
    name = event.get("hook_event_name")
    if name == "UserPromptSubmit":
        yield from _prompt(event)
    elif name == "PreToolUse" and (call_id := ident(event.get("tool_use_id"))):
        payload = tool_call.start(_tool(event), event.get("tool_input"), call_id, _agent_id(event))
        yield "action.start", payload, start_key(call_id)
    elif name == "PostToolUse":
        response = event.get("tool_response")
        yield from _action(event, event, {"content": _shown(response)}, response, home, known)
    elif name == "PostToolUseFailure":
        block = {"content": text(event.get("error")), "is_error": True}
        result = {"interrupted": event.get("is_interrupt") is True}
        yield from _action(event, event, block, result, home, known)
    elif name == "PostToolBatch":
        yield from _unannounced(event, home)
    elif name == "PostCompact" and not transcript:
        summary = capped(text(event.get("compact_summary")), tool_call.OUTPUT)
        payload = {"keys": [], "trigger": ident(event.get("trigger")) or None, "summary": summary or None}
        key = f"{NAME}:{ident(event.get('session_id'))}:compact:{digest(summary)}"
        yield "evicted", {field: value for field, value in payload.items() if value is not None}, key


def _prompt(event: Mapping[str, Any]) -> Iterator[Told]:
    said = own_words(iter((text(event.get("prompt")),)))
    prompt_id = ident(event.get("prompt_id"))
    if said and prompt_id:
        yield "prompt", {"text": capped(said, SAID)}, prompt_key(prompt_id)


def _unannounced(event: Mapping[str, Any], home: str | None) -> Iterator[Told]:
    """Calls of a batch that failed before they began. What ran has been told already."""
    for call in map(mapping, sequence(event.get("tool_calls"))):
        said = claude_call.output_text(call.get("tool_response"))
        if said.startswith(NOT_ACCEPTED) or claude_call.DENIED.match(said[: claude_call.HEAD]):
            yield from _action(event, call, {"content": said, "is_error": True}, None, home)


def _action(
    event: Mapping[str, Any],
    call: Mapping[str, Any],
    block: Mapping[str, Any],
    result: Any,
    home: str | None,
    known: Known | None = None,
) -> Iterator[Told]:
    call_id = ident(call.get("tool_use_id"))
    if not call_id:
        return
    tool, given, cwd = _tool(call), call.get("tool_input"), text(event.get("cwd"))
    over = claude_call.ended(block, result, tool=tool, given=given, cwd=cwd, home=home, known=known)
    payload = tool_call.action(
        tool,
        given,
        call_id=call_id,
        output=over.output,
        outcome=over.outcome,
        error=over.error,
        duration_ms=whole(call.get("duration_ms")) if over.duration_ms is None else over.duration_ms,
        files=over.files,
        agent_id=_agent_id(event),
    )
    yield "action", payload, action_key(call_id)
    for number, seen in enumerate(over.seen):
        yield "seen", seen, f"{action_key(call_id)}:seen:{number}"


def _shown(response: Any) -> str:
    """The words of a tool's answer. The transcript has what the model was shown; a hook gets an object."""
    if isinstance(response, (str, list)):
        return claude_call.output_text(response)
    answer = mapping(response)
    if changed := text(answer.get("filePath")):
        # Beside it stands the whole file, before and after: that belongs to the file's versions, not here.
        return f"The file {changed} was {'created' if answer.get('type') == 'create' else 'updated'}."
    if "stdout" in answer or "stderr" in answer:
        return "\n".join(filter(None, (text(answer.get("stdout")), text(answer.get("stderr")))))
    if "content" in answer:
        return claude_call.output_text(answer["content"])
    file = mapping(answer.get("file"))
    return text(file.get("content")) if file else json.dumps(answer, ensure_ascii=False) if answer else ""


def _tool(call: Mapping[str, Any]) -> str:
    return ident(call.get("tool_name")) or "unknown"


def _agent_id(event: Mapping[str, Any]) -> str | None:
    return ident(event.get("agent_id")) or None
