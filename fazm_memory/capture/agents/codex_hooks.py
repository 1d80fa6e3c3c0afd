"""What Codex tells its hooks, in the words its rollouts use: the same keys, the same names of tools.

A hook cannot see how a command ended: the exit code is in the rollout alone. So the end of a call is left to
the rollout, and told from here only when that has said nothing of it for a while, as after a crash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fazm_memory.capture.agents import codex_call, tool_call
from fazm_memory.capture.agents.codex_keys import NAME, action_key, prompt_key, start_key
from fazm_memory.capture.agents.fields import SAID, capped, digest, ident, mapping, text
from fazm_memory.capture.agents.injected import without_injected
from fazm_memory.capture.shell import Known

SHELL = "exec_command"
GLUED = "multi_agent_v1"  # hooks write this namespace before the name of a tool, without a separator

Told = tuple[str, dict[str, Any], str]  # kind, payload, key


def told(
    event: Mapping[str, Any], *, home: str | None, transcript: bool, known: Known | None = None
) -> Iterator[Told]:
    """What an event tells. `transcript` says whether there is a rollout to tell the rest."""
    name = event.get("hook_event_name")
    session, call_id = ident(event.get("session_id")), ident(event.get("tool_use_id"))
    if name == "UserPromptSubmit" and (turn := ident(event.get("turn_id"))):
        if event.get("agent_id"):
            return  # what an agent asked of its subagent is in the call that asked it
        said = without_injected(text(event.get("prompt"))).strip()
        if said:
            yield "prompt", {"text": capped(said, SAID)}, prompt_key(session, turn, said)
    elif name == "PreToolUse" and call_id:
        tool, given = called(event)
        payload = tool_call.start(tool, given, call_id, ident(event.get("agent_id")) or None)
        yield "action.start", payload, start_key(session, call_id)
    elif name == "PostToolUse" and call_id:
        yield "action", _ended(event, call_id, home, known), action_key(session, call_id)
    elif name == "PostCompact" and not transcript:
        summary = capped(text(event.get("compact_summary")), tool_call.OUTPUT)
        key = f"{NAME}:{session}:compact:{ident(event.get('turn_id'))}:{digest(summary)}"
        yield "evicted", {"keys": [], **({"summary": summary} if summary else {})}, key


def called(event: Mapping[str, Any]) -> tuple[str, Any]:
    """The tool and its input as the rollout has them: hooks call the shell `Bash` and wrap a patch."""
    tool, given = ident(event.get("tool_name")) or "unknown", event.get("tool_input")
    command = mapping(given).get("command")
    if tool == "Bash" and isinstance(command, str):
        return SHELL, {"cmd": command}
    if tool == "apply_patch" and isinstance(command, str):
        return tool, command
    return tool.removeprefix(GLUED) or tool, given


def _ended(event: Mapping[str, Any], call_id: str, home: str | None, known: Known | None) -> dict[str, Any]:
    tool, given = called(event)
    response, cwd = event.get("tool_response"), text(event.get("cwd"))
    output = codex_call.output_text(response)
    if tool == SHELL:
        command = text(mapping(given)["cmd"])
        files = tool_call.shell_files(command, cwd=cwd, output=output, home=home, known=known)
        over = codex_call.Ended(output, files=tuple(files))
    else:
        item = {"result": response} if isinstance(response, dict) else None
        over = codex_call.ended(tool, given, output, item, cwd=cwd, home=home, known=known)
    return tool_call.action(
        tool,
        given,
        call_id=call_id,
        output=over.output,
        outcome=over.outcome,
        error=over.error,
        files=over.files,
        agent_id=ident(event.get("agent_id")) or None,
    )
