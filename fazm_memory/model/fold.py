"""The fold: SessionState from events, one step per event.

From outside it is pure: it copies once, applies many events, and returns a new value. A step costs what the
event changes, never what the session holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from fazm_memory.model import lifecycle, payloads
from fazm_memory.model.events import Event, target_of
from fazm_memory.model.payloads import FAILED, By
from fazm_memory.model.state import BOUNDS, INT_KEYED, SEEN_FILES, TEXT_BOUND, VALUE_BOUND, SessionState
from fazm_memory.model.trust import lowest
from fazm_memory.model.working_set import apply_change, parent_folder

COPIED = (*BOUNDS, "budget", "counts", "omitted")


class _Builder:
    """A state being folded: the same fields, mutable, private to one call of `fold`."""

    def __init__(self, base: SessionState) -> None:
        self.__dict__.update(base.__dict__)
        for name in COPIED:
            self.__dict__[name] = dict(getattr(base, name))

    if TYPE_CHECKING:  # the fields are those of SessionState; here they may be set

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def freeze(self) -> SessionState:
        return SessionState(**self.__dict__)

    def put(self, name: str, key: Any, value: Any) -> None:
        """Newest last; beyond the bound the oldest goes and is counted."""
        table: dict[Any, Any] = self.__dict__[name]
        table.pop(key, None)
        table[key] = value
        self.trim(name)

    def trim(self, name: str) -> None:
        table: dict[Any, Any] = self.__dict__[name]
        while len(table) > BOUNDS[name]:
            del table[next(iter(table))]
            self.omitted[name] = self.omitted.get(name, 0) + 1

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by


def initial(session: str) -> SessionState:
    return SessionState(session=session)


def fold(state: SessionState, events: Iterable[Event]) -> SessionState:
    """The state after these events. `fold(fold(s, a), b) == fold(s, a + b)`."""
    builder = _Builder(state)
    for event in events:
        _step(builder, event)
    return builder.freeze()


def _step(b: _Builder, event: Event) -> None:
    b.at = event.seq + 1
    b.turn = max(b.turn, event.turn)
    b.last_at = max(b.last_at, event.at)
    if event.kind != "session.open":
        moved = lifecycle.after(b.lifecycle, lifecycle.move_of(event.kind))
        # The log refuses a wrong move before it is written; records of the past may still hold one.
        b.lifecycle = moved if moved is not None else b.lifecycle
    if event.payload is None:
        b.count("forgotten")
        return
    b.trust = lowest((b.trust, event.trust))
    apply = APPLY.get(event.kind)
    if apply is not None:
        apply(b, event, event.payload)


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= TEXT_BOUND else text[: TEXT_BOUND - 1] + "…"


def _small(value: Any) -> Any:
    """A value as a state may hold it: one that is too large is told as the beginning of its text."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False)
        return value if len(text) <= VALUE_BOUND else _short(text)
    return value


def _opened(b: _Builder, event: Event, p: payloads.SessionOpen) -> None:
    # A fork's own opening follows its parent's past: it continues that state under a new name.
    b.agent, b.workspace = p.agent, p.workspace or b.workspace
    b.title = _short(p.title) or b.title
    if p.parent is not None and b.lifecycle in ("closed", "archived", "paused"):
        b.lifecycle = "open"
    if p.budget_tokens is not None:
        b.budget["limit"] = p.budget_tokens


def _titled(b: _Builder, event: Event, p: payloads.SessionTitle) -> None:
    b.title = _short(p.title)


def _prompted(b: _Builder, event: Event, p: payloads.Prompt) -> None:
    b.count("prompts")
    b.put(
        "requests",
        event.seq,
        {"seq": event.seq, "at": event.at, "turn": event.turn, "text": _short(p.text), "trust": event.trust},
    )
    b.title = b.title or _short(p.text.strip().split("\n", 1)[0][:80] or None)


def _started(b: _Builder, event: Event, p: payloads.ActionStart) -> None:
    b.put("running", p.call_id or f"#{event.seq}", {"tool": p.tool, "seq": event.seq, "at": event.at})


