"""Differences between two states or texts, and their causes.

Each cause has a role. Decisions, errors, retries and requests are listed before other steps; what does not
fit is counted by kind.

A call follows an event when it began after it. The events of one call (start, end, amendment) belong
together, and so do the changes on disk that name the call, whichever turn they were recorded in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from fazm_memory.events import (
    FAILED,
    TRUST_RANK,
    Action,
    ActionStart,
    Event,
    FileChange,
    call_position,
    target_of,
)
from fazm_memory.records import dataclass
from fazm_memory.session.calls import LOOKUP_TOOLS
from fazm_memory.session.state import SessionState, state_to_json

# These change with every event.
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
    "questions": "text",
    "next": "what",
    "branches": "seq",
    "commits": "seq",
    "pull_requests": "number",
    "references": "name",
    "checks": "command",
    "notes": "path",
    "todos": "text",
    "retries": "seq",
    "artifacts": "name",
    "data_sources": "kind:name:place",
}
SINGLE = frozenset({"goal", "plan"})  # one value, compared as a whole
MAX_CAUSES = 200
MAIN_ROLES = frozenset({"decision", "error", "retry", "request"})


def compare(before: SessionState, after: SessionState, events: Iterable[Event] = ()) -> dict[str, Any]:
    """Compare two states.

    The result has `from, to, added, removed, changed` by key of the state, and `because`.
    """
    old, new = state_to_json(before), state_to_json(after)
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
        elif isinstance(old[key], dict) and key not in SINGLE:
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
    comparison: dict[str, Any], before: SessionState, after: SessionState, alike: Mapping[str, bool | None]
) -> dict[str, Any]:
    """Add whether changed files of two branches have equal contents.

    The rows have it as `alike`. A file that both changed in the same way to the same content moves from
    `changed` to `same`. The other rows say whether the `content` is different, the same or unknown.
    """
    homes = _homes(before, after)
    same: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for row in comparison["changed"].get("files_modified", ()):
        known = alike.get(row["key"])
        old, new = ({**row[side], "from": _below(row[side]["from"], homes)} for side in ("from", "to"))
        if known and all(old[name] == new[name] for name in ("change", "from", "by")):
            same.append(row)
        else:
            rest.append({**row, "content": "unknown" if known is None else "same" if known else "different"})
    changed = {name: rows for name, rows in comparison["changed"].items() if name != "files_modified"}
    if rest:
        changed["files_modified"] = rest
    return {**comparison, "changed": changed, "same": {"files_modified": same} if same else {}}


def _homes(before: SessionState, after: SessionState) -> tuple[str, ...]:
    """The folders of two branches. Files correspond by their path below these folders."""
    folders = {state.workspace.rstrip("/") for state in (before, after) if state.workspace}
    return tuple(f"{folder}/" for folder in sorted(folders, reverse=True)) if len(folders) == 2 else ()


def _below(path: Any, homes: tuple[str, ...]) -> Any:
    if not isinstance(path, str):
        return path
    return next((path[len(home) :] or path for home in homes if path.startswith(home)), path)


def _by(
    rows: list[dict[str, Any]], name: str, session: str, homes: tuple[str, ...] = ()
) -> dict[Any, dict[str, Any]]:
    # A position is meaningful only within its session. Rows that a fork inherited name the parent.
    if name == "path":
        return {_below(row[name], homes): row for row in rows}
    if name == "kind:name:place":
        return {f"{row['kind']}:{row['name']}:{row['place'] or ''}": row for row in rows}
    if name != "seq":
        return {row[name]: row for row in rows}
    return {(row.get("session", session), row["seq"]): row for row in rows}


def _same(old: Any, new: Any, owners: tuple[str, str] | None = None) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        # Two branches may have made different changes at the same position.
        apart = owners is not None and old.get("session", owners[0]) != new.get("session", owners[1])
        gone = old.get("change") == new.get("change") == "deleted"
        if gone and (apart or old["path"] != new["path"]):
            return bool(old["by"] == new["by"])
        if apart:
            return False
        return {**old, "session": None} == {**new, "session": None}
    return bool(old == new)


def _sets(
    key: str,
    old: list[Any],
    new: list[Any],
    added: dict[str, Any],
    removed: dict[str, Any],
    homes: tuple[str, ...],
) -> None:
    had, has = ({_below(value, homes): value for value in values} for values in (old, new))
    if more := [value for name, value in has.items() if name not in had]:
        added[key] = more
    if fewer := [value for name, value in had.items() if name not in has]:
        removed[key] = fewer


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
    """Compare two tables. With `values` the result is a list of rows, as outside."""
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
    """The events that made the difference, in order.

    The last entry counts those left out by kind.
    """
    main: list[tuple[int, dict[str, Any]]] = []
    steps: list[tuple[int, dict[str, Any]]] = []
    more: dict[str, int] = {}
    for place, event in enumerate(events):
        details = _cause(event)
        if details is None:
            continue
        role = _role(event)
        chosen = main if role in MAIN_ROLES else steps
        if len(chosen) < MAX_CAUSES:
            cause = {"seq": event.seq, "turn": event.turn, "kind": event.kind, "role": role, **details}
            chosen.append((place, cause))
        else:
            more[event.kind] = more.get(event.kind, 0) + 1
    room = MAX_CAUSES - len(main)
    for _, cause in steps[room:]:
        more[cause["kind"]] = more.get(cause["kind"], 0) + 1
    named = [cause for _, cause in sorted([*main, *steps[:room]], key=lambda item: item[0])]
    return named if not more else [*named, {"kind": "more", "role": "more", "counts": more}]


def add_replaced(because: list[dict[str, Any]], states: Iterable[SessionState]) -> None:
    """Add to each decision among the causes what it was chosen instead of."""
    rows = {seq: row for state in states for seq, row in state.decisions_made.items() if "instead_of" in row}
    for cause in because:
        if cause["kind"] == "decision" and cause["seq"] in rows:
            cause["instead_of"] = rows[cause["seq"]]["instead_of"]


def _role(event: Event) -> str:
    p = event.payload
    if event.kind == "decision":
        return "decision"
    if event.kind == "prompt":
        return "request"
    if event.kind in ("action", "action.amend") and p is not None:
        if p.outcome in FAILED:
            return "error"
        if getattr(p, "retry_of", None) is not None and p.tool.lower() not in LOOKUP_TOOLS:
            return "retry"
        return "change" if any(touch.change != "read" for touch in p.files) else "step"
    return "change" if event.kind == "file" else "step"


def _cause(event: Event) -> dict[str, Any] | None:
    """What an event did, and why.

    None for kinds that change nothing a reader asks about.
    """
    p, kind = event.payload, event.kind
    if p is None:
        return {"what": "forgotten"}
    if kind in NO_CAUSES:
        return None
    if kind in CAUSES:
        return CAUSES[kind](p)
    text = getattr(p, "what", None) or getattr(p, "note", None) or getattr(p, "title", None)
    return {"what": text or kind, "why": getattr(p, "reason", None)}


def _call(p: Any) -> dict[str, Any]:
    cause: dict[str, Any] = {"what": p.tool, "outcome": p.outcome}
    if p.outcome in FAILED:
        cause["why"] = p.error
    if p.retry_of is not None:
        cause["retry_of"] = p.retry_of
    if target := target_of(p.input):
        cause["target"] = target
    if p.files:
        cause["files"] = [touch.path for touch in p.files[:20]]
    return cause


def _decision(p: Any) -> dict[str, Any]:
    return {"what": p.what, "why": p.why, **({} if p.replaces is None else {"replaces": p.replaces})}


NO_CAUSES = frozenset({"message", "usage", "unknown", "seen", "action.start"})
CAUSES: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "decision": _decision,
    "action": _call,
    "budget": lambda p: {"what": f"the limit of {p.what} was passed: {p.spent:g} of {p.limit:g}"},
    "artifact": lambda p: {"what": f"artifact {p.name}"},
    "file": lambda p: {"what": f"{p.change} {p.path}", "why": f"by {p.by}: {p.evidence or 'seen on disk'}"},
    "prompt": lambda p: {"what": p.text[:200]},
    "evicted": lambda p: {"what": "the context was compacted", "keys": list(p.keys[:20])},
    "fact": lambda p: {"what": f"fact {p.key}"},
    "fact.retract": lambda p: {"what": f"fact {p.key} retracted", "why": p.reason},
    "pending.done": lambda p: {"what": f"done: {p.id}"},
    "handoff.answer": lambda p: {
        "what": "question waived" if p.waived else f"question answered: {p.answer}"[:200]
    },
}


CONTEXT_LINES = 3
MAX_LINES = 4000  # of both texts
MAX_SHOWN = 2000


def hunks(before: str, after: str) -> tuple[list[dict[str, Any]], str | None]:
    """The hunks, and why some are missing (None when all are there)."""
    from difflib import SequenceMatcher  # commands that compare nothing import this module too

    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MAX_LINES:
        return [], f"Too long to compare: {len(old):,} and {len(new):,} lines."
    found: list[dict[str, Any]] = []
    shown = 0
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        lines: list[dict[str, str]] = []
        for tag, low, high, first, last in group:
            if tag == "equal":
                lines += [{"op": " ", "text": line} for line in old[low:high]]
                continue
            lines += [{"op": "-", "text": line} for line in old[low:high]]
            lines += [{"op": "+", "text": line} for line in new[first:last]]
        shown += len(lines)
        if shown > MAX_SHOWN:
            return found, f"More than {MAX_SHOWN:,} lines differ. The first are shown."
        (_, low, _, first, _), (_, _, high, _, last) = group[0], group[-1]
        found.append({"a": low + 1, "a_lines": high - low, "b": first + 1, "b_lines": last - first,
                     "lines": lines})  # fmt: skip
    return found, None


# -- consequences ----------------------------------------------------------------------------------------

DEFERRED_WINDOW = 1000  # events after a position that are searched for deferred file events
STATEMENT_KINDS = frozenset({"decision", "fact", "pending", "handoff", "message", "evicted"})
CALL_KINDS = frozenset({"action", "action.start", "action.amend"})


def disk_changes_by_call(events: Iterable[Event]) -> dict[int, list[FileChange]]:
    """The changes on disk of each call, by the position where the call ended."""
    started: dict[str, int] = {}  # call id → position of its start
    ended: dict[int, int] = {}  # position of the start → position of the end
    by_start: dict[int, list[FileChange]] = {}
    for event in events:
        if isinstance(event.payload, ActionStart) and event.payload.call_id:
            started[event.payload.call_id] = event.seq
        elif isinstance(event.payload, Action) and event.payload.call_id in started:
            ended[started[event.payload.call_id]] = event.seq
        elif (call := call_position(event)) is not None:
            by_start.setdefault(call, []).append(event.payload)
    by_end: dict[int, list[FileChange]] = {}
    for call, changes in by_start.items():
        by_end.setdefault(ended.get(call, call), []).extend(changes)
    return by_end


@dataclass(frozen=True)
class Consequences:
    """Positions of an event with its own parts, and of what followed it."""

    itself: tuple[int, ...]
    words: tuple[int, ...] = ()
    calls: tuple[tuple[int, ...], ...] = ()  # all events of each call
    files: tuple[int, ...] = ()  # changes and listings

    @property
    def seqs(self) -> list[int]:
        return sorted({*self.itself, *self.words, *self.files, *(seq for call in self.calls for seq in call)})

    def within(self, seqs: Collection[int]) -> Consequences:
        """Only what is at these positions."""
        itself, words, files, *calls = (
            tuple(seq for seq in part if seq in seqs)
            for part in (self.itself, self.words, self.files, *self.calls)
        )
        return Consequences(itself, words, tuple(call for call in calls if call), files)


def consequences_of(events: Iterable[Event], seq: int, end: int, *, calls: bool) -> Consequences:
    """What followed the event at `seq`, in a turn that ends before `end`.

    `events` begin with the turn and go on after it, because deferred events may follow. Without `calls` only
    the agent's statements count.
    """
    itself, words, files = {seq}, [], []
    positions: dict[str, list[int]] = {}  # call id → its events
    following: dict[object, list[int]] = {}  # call id, or the position of a call without one → its events
    call_seqs: set[int] = set()  # a change on disk names one of these
    paths: set[str] = set()
    own_call: str | None = None
    for event in events:
        call = getattr(event.payload, "call_id", None) if event.kind in CALL_KINDS else None
        parts = [] if call is None else positions.setdefault(call, [])
        parts.append(event.seq)
        if event.seq == seq:
            own_call = call
            itself |= {*parts}
            call_seqs |= itself
        elif event.kind in CALL_KINDS and call is not None and call == own_call and event.seq > seq:
            itself.add(event.seq)
        elif event.seq < seq:
            continue
        elif event.kind in STATEMENT_KINDS:
            if event.seq < end and TRUST_RANK.get(event.trust, 0) <= TRUST_RANK["agent"]:
                words.append(event.seq)
        elif not calls:
            continue
        elif event.kind in CALL_KINDS:
            if parts[0] > seq and (event.seq < end or call in following):
                following.setdefault(event.seq if call is None else call, []).append(event.seq)
                call_seqs.add(event.seq)
                paths |= {touch.path for touch in getattr(event.payload, "files", ())}
        elif _is_effect(event, end, call_seqs, paths):
            files.append(event.seq)
    return Consequences(
        tuple(sorted(itself)), tuple(words), tuple(tuple(seqs) for seqs in following.values()), tuple(files)
    )


def _is_effect(event: Event, end: int, call_seqs: set[int], paths: set[str]) -> bool:
    """Whether a file event or a listing comes from one of these calls."""
    if event.kind == "seen":
        return event.seq < end
    if event.kind != "file" or event.payload is None or event.payload.by == "person":
        return False
    call = call_position(event)
    if call is not None:
        return call in call_seqs
    return event.seq < end and (event.payload.by == "agent" or event.payload.path in paths)
