"""What changed between two states, key by key, and the events that caused it.

The causes are read from the events between the two positions, each with its role: decisions, errors, retries
and requests are named before mere steps, and what is past the cap is counted under its kind. Two sessions are
compared the same way, each with the causes on its own side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fazm_memory.model.events import Event, target_of
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
    "answered_questions": "id",
    "untrusted": "seq",
    "evicted": "key",
}
CAUSES = 200  # named one by one; more are counted
TELLING = frozenset({"decision", "error", "retry", "request"})


def compare(before: SessionState, after: SessionState, events: Iterable[Event] = ()) -> dict[str, Any]:
    """The contract's diff: `from, to, added, removed, changed` per key of state, and `because`."""
    old, new = to_json(before), to_json(after)
    homes = _homes(before, after)
    added: dict[str, Any] = {}
    removed: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    for key in old:
        owned = key == "files_modified" and before.session != after.session
        if key in NOT_COMPARED or (old[key] == new[key] and not owned):
            continue
        if key in KEYED_LISTS:
            name = KEYED_LISTS[key]
            had, has = _by(old[key], name, before.session, homes), _by(new[key], name, after.session, homes)
            owners = (before.session, after.session) if owned else None
            _tables(key, had, has, added, removed, changed, values=True, owners=owners)
        elif isinstance(old[key], list):
            _sets(key, old[key], new[key], added, removed, homes)
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


def with_contents(
    made: dict[str, Any], before: SessionState, after: SessionState, alike: Mapping[str, bool | None]
) -> dict[str, Any]:
    """A comparison of two branches with what is known of their files' contents, by key of the changed rows.

    What both did in the same way and with the same result is no difference: it goes from `changed` to `same`.
    Of what stays the row says whether the `content` differs, is the same nevertheless, or is unknown.
    """
    homes = _homes(before, after)
    same: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for row in made["changed"].get("files_modified", ()):
        known = alike.get(row["key"])
        one, other = ({**row[side], "from": _below(row[side]["from"], homes)} for side in ("from", "to"))
        if known and all(one[name] == other[name] for name in ("change", "from", "by")):
            same.append(row)
        else:
            rest.append({**row, "content": "unknown" if known is None else "same" if known else "different"})
    changed = {name: rows for name, rows in made["changed"].items() if name != "files_modified"}
    if rest:
        changed["files_modified"] = rest
    return {**made, "changed": changed, "same": {"files_modified": same} if same else {}}


def _homes(before: SessionState, after: SessionState) -> tuple[str, ...]:
    """The folders of two branches that work side by side: their files are the same by the path below them."""
    places = {one.workspace.rstrip("/") for one in (before, after) if one.workspace}
    return tuple(f"{one}/" for one in sorted(places, reverse=True)) if len(places) == 2 else ()


def _below(path: Any, homes: tuple[str, ...]) -> Any:
    if not isinstance(path, str):
        return path
    return next((path[len(home) :] or path for home in homes if path.startswith(home)), path)


def _by(
    rows: list[dict[str, Any]], name: str, session: str, homes: tuple[str, ...] = ()
) -> dict[Any, dict[str, Any]]:
    # A position means something only in its session; what a fork has from its parent says whose it is.
    if name == "path":
        return {_below(row[name], homes): row for row in rows}
    if name != "seq":
        return {row[name]: row for row in rows}
    return {(row.get("session", session), row["seq"]): row for row in rows}


def _same(one: Any, other: Any, owners: tuple[str, str] | None = None) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        # Each made its own change, at a position that may be the same number by chance.
        apart = owners is not None and one.get("session", owners[0]) != other.get("session", owners[1])
        gone = one.get("change") == other.get("change") == "deleted"
        if gone and (apart or one["path"] != other["path"]):
            return bool(one["by"] == other["by"])  # two branches without it, maybe each in its own folder
        if apart:
            return False
        return {**one, "session": None} == {**other, "session": None}
    return bool(one == other)


def _sets(
    key: str,
    old: list[Any],
    new: list[Any],
    added: dict[str, Any],
    removed: dict[str, Any],
    homes: tuple[str, ...],
) -> None:
    had, has = ({_below(one, homes): one for one in side} for side in (old, new))
    if came := [one for name, one in has.items() if name not in had]:
        added[key] = came
    if went := [one for name, one in had.items() if name not in has]:
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
    owners: tuple[str, str] | None = None,
) -> None:
    """Two tables compared; a table that is a list outside is told as a list of its rows."""
    came = {name: new[name] for name in new if name not in old}
    went = {name: old[name] for name in old if name not in new}
    moved = {
        name: {"from": old[name], "to": new[name]}
        for name in new
        if name in old and not _same(old[name], new[name], owners)
    }
    for target, rows in ((added, came), (removed, went)):
        if rows:
            target[key] = list(rows.values()) if values else rows
    if moved:
        changed[key] = [{"key": _shown(name), **row} for name, row in moved.items()] if values else moved


def _shown(key: Any) -> Any:
    return key[1] if isinstance(key, tuple) else key


def causes(events: Iterable[Event]) -> list[dict[str, Any]]:
    """The events that made the difference, in order; past the cap, how many more of each kind."""
    telling: list[tuple[int, dict[str, Any]]] = []
    steps: list[tuple[int, dict[str, Any]]] = []
    more: dict[str, int] = {}
    for place, event in enumerate(events):
        told = _cause(event)
        if told is None:
            continue
        role = _role(event)
        chosen = telling if role in TELLING else steps
        if len(chosen) < CAUSES:
            cause = {"seq": event.seq, "turn": event.turn, "kind": event.kind, "role": role, **told}
            chosen.append((place, cause))
        else:
            more[event.kind] = more.get(event.kind, 0) + 1
    room = CAUSES - len(telling)
    for _, cause in steps[room:]:
        more[cause["kind"]] = more.get(cause["kind"], 0) + 1
    named = [cause for _, cause in sorted([*telling, *steps[:room]], key=lambda one: one[0])]
    return named if not more else [*named, {"kind": "more", "role": "more", "counts": more}]


def _role(event: Event) -> str:
    """What part an event plays in a difference."""
    p = event.payload
    if event.kind == "decision":
        return "decision"
    if event.kind == "prompt":
        return "request"
    if event.kind in ("action", "action.amend") and p is not None:
        if p.outcome in FAILED:
            return "error"
        if getattr(p, "retry_of", None) is not None:
            return "retry"
        return "change" if any(touch.change != "read" for touch in p.files) else "step"
    return "change" if event.kind == "file" else "step"


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
        if target := target_of(p.input):
            told["target"] = target
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