def _acted(b: _Builder, event: Event, p: payloads.Action) -> None:
    b.count("actions")
    b.running.pop(p.call_id, None)
    b.put("tools_used", p.tool, b.tools_used.get(p.tool, 0) + 1)
    if p.outcome in FAILED:
        b.count("failures")
        entry = {
            "seq": event.seq,
            "tool": p.tool,
            "outcome": p.outcome,
            "error": _short(p.error),
            "target": target_of(p.input),
        }
        if p.retry_of is not None:
            entry["retry_of"] = p.retry_of
        b.put("errors", event.seq, entry | {"mended_by": None})
    elif p.retry_of in b.errors:
        b.errors[p.retry_of] = b.errors[p.retry_of] | {"mended_by": event.seq}
    _touch_all(b, event, p.files, evidence=f"{p.tool} call", certain=p.outcome == "ok")


def _amended(b: _Builder, event: Event, p: payloads.ActionAmend) -> None:
    if p.outcome is not None and p.outcome in FAILED:
        b.count("failures")
        b.put(
            "errors",
            event.seq,
            {
                "seq": event.seq,
                "tool": None,
                "outcome": p.outcome,
                "error": _short(p.error),
                "mended_by": None,
            },
        )
    _touch_all(b, event, p.files, evidence="amended call", certain=p.outcome in (None, "ok"))


def _touch_all(
    b: _Builder, event: Event, files: tuple[payloads.FileTouch, ...], *, evidence: str, certain: bool
) -> None:
    by: By = "person" if event.actor == "person" else "agent"
    for touch in files:
        why = "" if certain and not touch.inferred else f", inferred{': ' + touch.why if touch.why else ''}"
        if touch.change == "read":
            b.put("files_read", touch.path, event.seq)
            _visit(b, touch.path, "read", event)
        else:
            _changed(b, event, touch.path, touch.change, touch.origin, by, evidence + why)


def _changed(
    b: _Builder, event: Event, path: str, change: Any, origin: str | None, by: By, evidence: str
) -> None:
    b.count("files_modified")
    told = _short(evidence) or ""
    apply_change(b.files_modified, path, change, origin=origin, by=by, evidence=told, seq=event.seq)
    b.trim("files_modified")
    _visit(b, path, change, event)
    if change == "renamed" and origin is not None and parent_folder(origin) != parent_folder(path):
        _visit(b, origin, "moved_out", event)


def _visit(b: _Builder, path: str, change: str, event: Event) -> None:
    folder = parent_folder(path)
    entry = b.folders.get(folder, {})
    b.put("folders", folder, entry | {change: entry.get(change, 0) + 1, "last_seq": event.seq})


def _file_changed(b: _Builder, event: Event, p: payloads.FileChange) -> None:
    _changed(b, event, p.path, p.change, p.origin, p.by, p.evidence or "seen on disk")


def _seen(b: _Builder, event: Event, p: payloads.Seen) -> None:
    known = b.seen.get(p.folder, {"files": [], "total": 0})
    files = list(dict.fromkeys([*known["files"], *p.files]))
    total = max(known["total"], p.total or 0, len(files))
    b.put("seen", p.folder, {"files": files[:SEEN_FILES], "total": total, "seq": event.seq})


def _decided(b: _Builder, event: Event, p: payloads.Decision) -> None:
    b.count("decisions")
    b.put("decisions_made", event.seq, {
        "seq": event.seq, "at": event.at, "turn": event.turn, "what": _short(p.what), "why": _short(p.why),
        "alternatives": [_short(one) for one in p.alternatives[:10]], "trust": event.trust,
    })  # fmt: skip


def _fact(b: _Builder, event: Event, p: payloads.Fact) -> None:
    told = {"value": _small(p.value), "seq": event.seq, "trust": event.trust, "actor": event.actor}
    b.put("facts", p.key, told)


def _retracted(b: _Builder, event: Event, p: payloads.FactRetract) -> None:
    b.facts.pop(p.key, None)


def _pending(b: _Builder, event: Event, p: payloads.Pending) -> None:
    b.put("pending_actions", p.id, {"id": p.id, "what": _short(p.what), "seq": event.seq})


def _done(b: _Builder, event: Event, p: payloads.PendingDone) -> None:
    b.pending_actions.pop(p.id, None)


