"""The fold: SessionState from events, one step per event.

From outside it is pure: it copies once, applies many events, and returns a new value. A step costs what the
event changes, never what the session holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fazm_memory.model import doubts, fold_calls, lifecycle, payloads
from fazm_memory.model.builder import Builder, short, small
from fazm_memory.model.events import Event, target_of
from fazm_memory.model.eviction import evicted, in_sight
from fazm_memory.model.fold_files import file_changed, files_seen
from fazm_memory.model.state import SessionState, from_plain
from fazm_memory.model.trust import DOUBTED, lowest

# What an untrusted text can plant in a session: the text itself, and what an agent makes of it.
CAN_BE_POISONED = frozenset({"prompt", "message", "action", "decision", "fact", "pending", "handoff"})


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
    if event.turn > b.turn:
        b.turn = event.turn
        doubts.turned(b, event)
    if event.kind not in lifecycle.KEEPING:
        b.last_at = max(b.last_at, event.at)
    # The log refuses a wrong move before it is written; records of the past may still hold one.
    b.lifecycle = lifecycle.moved(b.lifecycle, event.kind) or b.lifecycle
    if event.kind == "rewind":  # work is taken up there, even if the session was put aside at that moment
        b.lifecycle = "active"
    if event.payload is None:
        b.count("forgotten")
        if event.kind == "action" and event.trust in DOUBTED:
            doubts.note(b, event, event.seq)
        return
    b.trust = lowest((b.trust, event.trust))
    if event.trust in DOUBTED and event.kind in CAN_BE_POISONED:
        _doubted(b, event)
    apply = APPLY.get(event.kind)
    if apply is not None:
        apply(b, event, event.payload)


def _doubted(b: Builder, event: Event) -> None:
    p = event.payload
    about = next((text for name in ("what", "key", "note", "text") if (text := getattr(p, name, None))), None)
    b.put("untrusted", event.seq, {
        "seq": event.seq, "kind": event.kind, "trust": event.trust, "actor": event.actor,
        "source": event.source, "digest": event.digest, "tool": getattr(p, "tool", None),
        "what": short(about or target_of(getattr(p, "input", None))),
    })  # fmt: skip


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
    fold_calls.asked_for_the_next(b, event)
    b.put(
        "requests",
        event.seq,
        {"seq": event.seq, "at": event.at, "turn": event.turn, "text": short(p.text), "trust": event.trust},
    )
    b.title = b.title or short(p.text.strip().split("\n", 1)[0][:80] or None)


def _decided(b: Builder, event: Event, p: payloads.Decision) -> None:
    b.count("decisions")
    b.put("decisions_made", event.seq, {
        "seq": event.seq, "at": event.at, "turn": event.turn, "what": short(p.what), "why": short(p.why),
        "alternatives": [short(one) for one in p.alternatives[:10]], "trust": event.trust,
    })  # fmt: skip


def _fact(b: Builder, event: Event, p: payloads.Fact) -> None:
    told = {"value": small(p.value), "seq": event.seq, "trust": event.trust, "actor": event.actor}
    b.put("facts", p.key, told)
    in_sight(b, f"fact:{p.key}")


def _retracted(b: Builder, event: Event, p: payloads.FactRetract) -> None:
    b.facts.pop(p.key, None)


def _pending(b: Builder, event: Event, p: payloads.Pending) -> None:
    told = {"id": p.id, "what": short(p.what), "seq": event.seq, "trust": event.trust}
    b.put("pending_actions", p.id, told)
    in_sight(b, f"pending:{p.id}")


def _done(b: Builder, event: Event, p: payloads.PendingDone) -> None:
    b.pending_actions.pop(p.id, None)
    in_sight(b, f"pending:{p.id}")


def _handed(b: Builder, event: Event, p: payloads.Handoff) -> None:
    schema = small(p.answer_schema)
    if isinstance(schema, str):  # cut text is no schema; the event has it whole
        schema = {"$comment": f"too long to keep in state: see event {event.seq}"}
    question = {"id": p.id, "to": p.to, "note": short(p.note), "seq": event.seq, "answer_schema": schema}
    b.put("questions", p.id, question)


def _answered(b: Builder, event: Event, p: payloads.HandoffAnswer) -> None:
    asked = b.questions.pop(p.id, None)
    if asked is None:
        return
    b.put("answered", p.id, {
        "id": p.id, "note": asked["note"], "answer": small(p.answer), "waived": p.waived, "by": event.actor,
        "source": event.source, "at": event.at, "seq": event.seq, "asked": asked["seq"],
    })  # fmt: skip


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


def _stood(b: Builder, event: Event, p: payloads.Checkpoint) -> None:
    # When it was written the fold stood here already; once what led here is let go, only this says so.
    kept = from_plain(p.state)
    own = ("session", "at", "last_at", "turn", "lifecycle")  # the envelopes that are left tell these
    trust = lowest((kept.trust, event.trust))  # what it says of itself makes it no more believable
    b.__dict__.update(Builder(kept).__dict__ | {name: b.__dict__[name] for name in own} | {"trust": trust})


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


APPLY: dict[str, Callable[[Builder, Event, Any], None]] = {
    "session.open": _opened,
    "session.title": _titled,
    "prompt": _prompted,
    "action.start": fold_calls.started,
    "action": fold_calls.acted,
    "action.amend": fold_calls.amended,
    "session.close": fold_calls.session_over,
    "session.archive": fold_calls.session_over,
    "file": file_changed,
    "seen": files_seen,
    "decision": _decided,
    "fact": _fact,
    "fact.retract": _retracted,
    "pending": _pending,
    "pending.done": _done,
    "evicted": evicted,
    "handoff": _handed,
    "handoff.answer": _answered,
    "app": _app,
    "usage": _used,
    "checkpoint": _stood,
    "gap": _marked("gap"),
    "rewind": _marked("rewind"),
    "recovered": _marked("recovered"),
    "quarantine": _marked("quarantine"),
}


def delta(event: Event) -> dict[str, Any]:
    """What this one event adds to a state: the `delta` of the commit log."""
    if event.kind == "checkpoint":  # it repeats what others added
        return {}
    made = fold(initial(event.session), [event])
    told: dict[str, Any] = {}
    if made.files_modified:
        told["files_modified"] = [entry.to_json() for entry in made.files_modified.values()]
    for name in ("tools_used", "files_read", "errors", "facts", "decisions_made", "pending_actions"):
        table = getattr(made, name)
        if table:
            told[name] = list(table)
    return told
