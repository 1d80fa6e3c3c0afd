"""What changed between two states, key by key, and the events that caused it.

The causes are read from the events between the two positions: decisions and failures are always causes,
retries name what they retried, and every other event that touched a changed key is counted under its kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fazm_memory.model.events import Event
from fazm_memory.model.payloads import FAILED
from fazm_memory.model.state import SessionState, to_json

# What moves with every event says nothing about what changed.
NOT_COMPARED = frozenset({"session", "at", "last_at"})
KEYED_LISTS: dict[str, str] = {
    "files_modified": "path",
    "folders": "path",
    "apps": "app",
    "decisions_made": "seq",
    "pending_actions": "id",
    "errors": "seq",
    "requests": "seq",
    "running": "call_id",
    "open_questions": "id",
}
CAUSES = 200  # named one by one; more are counted


def compare(before: SessionState, after: SessionState, events: Iterable[Event] = ()) -> dict[str, Any]:
    """The contract's diff: `from, to, added, removed, changed` per key of state, and `because`."""
    old, new = to_json(before), to_json(after)
    added: dict[str, Any] = {}
    removed: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    for key in old:
        if key in NOT_COMPARED or old[key] == new[key]:
            continue
        if key in KEYED_LISTS:
            _tables(key, _by(old[key], KEYED_LISTS[key]), _by(new[key], KEYED_LISTS[key]),
                    added, removed, changed, values=True)  # fmt: skip
        elif isinstance(old[key], list):
            _sets(key, old[key], new[key], added, removed)
        elif isinstance(old[key], dict):
            _tables(key, old[key], new[key], added, removed, changed, values=False)
        else:
            changed[key] = {"from": old[key], "to": new[key]}
    return {
        "from": before.at,
        "to": after.at,
        "added": added,
        "removed": removed,
        "changed": changed,
        "because": causes(events),
    }


def _by(rows: list[dict[str, Any]], name: str) -> dict[Any, dict[str, Any]]:
    # What a fork has from its parent stands at the parent's positions: those are not its own.
    return {f"{row['session']}:{row[name]}" if "session" in row else row[name]: row for row in rows}


def _sets(key: str, old: list[Any], new: list[Any], added: dict[str, Any], removed: dict[str, Any]) -> None:
    had, has = dict.fromkeys(old), dict.fromkeys(new)
    if came := [one for one in has if one not in had]:
        added[key] = came
    if went := [one for one in had if one not in has]:
        removed[key] = went


def _tables(
    key: str,
    old: dict[Any, Any],
    new: dict[Any, Any],
    added: dict[str, Any],
    removed: dict[str, Any],
    changed: dict[str, Any],
    *,
    values: bool,
) -> None:
    """Two tables compared; a table that is a list outside is told as a list of its rows."""
    came = {name: new[name] for name in new if name not in old}
    went = {name: old[name] for name in old if name not in new}
    moved = {
        name: {"from": old[name], "to": new[name]} for name in new if name in old and old[name] != new[name]
    }
    for target, rows in ((added, came), (removed, went)):
        if rows:
            target[key] = list(rows.values()) if values else rows
    if moved:
        changed[key] = [{"key": name, **row} for name, row in moved.items()] if values else moved


def causes(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The events that made the difference, in order; past the cap, how many more of each kind."""
    named: list[dict[str, Any]] = []
    more: dict[str, int] = {}
    for event in events:
        told = _cause(event)
        if told is None:
            continue
        if len(named) < CAUSES:
            named.append({"seq": event.seq, "turn": event.turn, "kind": event.kind, **told})
        else:
            more[event.kind] = more.get(event.kind, 0) + 1
    return named if not more else [*named, {"kind": "more", "counts": more}]


def _cause(event: Event) -> dict[str, Any] | None:
    p = event.payload
    if p is None:
        return {"what": "forgotten"}
    if event.kind == "decision":
        return {"what": p.what, "why": p.why}
    if event.kind == "action":
        told: dict[str, Any] = {"what": p.tool, "outcome": p.outcome}
        if p.outcome in FAILED:
            told["why"] = p.error
        if p.retry_of is not None:
            told["retry_of"] = p.retry_of
        if p.files:
            told["files"] = [touch.path for touch in p.files[:20]]
        return told
    if event.kind == "file":
        return {"what": f"{p.change} {p.path}", "why": f"by {p.by}: {p.evidence or 'seen on disk'}"}
    if event.kind == "prompt":
        return {"what": p.text[:200]}
    if event.kind == "evicted":
        return {"what": "the context was compacted", "keys": list(p.keys[:20])}
    if event.kind in ("message", "usage", "unknown", "seen", "action.start"):
        return None
    said = getattr(p, "what", None) or getattr(p, "note", None) or getattr(p, "title", None)
    return {"what": said or event.kind, "why": getattr(p, "reason", None)}