def _evicted(b: _Builder, event: Event, p: payloads.Evicted) -> None:
    b.count("compactions")
    for key in p.keys:
        b.put("evicted_keys", key, event.seq)


def _handed(b: _Builder, event: Event, p: payloads.Handoff) -> None:
    schema = _small(p.answer_schema)
    if isinstance(schema, str):  # cut text is no schema; the event has it whole
        schema = {"$comment": f"too long to keep in state: see event {event.seq}"}
    question = {"id": p.id, "to": p.to, "note": _short(p.note), "seq": event.seq, "answer_schema": schema}
    b.put("questions", p.id, question)


def _answered(b: _Builder, event: Event, p: payloads.HandoffAnswer) -> None:
    b.questions.pop(p.id, None)


def _app(b: _Builder, event: Event, p: payloads.AppSpan) -> None:
    entry = b.apps.get(p.app, {"spans": 0})
    b.put(
        "apps",
        p.app,
        {
            "spans": entry["spans"] + 1,
            "title": _short(p.title),
            "document": _short(p.document),
            "last_seq": event.seq,
        },
    )


def _used(b: _Builder, event: Event, p: payloads.Usage) -> None:
    for name in ("input_tokens", "output_tokens", "cached_tokens"):
        b.budget[name] = b.budget.get(name, 0) + getattr(p, name)
    if p.budget_tokens is not None:
        b.budget["limit"] = p.budget_tokens


def _marked(kind: str) -> Callable[[_Builder, Event, Any], None]:
    def apply(b: _Builder, event: Event, p: Any) -> None:
        b.count(kind)
        b.put("marks", event.seq, {"seq": event.seq, "kind": kind, "at": event.at})

    return apply


def _rewound(b: _Builder, event: Event, p: payloads.Rewind) -> None:
    _marked("rewind")(b, event, p)
    b.lifecycle = "active"  # work is taken up there, even if the session was put aside at that moment


APPLY: dict[str, Callable[[_Builder, Event, Any], None]] = {
    "session.open": _opened,
    "session.title": _titled,
    "prompt": _prompted,
    "action.start": _started,
    "action": _acted,
    "action.amend": _amended,
    "file": _file_changed,
    "seen": _seen,
    "decision": _decided,
    "fact": _fact,
    "fact.retract": _retracted,
    "pending": _pending,
    "pending.done": _done,
    "evicted": _evicted,
    "handoff": _handed,
    "handoff.answer": _answered,
    "app": _app,
    "usage": _used,
    "gap": _marked("gap"),
    "rewind": _rewound,
    "recovered": _marked("recovered"),
    "quarantine": _marked("quarantine"),
}


def interrupted(state: SessionState) -> SessionState:
    """The same state with calls that never finished told as interrupted: how a fork in mid-action begins."""
    if not state.running:
        return state
    b = _Builder(state)
    for call, entry in state.running.items():
        why = f"call {call} never finished"
        told = {"seq": entry["seq"], "tool": entry["tool"], "outcome": "interrupted", "error": _short(why)}
        b.put("errors", entry["seq"], told | {"mended_by": None})
    b.running = {}
    return b.freeze()


def inherited(state: SessionState, session: str) -> SessionState:
    """Where a fork begins: its parent's state under its own name, open, with nothing running.

    What is kept by position is counted back from the fork and says whose it is, so that the fork's own
    positions, which begin at 0 again, never push it out.
    """
    b = _Builder(interrupted(state))
    for name in INT_KEYED:
        table = b.__dict__[name]
        b.__dict__[name] = {seq - b.at: {"session": b.session} | entry for seq, entry in table.items()}
    b.session, b.at, b.lifecycle = session, 0, "open"
    return b.freeze()


def delta(event: Event) -> dict[str, Any]:
    """What this one event adds to a state: the `delta` of the commit log."""
    made = fold(initial(event.session), [event])
    told: dict[str, Any] = {}
    if made.files_modified:
        told["files_modified"] = [entry.to_json() for entry in made.files_modified.values()]
    for name in ("tools_used", "files_read", "errors", "facts", "decisions_made", "pending_actions"):
        table = getattr(made, name)
        if table:
            told[name] = list(table)
    return told
