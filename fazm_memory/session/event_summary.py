"""An event as JSON, as one row of a list, and as marks on the timeline.

Texts in rows are cut. The event itself has the whole text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fazm_memory.clock import TimeError, iso, parse_time
from fazm_memory.events import FAILED, UNTRUSTED, Event, codec, target_of
from fazm_memory.text import plural, shorten

MARK_OF_KIND = {
    "rewind": "rewind", "evicted": "compaction", "handoff": "handoff", "handoff.answer": "answer",
    "gap": "gap", "forgotten": "forgotten",
}  # fmt: skip
LANE_OF_KIND = {
    "action": "actions", "decision": "decisions", "handoff": "decisions", "handoff.answer": "decisions",
    "file": "files", "app": "apps", "prompt": "marks", "evicted": "marks", "rewind": "marks",
    "session.open": "marks", "session.pause": "marks", "session.resume": "marks", "session.close": "marks",
    "session.archive": "marks", "session.restore": "marks", "gap": "marks",
}  # fmt: skip


def summary_row(event: Event) -> dict[str, Any]:
    """The row, with the marks that follow from the event alone."""
    title, detail, target = _describe(event)
    action = event.payload if event.kind == "action" else None
    return {
        "seq": event.seq,
        "at": iso(event.at),
        "ms": event.at // 1000,
        "turn": event.turn,
        "kind": event.kind,
        "actor": event.actor,
        "source": event.source,
        "trust": event.trust,
        "title": shorten(title) or event.kind,
        "detail": shorten(detail),
        "tool": shorten(getattr(event.payload, "tool", None)),
        "target": shorten(target) or None,
        "outcome": getattr(event.payload, "outcome", None),
        "duration_ms": None if action is None else action.duration_ms,
        "retry_of": None if action is None else action.retry_of,
        "marks": _marks(event),
    }


def _marks(event: Event) -> list[str]:
    p = event.payload
    marks = [MARK_OF_KIND[event.kind]] if event.kind in MARK_OF_KIND else []
    if p is None:
        marks.append("forgotten")
    if getattr(p, "retry_of", None) is not None:
        marks.append("retry")
    outcome = getattr(p, "outcome", None)
    if outcome in FAILED:
        marks += ["failed", "interrupted"] if outcome == "interrupted" else ["failed"]
    if event.trust in UNTRUSTED:
        marks.append("untrusted")
    if event.kind == "session.open" and getattr(p, "parent", None):
        marks.append("fork")
    return marks


def _describe(event: Event) -> tuple[Any, Any, Any]:
    """Title, detail and target."""
    p, kind = event.payload, event.kind
    if p is None:
        return f"{kind}, forgotten", "Its details were forgotten.", None
    if kind == "action":
        return p.tool, p.error or p.output_summary, target_of(p.input)
    if kind == "action.start":
        return p.tool, "started", target_of(p.input)
    if kind == "action.amend":
        return "Call amended", p.error or p.output_summary, p.call_id
    if kind == "file":
        came = f"was {p.origin}; " if p.origin else ""
        return f"{p.change} {base_name(p.path)}", f"{came}by {p.by}: {p.evidence or 'seen on disk'}", p.path
    if kind == "app":
        return p.app, p.title, p.document
    if kind == "seen":
        return "Listed a folder", plural(p.total or len(p.files), "file"), p.folder
    if kind == "evicted":
        count = len(p.keys)
        return "The context was compacted", p.summary or ", ".join(map(str, p.keys[:8])), plural(count, "key")
    if kind == "handoff":
        return "Question for you" if p.to == "human" else "Question for the agent", p.note, p.id
    if kind == "handoff.answer":
        return ("Question waived" if p.waived else "Question answered"), _plain(p.answer), p.id
    if kind == "rewind":
        return f"Rewound to {p.to}", p.reason, "with files" if p.files else None
    if kind == "gap":
        return f"Not recorded: {p.what}", p.note or f"{p.since} to {p.until}", None
    if kind == "session.open":
        title = f"Branch opened: {p.title or ''}" if p.parent else p.title or "Session opened"
        return title, p.agent, p.workspace
    if kind.startswith("session."):
        reason = getattr(p, "reason", None) or getattr(p, "title", None)
        return f"Session: {kind.removeprefix('session.')}", reason, None
    if kind in ("fact", "fact.retract"):
        return p.key, _plain(p.value) if kind == "fact" else p.reason or "retracted", None
    if kind == "decision" and p.form is not None:
        return p.what, p.question or p.why, p.about
    if kind == "plan":
        return f"Plan {p.status}: {p.title}", p.text, None
    if kind == "todos":
        done = sum(item.status == "completed" for item in p.items)
        left = [item.text for item in p.items if item.status in ("pending", "in_progress")]
        return f"{done} of {plural(len(p.items), 'step')} done", "; ".join(left), None
    if kind == "artifact":
        done = sum(item.status == "completed" for item in p.items)
        return p.name, "removed" if p.removed else f"{done} of {plural(len(p.items), 'item')} done", None
    if kind == "budget":
        return f"Limit of {p.what} passed", f"{p.spent:,g} of {p.limit:,g}", None
    if kind == "branch":
        return f"Branch {p.name}", p.head, None
    if kind == "usage":
        return "Tokens", f"{p.input_tokens:,} in, {p.output_tokens:,} out", p.model
    if kind == "quarantine":
        many = "the session" if p.whole else plural(len(p.seqs), "event")
        return (f"Released {many}" if p.released else f"Quarantined {many}"), p.reason, None
    if kind == "forgotten":
        return f"{plural(p.count, 'detail')} forgotten", p.reason, None
    text = getattr(p, "text", None) or getattr(p, "what", None) or getattr(p, "note", None)
    return text or kind, getattr(p, "why", None), getattr(p, "id", None)


def _plain(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (Mapping, list, tuple)) else value


def base_name(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1] or path


def lane_marks(event: Event) -> list[tuple[str, dict[str, Any]]]:
    """The lane of an event and its mark. An action that changed files has a mark in the file lane too."""
    lane = LANE_OF_KIND.get(event.kind)
    if lane is None:
        return []
    title, _, target = _describe(event)
    begin, end = _span(event)
    words = title if target is None or lane in ("files", "marks") else f"{title} {target}"
    drawn = {
        "seq": event.seq, "ms": begin, "end_ms": end, "kind": event.kind,
        "title": shorten(words, 120) or event.kind, "trust": event.trust,
        "outcome": getattr(event.payload, "outcome", None),
    }  # fmt: skip
    marks = [(lane, drawn)]
    if event.kind == "action" and event.payload is not None:
        changed = [touch for touch in event.payload.files if touch.change != "read"]
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            words = f"{changed[0].change} {base_name(changed[0].path)}{more}"
            marks.append(("files", drawn | {"ms": end, "title": shorten(words, 120)}))
    return marks


def _span(event: Event) -> tuple[int, int]:
    """First and last millisecond. An action is recorded when it ends; an app span has its own end."""
    at, p = event.at // 1000, event.payload
    if event.kind == "action" and p is not None and p.duration_ms:
        return at - p.duration_ms, at
    if event.kind == "app" and p is not None and p.until:
        try:
            return at, max(at, parse_time(p.until) // 1000)
        except TimeError:  # not a time: drawn as a point
            return at, at
    return at, at


ACTION_FIELDS = ("tool", "input_hash", "output_summary", "outcome", "error", "duration_ms", "retry_of")


def event_json(event: Event) -> dict[str, Any]:
    """The event as the CLI, the page and MCP show it. An action also has its row of the commit log."""
    row: dict[str, Any] = {
        "session": event.session,
        "seq": event.seq,
        "at": iso(event.at),
        "turn": event.turn,
        "kind": event.kind,
        "actor": event.actor,
        "source": event.source,
        "trust": event.trust,
        "payload": None if event.payload is None else codec.encode(event.payload),
        "digest": event.digest,
        "prev": event.prev,
    }
    if event.kind == "action" and event.payload is not None:
        action = event.payload
        row |= {name: getattr(action, name) for name in ACTION_FIELDS}
        from fazm_memory.session.reducer import event_delta  # rows of a list need no reducer

        row["delta"] = event_delta(event)
    if event.payload is None:
        row["forgotten"] = True
    return row
