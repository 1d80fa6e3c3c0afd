"""Codex's hook events as drafts, with the same keys as its rollouts.

A hook does not know the exit code of a command; only the rollout has it. So the end of a call is taken from
the hook only when the rollout has not reported it for a while, as after a crash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fazm_memory.agents import tool_calls
from fazm_memory.agents.codex.calls import NAME, action_key, call_result, output_text, prompt_key, start_key
from fazm_memory.agents.fields import MAX_TEXT, capped, digest, ident, mapping, strip_injected_text, text
from fazm_memory.agents.tool_calls import CallResult, call_meanings, shell_files
from fazm_memory.engines.shell_effects import KnownFolders

SHELL = "exec_command"
GLUED = "multi_agent_v1"  # hooks write this namespace before the name of a tool, without a separator

HookRecord = tuple[str, dict[str, Any], str]  # kind, payload, key


def codex_hook_events(
    event: Mapping[str, Any], *, home: str | None, transcript: bool, known: KnownFolders | None = None
) -> Iterator[HookRecord]:
    """The records of an event. `transcript` is whether the session has a rollout."""
    name = event.get("hook_event_name")
    session, call_id = ident(event.get("session_id")), ident(event.get("tool_use_id"))
    if name == "UserPromptSubmit" and (turn := ident(event.get("turn_id"))):
        if event.get("agent_id"):
            return  # a subagent's prompt is recorded with the call that started it
        prompt = strip_injected_text(text(event.get("prompt"))).strip()
        if prompt:
            yield "prompt", {"text": capped(prompt, MAX_TEXT)}, prompt_key(session, turn, prompt)
    elif name == "PreToolUse" and call_id:
        tool, tool_input = hook_call(event)
        payload = tool_calls.start(tool, tool_input, call_id, ident(event.get("agent_id")) or None)
        yield "action.start", payload, start_key(session, call_id)
    elif name == "PostToolUse" and call_id:
        ended = _hook_outcome(event, call_id, home, known)
        yield "action", ended, action_key(session, call_id)
        about = (call_id, ended["tool"], ended.get("input"), text(ended.get("output")), ended["outcome"])
        for meaning in call_meanings(*about, {}):
            if not event.get("agent_id") or meaning.kind == "decision":
                yield meaning.kind, meaning.payload, f"{action_key(session, call_id)}:{meaning.suffix}"
    elif name == "PostCompact" and not transcript:
        summary = capped(text(event.get("compact_summary")), tool_calls.OUTPUT)
        key = f"{NAME}:{session}:compact:{ident(event.get('turn_id'))}:{digest(summary)}"
        yield "evicted", {"keys": [], **({"summary": summary} if summary else {})}, key


def hook_call(event: Mapping[str, Any]) -> tuple[str, Any]:
    """The tool and its input as in the rollout.

    Hooks call the shell `Bash` and wrap a patch.
    """
    tool, tool_input = ident(event.get("tool_name")) or "unknown", event.get("tool_input")
    command = mapping(tool_input).get("command")
    if tool == "Bash" and isinstance(command, str):
        return SHELL, {"cmd": command}
    if tool == "apply_patch" and isinstance(command, str):
        return tool, command
    return tool.removeprefix(GLUED) or tool, tool_input


def _hook_outcome(
    event: Mapping[str, Any], call_id: str, home: str | None, known: KnownFolders | None
) -> dict[str, Any]:
    tool, tool_input = hook_call(event)
    response, cwd = event.get("tool_response"), text(event.get("cwd"))
    output = output_text(response)
    if tool == SHELL:
        command = text(mapping(tool_input)["cmd"])
        files = shell_files(command, cwd=cwd, output=output, home=home, known=known)
        result = CallResult(output, files=tuple(files))
    else:
        item = {"result": response} if isinstance(response, dict) else None
        result = call_result(tool, tool_input, output, item, cwd=cwd, home=home, known=known)
    return tool_calls.action(
        tool,
        tool_input,
        call_id=call_id,
        output=result.output,
        outcome=result.outcome,
        error=result.error,
        files=result.files,
        agent_id=ident(event.get("agent_id")) or None,
    )
