"""The fold: SessionState from events, one step per event.

From outside it is pure: it copies once, applies many events, and returns a new value. A step costs what the
event changes, never what the session holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fazm_memory.model import lifecycle, payloads
from fazm_memory.model.builder import Builder, short, small
from fazm_memory.model.events import Event, target_of
from fazm_memory.model.fold_files import file_changed, files_seen, touch_all
from fazm_memory.model.payloads import FAILED
from fazm_memory.model.state import SessionState
from fazm_memory.model.trust import lowest


def initial(session: str) -> SessionState:
    return SessionState(session=session)


def fold(state: SessionState, events: Iterable[Event]) -> SessionState:
    """The state after these events. `fold(fold(s, a), b) == fold(s, a + b)`."""
    builder = Builder(state)
    for event in events:
        _step(builder, event)
    return builder.freeze()


def _step(b: Builder, event: Event) -> None:
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


def _opened(b: Builder, event: Event, p: payloads.SessionOpen) -> None:
    # A fork's own opening follows its parent's past: it continues that state under a new name.
    b.agent, b.workspace = p.agent, p.workspace or b.workspace
    b.title = short(p.title) or b.title
    if p.parent is not None and b.lifecycle in ("closed", "archived", "paused"):
        b.lifecycle = "open"
    if p.budget_tokens is not None:
        b.budget["limit"] = p.budget_tokens


def _titled(b: Builder, event: Event, p: payloads.SessionTitle) -> None:
    b.title = short(p.title)


def _prompted(b: Builder, event: Event, p: payloads.Prompt) -> None:
    b.count("prompts")
    b.put(
        "requests",
        event.seq,
        {"seq": event.seq, "at": event.at, "turn": event.turn, "text": short(p.text), "trust": event.trust},
    )
    b.title = b.title or short(p.text.strip().split("\n", 1)[0][:80] or None)


def _started(b: Builder, event: Event, p: payloads.ActionStart) -> None:
    b.put("running", p.call_id or f"#{event.seq}", {"tool": p.tool, "seq": event.seq, "at": event.at})


def _acted(b: Builder, event: Event, p: payloads.Action) -> None:
    b.count("actions")
    b.running.pop(p.call_id, None)
    b.put("tools_used", p.tool, b.tools_used.get(p.tool, 0) + 1)
    if p.outcome in FAILED:
        b.count("failures")
        entry = {
            "seq": event.seq,
            "tool": p.tool,
            "outcome": p.outcome,
            "error": short(p.error),
            "target": target_of(p.input),
        }
        if p.retry_of is not None:
            entry["retry_of"] = p.retry_of
        b.put("errors", event.seq, entry | {"mended_by": None})
    elif p.retry_of in b.errors:
        b.errors[p.retry_of] = b.errors[p.retry_of] | {"mended_by": event.seq}
    touch_all(b, event, p.files, evidence=f"{p.tool} call", certain=p.outcome == "ok")


def _amended(b: Builder, event: Event, p: payloads.ActionAmend) -> None:
    if p.outcome is not None and p.outcome in FAILED:
        b.count("failures")
        b.put(
            "errors",
            event.seq,
            {
                "seq": event.seq,
                "tool": None,
                "outcome": p.outcome,
                "error": short(p.error),
                "mended_by": None,
            },
        )
    touch_all(b, event, p.files, evidence="amended call", certain=p.outcome in (None, "ok"))


def _decided(b: Builder, event: Event, p: payloads.Decision) -> None:
    b.count("decisions")
    b.put("decisions_made", event.seq, {
        "seq": event.seq, "at": event.at, "turn": event.turn, "what": short(p.what), "why": short(p.why),
        "alternatives": [short(one) for one in p.alternatives[:10]], "trust": event.trust,
    })  # fmt: skip


def _fact(b: Builder, event: Event, p: payloads.Fact) -> None:
    told = {"value": small(p.value), "seq": event.seq, "trust": event.trust, "actor": event.actor}
    b.put("facts", p.key, told)


def _retracted(b: Builder, event: Event, p: payloads.FactRetract) -> None:
    b.facts.pop(p.key, None)


def _pending(b: Builder, event: Event, p: payloads.Pending) -> None:
    b.put("pending_actions", p.id, {"id": p.id, "what": short(p.what), "seq": event.seq})


def _done(b: Builder, event: Event, p: payloads.PendingDone) -> None:
    b.pending_actions.pop(p.id, None)


def _evicted(b: Builder, event: Event, p: payloads.Evicted) -> None:
    b.count("compactions")
    for key in p.keys:
        b.put("evicted_keys", key, event.seq)


def _handed(b: Builder, event: Event, p: payloads.Handoff) -> None:
    schema = small(p.answer_schema)
    if isinstance(schema, str):  # cut text is no schema; the event has it whole
        schema = {"$comment": f"too long to keep in state: see event {event.seq}"}
    question = {"id": p.id, "to": p.to, "note": short(p.note), "seq": event.seq, "answer_schema": schema}
    b.put("questions", p.id, question)


def _answered(b: Builder, event: Event, p: payloads.HandoffAnswer) -> None:
    b.questions.pop(p.id, None)


def _app(b: Builder, event: Event, p: payloads.AppSpan) -> None:
    entry = b.apps.get(p.app, {"spans": 0})
    b.put(
        "apps",
        p.app,
        {
            "spans": entry["spans"] + 1,
            "title": short(p.title),
            "document": short(p.document),
            "last_seq": event.seq,
        },
    )


def _used(b: Builder, event: Event, p: payloads.Usage) -> None:
    for name in ("input_tokens", "output_tokens", "cached_tokens"):
        b.budget[name] = b.budget.get(name, 0) + getattr(p, name)
    if p.budget_tokens is not None:
        b.budget["limit"] = p.budget_tokens


def _marked(kind: str) -> Callable[[Builder, Event, Any], None]:
    def apply(b: Builder, event: Event, p: Any) -> None:
        b.count(kind)
        b.put("marks", event.seq, {"seq": event.seq, "kind": kind, "at": event.at})

    return apply


def _rewound(b: Builder, event: Event, p: payloads.Rewind) -> None:
    _marked("rewind")(b, event, p)
    b.lifecycle = "active"  # work is taken up there, even if the session was put aside at that moment


APPLY: dict[str, Callable[[Builder, Event, Any], None]] = {
    "session.open": _opened,
    "session.title": _titled,
    "prompt": _prompted,
    "action.start": _started,
    "action": _acted,
    "action.amend": _amended,
    "file": file_changed,
    "seen": files_seen,
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
