"""A conversation written as a session of another agent, in its own format.

Claude Code 2.1.197 and Codex 0.166.0 resume what is written here. Every line that carries something over
begins with a mark, by which our readers know that it is recorded already.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid5

from fazm_memory.agents.base import Places, config_folder
from fazm_memory.agents.fields import CARRIED_FIELD
from fazm_memory.agents.native_files import PROJECTS, project_folder
from fazm_memory.clock import to_datetime
from fazm_memory.records import dataclass

WRITABLE_AGENTS = ("claude-code", "codex")
WRITTEN_FOR = "0.166.0"  # the version of Codex whose rollouts are written


@dataclass(frozen=True)
class CarriedCall:
    """A tool call.

    `command` is its shell command, if it is one; `text` says what it was.
    """

    id: str
    command: str | None
    text: str
    output: str
    failed: bool


@dataclass(frozen=True)
class CarriedEntry:
    """Something that was said or done, from the event at `seq`.

    `at` is in microseconds.
    """

    role: Literal["user", "assistant"]
    text: str
    at: int
    seq: int
    call: CarriedCall | None = None


@dataclass(frozen=True)
class NativeSession:
    """A session to be written: the agent's id of it, its file and the content."""

    agent: str
    session: str
    path: Path
    content: bytes


def shell_command(value: Any) -> str | None:
    """The shell command in the input of a call, or None."""
    given = value if isinstance(value, dict) else {}
    command = given.get("command") or given.get("cmd")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return command[-1] if command[1:2] in (["-c"], ["-lc"]) else shlex.join(command)
    return command if isinstance(command, str) and command.strip() else None


def write_session(
    agent: str,
    session: UUID,
    entries: Sequence[CarriedEntry],
    *,
    source: str,
    workspace: str,
    places: Places,
    now: int,
) -> NativeSession:
    """The entries as a session of `agent`.

    `source` is our id of the session that they come from.
    """
    name = str(session)
    if agent == "claude-code":
        folder = config_folder(agent, places) / PROJECTS / project_folder(workspace)
        records = _claude_records(entries, session, source, workspace)
        return NativeSession(agent, name, folder / f"{name}.jsonl", _json_lines(records))
    began = to_datetime(now)
    folder = config_folder(agent, places) / "sessions" / f"{began:%Y/%m/%d}"
    path = folder / f"rollout-{began:%Y-%m-%dT%H-%M-%S}-{name}.jsonl"
    return NativeSession(
        agent, name, path, _json_lines(_codex_records(entries, name, source, workspace, now))
    )


def _json_lines(records: Iterable[dict[str, Any]]) -> bytes:
    lines = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _time(at: int) -> str:
    seconds, micros = divmod(at, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{micros // 1000:03d}Z"


def _mark(source: str, entry: CarriedEntry) -> dict[str, Any]:
    return {CARRIED_FIELD: {"session": source, "seq": entry.seq}}


def _claude_records(
    entries: Sequence[CarriedEntry], session: UUID, source: str, workspace: str
) -> Iterator[dict[str, Any]]:
    parent: str | None = None
    for number, (entry, role, content) in enumerate(_claude_messages(entries)):
        uuid = str(uuid5(session, str(number)))
        yield {
            **_mark(source, entry),
            "type": role,
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": str(session),
            "timestamp": _time(entry.at),
            "cwd": workspace,
            "isSidechain": False,
            "userType": "external",
            "message": {"role": role, "content": content}
            | (_claude_answer(uuid) if role == "assistant" else {}),
        }
        parent = uuid


def _claude_answer(uuid: str) -> dict[str, Any]:
    """What Claude Code expects in an answer of the model.

    Without it 2.1.197 waits forever.
    """
    usage = {"input_tokens": 0, "output_tokens": 0}
    return {"id": f"msg_{uuid.replace('-', '')[:24]}", "type": "message", "model": "fazm-memory",
            "stop_reason": "end_turn", "usage": usage}  # fmt: skip


def _claude_messages(entries: Sequence[CarriedEntry]) -> Iterator[tuple[CarriedEntry, str, Any]]:
    for entry in entries:
        call = entry.call
        if call is None or call.command is None:
            text = _as_text(entry)
            yield entry, entry.role, text if entry.role == "user" else [{"type": "text", "text": text}]
            continue
        use = {
            "type": "tool_use",
            "id": f"toolu_{call.id}",
            "name": "Bash",
            "input": {"command": call.command},
        }
        yield entry, "assistant", [use]
        result = {"type": "tool_result", "tool_use_id": f"toolu_{call.id}", "content": call.output}
        yield entry, "user", [result | ({"is_error": True} if call.failed else {})]


def _codex_records(
    entries: Sequence[CarriedEntry], session: str, source: str, workspace: str, now: int
) -> Iterator[dict[str, Any]]:
    meta = {
        "id": session, "timestamp": _time(now), "cwd": workspace, "originator": "fazm-memory",
        "cli_version": WRITTEN_FOR, "source": "cli",
    }  # fmt: skip
    yield {"timestamp": _time(now), "type": "session_meta", "payload": meta}
    for entry in entries:
        for kind, payload in _codex_items(entry):
            yield {**_mark(source, entry), "timestamp": _time(entry.at), "type": kind, "payload": payload}


def _codex_items(entry: CarriedEntry) -> Iterator[tuple[str, dict[str, Any]]]:
    call = entry.call
    if call is not None and call.command is not None:
        arguments = json.dumps({"cmd": call.command}, ensure_ascii=False)
        name = f"call_{call.id}"
        yield (
            "response_item",
            {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": name},
        )
        yield "response_item", {"type": "function_call_output", "call_id": name, "output": call.output}
        return
    text = _as_text(entry)
    part, event = ("input_text", "user_message") if entry.role == "user" else ("output_text", "agent_message")
    yield "response_item", {"type": "message", "role": entry.role, "content": [{"type": part, "text": text}]}
    yield "event_msg", {"type": event, "message": text}  # what its screen shows


def _as_text(entry: CarriedEntry) -> str:
    if entry.call is None:
        return entry.text
    return f"{entry.call.text}\nResult: {entry.call.output}" if entry.call.output else entry.call.text
