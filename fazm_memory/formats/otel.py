"""A session as OpenTelemetry GenAI spans, in the JSON form of OTLP.

The session is a trace, each turn an `invoke_agent` span, each tool call an `execute_tool` span in it. Ids
follow from the session's id and positions, so the same session gives the same spans.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fazm_memory import __version__
from fazm_memory.formats.conversation import Conversation, Statement, ToolCall, Turn

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
