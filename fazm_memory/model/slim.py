"""An event as one row of a list: what it was in a line, about what, how it ended, and what is special in it.

Rows are many and texts may be long, so every text is cut; the event has the whole. Nothing here judges what
a text means: it is shown as it was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fazm_memory.model.clock import TimeError, iso, parse
from fazm_memory.model.counting import plural
from fazm_memory.model.events import Event, target_of
from fazm_memory.model.payloads import FAILED

TEXT = 200
DOUBTED = frozenset({"web", "unverified"})
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


def cut(text: Any, most: int = TEXT) -> str | None:
    """The beginning of a text on one line."""
    if text is None:
        return None
    line = " ".join(str(text)[: 4 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def slim_row(event: Event) -> dict[str, Any]:
    """The row, with the marks that the event alone can tell."""
    title, detail, target = _told(event)
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
        "title": cut(title) or event.kind,
        "detail": cut(detail),
        "tool": cut(getattr(event.payload, "tool", None)),
        "target": cut(target) or None,
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
    if event.trust in DOUBTED:
        marks.append("untrusted")
    if event.kind == "session.open" and getattr(p, "parent", None):
        marks.append("fork")
    return marks


def _told(event: Event) -> tuple[Any, Any, Any]:
    """Title, detail and what it was about."""
    p, kind = event.payload, event.kind
    if p is None:
        return f"{kind}, forgotten", "Its details were forgotten; that it happened is kept.", None
    if kind == "action":
        return p.tool, p.error or p.output_summary, target_of(p.input)
    if kind == "action.start":
        return p.tool, "begun", target_of(p.input)
    if kind == "action.amend":
        return "More is known of a call", p.error or p.output_summary, p.call_id
    if kind == "file":
        came = f"was {p.origin}; " if p.origin else ""
        return f"{p.change} {name_of(p.path)}", f"{came}by {p.by}: {p.evidence or 'seen on disk'}", p.path
    if kind == "app":
        return p.app, p.title, p.document
    if kind == "seen":
        return "Looked at a folder", plural(p.total or len(p.files), "file"), p.folder
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
        return (
            (f"Branch opened: {p.title or ''}" if p.parent else p.title or "Session opened"),
            p.agent,
            (p.workspace),
        )
    if kind.startswith("session."):
        said = getattr(p, "reason", None) or getattr(p, "title", None)
        return f"Session: {kind.removeprefix('session.')}", said, None
    if kind in ("fact", "fact.retract"):
        return p.key, _plain(p.value) if kind == "fact" else p.reason or "taken back", None
    if kind == "usage":
        return "Tokens", f"{p.input_tokens:,} in, {p.output_tokens:,} out", p.model
    if kind == "quarantine":
        many = "the session" if p.whole else plural(len(p.seqs), "event")
        return (f"Released {many}" if p.released else f"Quarantined {many}"), p.reason, None
    if kind == "forgotten":
        return f"{plural(p.count, 'detail')} forgotten", p.reason, None
    said = getattr(p, "text", None) or getattr(p, "what", None) or getattr(p, "note", None)
    return said or kind, getattr(p, "why", None), getattr(p, "id", None)


def _plain(value: Any) -> Any:
    """Data as it was told, in JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (Mapping, list, tuple)) else value


def name_of(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1] or path


def lane_marks(event: Event) -> list[tuple[str, dict[str, Any]]]:
    """Where an event is drawn: its lane, and a file lane more for an action that changed files."""
    lane = LANE_OF_KIND.get(event.kind)
    if lane is None:
        return []
    title, _, target = _told(event)
    begin, end = _span(event)
    words = title if target is None or lane in ("files", "marks") else f"{title} {target}"
    drawn = {
        "seq": event.seq, "ms": begin, "end_ms": end, "kind": event.kind,
        "title": cut(words, 120) or event.kind, "trust": event.trust,
        "outcome": getattr(event.payload, "outcome", None),
    }  # fmt: skip
    made = [(lane, drawn)]
    if event.kind == "action" and event.payload is not None:
        changed = [touch for touch in event.payload.files if touch.change != "read"]
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            words = f"{changed[0].change} {name_of(changed[0].path)}{more}"
            made.append(("files", drawn | {"ms": end, "title": cut(words, 120)}))
    return made


def _span(event: Event) -> tuple[int, int]:
    """From when to when it is drawn. An action is told when it ends, an app says until when."""
    at, p = event.at // 1000, event.payload
    if event.kind == "action" and p is not None and p.duration_ms:
        return at - p.duration_ms, at
    if event.kind == "app" and p is not None and p.until:
        try:
            return at, max(at, parse(p.until) // 1000)
        except TimeError:  # told by an agent in its own way: then it is a point
            return at, at
    return at, at
