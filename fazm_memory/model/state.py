"""SessionState: what a session stands in, as a bounded value.

It is bounded whatever the length of the log, so that a snapshot stays small and a step stays cheap. Tables
that would grow keep their newest entries and count the rest in `omitted`; the log has them all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fazm_memory.model.clock import iso
from fazm_memory.model.lifecycle import Lifecycle
from fazm_memory.model.working_set import FileEntry

FOLD_VERSION = 7  # a snapshot made by another version of the fold is not used

BOUNDS: dict[str, int] = {
    "tools_used": 200,
    "files_modified": 1000,
    "files_read": 300,
    "folders": 200,
    "apps": 50,
    "decisions_made": 200,
    "pending_actions": 200,
    "facts": 300,
    "errors": 50,
    "evicted_keys": 300,
    "seen": 50,
    "running": 100,
    "questions": 50,
    "answered": 50,
    "untrusted": 50,
    "doubts": 16,
    "marks": 100,
    "requests": 20,
}
TEXT_BOUND = 500  # of any text kept in state; the log has it whole
VALUE_BOUND = 4000  # of the JSON of any value kept in state
SEEN_FILES = 400
HELD_BACK = "held_back"  # in `counts` of a state as exports see it: calls that are not in it


@dataclass(frozen=True)
class SessionState:
    """Where a session stands after its first `at` events."""

    session: str = ""
    at: int = 0
    lifecycle: Lifecycle = "open"
    turn: int = 0
    last_at: int = 0
    agent: str = ""
    workspace: str | None = None
    title: str | None = None
    tools_used: dict[str, int] = field(default_factory=dict)
    files_modified: dict[str, FileEntry] = field(default_factory=dict)
    files_read: dict[str, int] = field(default_factory=dict)
    folders: dict[str, dict[str, Any]] = field(default_factory=dict)
    apps: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions_made: dict[int, dict[str, Any]] = field(default_factory=dict)
    pending_actions: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: dict[int, dict[str, Any]] = field(default_factory=dict)
    evicted_keys: dict[str, int] = field(default_factory=dict)
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    running: dict[str, dict[str, Any]] = field(default_factory=dict)
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    answered: dict[str, dict[str, Any]] = field(default_factory=dict)
    untrusted: dict[int, dict[str, Any]] = field(default_factory=dict)
    doubts: dict[int, dict[str, Any]] = field(default_factory=dict)  # for the fold alone, see `doubts`
    marks: dict[int, dict[str, Any]] = field(default_factory=dict)
    requests: dict[int, dict[str, Any]] = field(default_factory=dict)
    trust: str = "user"
    budget: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    omitted: dict[str, int] = field(default_factory=dict)


INT_KEYED = ("decisions_made", "errors", "marks", "requests", "untrusted", "doubts")


def to_snapshot(state: SessionState) -> bytes:
    """The state as bytes, for the cache of folds."""
    raw = to_plain(state)
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def from_snapshot(data: bytes) -> SessionState:
    return from_plain(json.loads(data))


def to_plain(state: SessionState) -> dict[str, Any]:
    """All of the state as plain values that JSON can hold."""
    raw = dict(state.__dict__)
    raw["files_modified"] = [entry.to_json() for entry in state.files_modified.values()]
    for name in INT_KEYED:
        raw[name] = {str(key): value for key, value in raw[name].items()}
    return raw


def from_plain(given: Mapping[str, Any]) -> SessionState:
    """The state again. A field that an older program did not know yet takes its default."""
    raw = {one.name: given[one.name] for one in fields(SessionState) if one.name in given}
    raw["files_modified"] = {one["path"]: FileEntry.from_json(one) for one in raw["files_modified"]}
    for name in INT_KEYED:
        raw[name] = {int(key): value for key, value in raw.get(name, {}).items()}
    return SessionState(**raw)


def to_json(state: SessionState) -> dict[str, Any]:
    """The state as the contract promises it. Conventions and skips are learned by whoever asks."""
    return {
        "session": state.session,
        "at": state.at,
        "lifecycle": state.lifecycle,
        "turn": state.turn,
        "agent": state.agent,
        "workspace": state.workspace,
        "title": state.title,
        "last_at": iso(state.last_at) if state.last_at else None,
        "requests": [one | {"at": iso(one["at"])} for one in state.requests.values()],
        "tools_used": dict(sorted(state.tools_used.items(), key=lambda item: (-item[1], item[0]))),
        "files_modified": [entry.to_json() for entry in state.files_modified.values()],
        "files_read": list(state.files_read),
        "folders": [{"path": path, **entry} for path, entry in state.folders.items()],
        "apps": [{"app": app, **entry} for app, entry in state.apps.items()],
        "decisions_made": [one | {"at": iso(one["at"])} for one in state.decisions_made.values()],
        "pending_actions": list(state.pending_actions.values()),
        "facts": dict(state.facts),
        "errors": list(state.errors.values()),
        "evicted_keys": list(state.evicted_keys),
        "evicted": [{"key": key, "seq": seq} for key, seq in state.evicted_keys.items()],
        "running": [
            {"call_id": call, **entry, "at": iso(entry["at"])} for call, entry in state.running.items()
        ],
        "open_questions": list(state.questions.values()),
        "answered_questions": [one | {"at": iso(one["at"])} for one in state.answered.values()],
        "untrusted": list(state.untrusted.values()),
        "trust": state.trust,
        "budget": dict(state.budget),
        "counts": dict(state.counts),
        "omitted": dict(state.omitted),
    }
