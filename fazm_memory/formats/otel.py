"""A session as OpenTelemetry GenAI spans, and its files as Agent Trace.

The spans are OTLP as JSON.

The session is a trace, each turn an `invoke_agent` span, each tool call an `execute_tool` span in it. Ids
follow from the session's id and positions, so the same session gives the same spans.

An Agent Trace record (agent-trace.dev, 0.1.0) says who wrote which lines. Every stored version of a file
names who made it. Lines that a version added or changed belong to its maker. Lines that stood there before
the first known change belong to nobody here and are left out.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from fazm_memory import __version__
from fazm_memory.clock import to_datetime
from fazm_memory.formats.conversation import Conversation, Statement, ToolCall, Turn
from fazm_memory.store import FileVersion

SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0"
INTERNAL = 1  # SPAN_KIND_INTERNAL
ERROR = 2  # STATUS_CODE_ERROR
ROLES = {"user": "user", "agent": "assistant"}
# The provider is not recorded. It follows from how the model's name begins.
PROVIDERS = {"claude": "anthropic", "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai",
             "codex": "openai", "gemini": "gcp.gemini", "mistral": "mistral_ai", "deepseek": "deepseek",
             "grok": "x_ai"}  # fmt: skip


def to_otlp(talk: Conversation) -> dict[str, Any]:
    """The spans as one `TracesData` message."""
    root = _span_id(talk.id, "session")
    spans = [_span for turn in talk.turns for _span in _turn_spans(talk, turn, root)]
    begin = min([talk.opened_at, *(int(span["startTimeUnixNano"]) // 1000 for span in spans)])
    end = max([talk.last_at, begin, *(int(span["endTimeUnixNano"]) // 1000 for span in spans)])
    session = _span(talk, root, None, "invoke_workflow session", begin, end, {
        "gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "session",
        "gen_ai.agent.name": talk.agent, "fazm_memory.title": talk.title,
        "fazm_memory.workspace": talk.workspace, "fazm_memory.parent_session": talk.parent,
        "fazm_memory.forgotten_events": talk.forgotten or None,
    })  # fmt: skip
    scope = {"name": "fazm_memory", "version": __version__}
    resource = {"service.name": "fazm-memory", "service.version": __version__}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [{"scope": scope, "spans": [session, *spans], "schemaUrl": SCHEMA_URL}],
                "schemaUrl": SCHEMA_URL,
            }
        ]
    }


def _span_id(*parts: object) -> str:
    return hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()[:16]


def _span(
    talk: Conversation, span: str, parent: str | None, name: str, begin: int, end: int, values: dict[str, Any]
) -> dict[str, Any]:
    return {
        "traceId": talk.id,
        "spanId": span,
        **({} if parent is None else {"parentSpanId": parent}),
        "name": name,
        "kind": INTERNAL,
        "startTimeUnixNano": _nano(begin),
        "endTimeUnixNano": _nano(end),
        "attributes": _attributes({"gen_ai.conversation.id": talk.id, **values}),
    }


def _nano(at: int) -> str:
    return str(max(0, at) * 1000)


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}


def _turn_spans(talk: Conversation, turn: Turn, root: str) -> list[dict[str, Any]]:
    times = [(said.at, said.at) for said in turn.statements]
    times += [(call.begin, call.end) for call in turn.calls]
    if not times:
        return []
    first = next(entry for entry in turn.entries if isinstance(entry, (Statement, ToolCall)))
    own = _span_id(first.session, "turn", turn.number, first.seq)
    models = [use.model for use in turn.usage if use.model]
    values = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": provider_of(models[0]) if models else None,
        "gen_ai.agent.name": talk.agent,
        "gen_ai.request.model": models[0] if models else None,
        "gen_ai.input.messages": _messages(turn, "user"),
        "gen_ai.output.messages": _messages(turn, "agent"),
        "fazm_memory.turn": turn.number,
    }
    if turn.usage:
        values |= {
            "gen_ai.usage.input_tokens": sum(use.input + use.cached for use in turn.usage),
            "gen_ai.usage.output_tokens": sum(use.output for use in turn.usage),
            "gen_ai.usage.cache_read.input_tokens": sum(use.cached for use in turn.usage),
        }
    begin, end = min(begin for begin, _ in times), max(end for _, end in times)
    span = _span(talk, own, root, f"invoke_agent {talk.agent}", begin, end, values)
    if decisions := [said for said in turn.statements if said.form not in ("prompt", "message", "plan")]:
        span["events"] = [_decision(said) for said in decisions]
    return [span, *(_call_span(talk, call, own) for call in turn.calls)]


def provider_of(model: str) -> str | None:
    """The provider of a model, from how its name begins."""
    name = model.rpartition("/")[2]
    return next((provider for start, provider in PROVIDERS.items() if name.startswith(start)), None)


def _messages(turn: Turn, role: str) -> str | None:
    """The messages of a role in the JSON form of the semantic conventions."""
    finish = {"finish_reason": "stop"} if role == "agent" else {}
    found = [
        {"role": ROLES[role], "parts": [{"type": "text", "content": said.text}], **finish}
        for said in turn.statements
        if said.role == role and said.form in ("prompt", "message", "plan")
    ]
    return json.dumps(found, ensure_ascii=False) if found else None


def _decision(said: Statement) -> dict[str, Any]:
    values = {"form": said.form, "what": said.text, "question": said.question, "why": said.why,
              "alternatives": said.alternatives or None, "trust": said.trust}  # fmt: skip
    prefixed = {f"fazm_memory.decision.{name}": value for name, value in values.items()}
    return {
        "timeUnixNano": _nano(said.at),
        "name": "fazm_memory.decision",
        "attributes": _attributes(prefixed),
    }


def _call_span(talk: Conversation, call: ToolCall, parent: str) -> dict[str, Any]:
    failed = call.outcome != "ok"
    given = None if call.input is None else json.dumps(call.input, ensure_ascii=False)
    values = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.tool.call.arguments": given,
        "gen_ai.tool.call.result": call.output,
        "gen_ai.agent.id": call.agent_id,
        "error.type": call.outcome if failed else None,
        "fazm_memory.seq": call.seq,
        "fazm_memory.trust": call.trust,
        "fazm_memory.files": [str(touch["path"]) for touch in call.files] or None,
    }
    own = _span_id(call.session, "call", call.seq)
    span = _span(talk, own, parent, f"execute_tool {call.tool}", call.begin, call.end, values)
    if failed:
        span["status"] = {"code": ERROR, "message": call.error or call.outcome}
    return span


SPECIFICATION = "0.1.0"
MOST_LINES = 20_000  # of a file; comparing longer ones takes too long
CONTRIBUTORS = {"agent": "ai", "person": "human"}
MODELS_DEV = {"gcp.gemini": "google", "x_ai": "xai", "mistral_ai": "mistral"}  # as models.dev names them

Owner = tuple[str, str]  # contributor type, and the session of an agent


def to_agent_trace(
    talk: Conversation,
    versions: Iterable[FileVersion],
    read: Callable[[str], bytes | None],
    changed: Collection[str] = (),
) -> dict[str, Any]:
    """The record of a session.

    `versions` are those of its files, `read` returns a stored content. `changed` are the files that it
    changed: those without a stored version are counted.
    """
    histories = _histories(versions)
    files, left_out = [], len(set(changed) - histories.keys())
    for path, history in sorted(histories.items()):
        relative = posixpath.relpath(path, talk.workspace) if talk.workspace else path
        owners = None if relative.startswith("..") else line_owners(history, read)
        if owners is None:
            left_out += 1
        elif conversations := list(_conversations(talk, *owners)):
            files.append({"path": relative, "conversations": conversations})
    commits = [row["hash"] for row in talk.state.get("commits") or () if row.get("hash")]
    moment = to_datetime(talk.last_at).astimezone(UTC)
    return {
        "version": SPECIFICATION,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"fazm-memory://sessions/{talk.id}")),
        "timestamp": f"{moment:%Y-%m-%dT%H:%M:%S}Z",
        **({"vcs": {"type": "git", "revision": commits[-1]}} if commits else {}),
        "tool": {"name": "fazm-memory", "version": __version__},
        "files": files,
        "metadata": {"fazm_memory": {"session": talk.id, "agent": talk.agent, "files_left_out": left_out}},
    }


def _histories(versions: Iterable[FileVersion]) -> dict[str, list[FileVersion]]:
    """The versions of each file.

    A file in two watched folders is taken from the longer history.
    """
    found: dict[str, list[FileVersion]] = {}
    for (root, path), own in groupby(versions, lambda version: (version.root, version.path)):
        place, history = posixpath.join(root, path), list(own)
        if len(history) > len(found.get(place, ())):
            found[place] = history
    return found


def line_owners(
    history: list[FileVersion], read: Callable[[str], bytes | None]
) -> tuple[list[str], list[Owner | None]] | None:
    """The lines of the last version, and who wrote each.

    None if it is no text or has no content.
    """
    lines: list[str] = []
    owners: list[Owner | None] = []
    for number, version in enumerate(history):
        data = b"" if version.absent else read(version.digest) if version.digest is not None else None
        if data is None or b"\0" in data:
            return None
        new = data.decode("utf-8", "replace").splitlines()
        if len(new) > MOST_LINES:
            return None
        first = number == 0 and version.changed_by is None and not version.absent
        owner = None if first else _owner(version)
        owners = [one for _, one in _merged(lines, owners, new, owner)]
        lines = new
    return (lines, owners) if lines else None


def _owner(version: FileVersion) -> Owner:
    kind = CONTRIBUTORS.get(version.changed_by or "", "unknown")
    return (kind, version.session or "") if kind == "ai" else (kind, "")


def _merged(
    old: list[str], owners: list[Owner | None], new: list[str], owner: Owner | None
) -> Iterator[tuple[str, Owner | None]]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, low, high, begin, end in matcher.get_opcodes():
        same = owners[low:high] if tag == "equal" else [owner] * (end - begin)
        yield from zip(new[begin:end], same, strict=True)


def _conversations(
    talk: Conversation, lines: list[str], owners: list[Owner | None]
) -> Iterator[dict[str, Any]]:
    """The ranges of each contributor, this session's first."""
    ranges: dict[Owner, list[dict[str, Any]]] = {}
    place = 0
    for owner, run in groupby(owners):
        length = len(list(run))
        if owner is not None:
            text = "\n".join(lines[place : place + length])
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            ranges.setdefault(owner, []).append(
                {"start_line": place + 1, "end_line": place + length, "content_hash": f"sha256:{digest}"}
            )
        place += length
    for owner in sorted(ranges, key=lambda one: (one[1] != talk.id, one)):
        contributor = {"type": owner[0]}
        model = talk.models[-1] if owner[1] == talk.id and talk.models else ""
        if name := _model_id(model):
            contributor["model_id"] = name
        link = {"url": f"fazm-memory://sessions/{owner[1]}/events"} if owner[1] else {}
        yield {**link, "contributor": contributor, "ranges": ranges[owner]}


def _model_id(model: str) -> str:
    """The model as models.dev names it: with its provider, if that is known."""
    provider = provider_of(model)
    if not model or provider is None or "/" in model:
        return model[:250]
    return f"{MODELS_DEV.get(provider, provider)}/{model}"[:250]
