"""The fold's hand for calls: begun, ended, told more of, tried again, or never finished.

A call that began and can no longer finish is an error of its own kind, `interrupted`: found when its session
ends, when the user asks for the next thing, or when somebody says that its agent is gone. Should it finish
after all, that is what counts.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.model import doubts, payloads
from fazm_memory.model.builder import Builder, short
from fazm_memory.model.events import Event, target_of
from fazm_memory.model.fold_files import files_seen, touch_all
from fazm_memory.model.payloads import FAILED
from fazm_memory.model.trust import DOUBTED


def started(b: Builder, event: Event, p: payloads.ActionStart) -> None:
    entry: dict[str, Any] = {
        "tool": p.tool,
        "seq": event.seq,
        "at": event.at,
        "turn": event.turn,
        "target": target_of(p.input),
    }
    if p.agent_id is not None:
        entry["agent_id"] = p.agent_id
    b.put("running", p.call_id or f"#{event.seq}", entry)


def acted(b: Builder, event: Event, p: payloads.Action) -> None:
    b.count("actions")
    running = b.running.pop(p.call_id, None)
    began = _finished_after_all(b, p.call_id, event.seq if running is None else running["seq"])
    followed = _doubted_by(b, event, began)
    b.put("tools_used", p.tool, b.tools_used.get(p.tool, 0) + 1)
    if p.outcome in FAILED:
        b.count("failures")
        entry = {
            "seq": event.seq,
            "tool": p.tool,
            "outcome": p.outcome,
            "error": short(p.error),
            "result": short(p.output_summary),
            "target": target_of(p.input),
        }
        if p.retry_of is not None:
            entry["retry_of"] = p.retry_of
        b.put("errors", event.seq, entry | {"mended_by": None})
    else:
        _mended(b, p.retry_of, event.seq)
    touch_all(b, event, p.files, evidence=f"{p.tool} call", certain=p.outcome == "ok", doubted_by=followed)
    for shown in p.seen:
        files_seen(b, event, shown)


def _doubted_by(b: Builder, event: Event, began: int) -> int | None:
    """What a call followed that is of doubtful origin; what is so itself is followed by its own files."""
    followed = None if event.actor == "person" else doubts.source(b, began)
    doubts.led_to(b, followed, event)
    if event.trust not in DOUBTED:
        return followed
    doubts.note(b, event, began)
    return event.seq


def _mended(b: Builder, seq: int | None, by: int) -> None:
    """A failure that a retry mended, and the failures that this one had retried in turn."""
    while seq is not None and (failed := b.errors.get(seq)) is not None and failed["mended_by"] is None:
        b.errors[seq] = failed | {"mended_by": by}
        seq = failed.get("retry_of")


def amended(b: Builder, event: Event, p: payloads.ActionAmend) -> None:
    if p.outcome == "interrupted" and p.call_id in b.running:
        b.count("failures")  # told as a failure; one that is only found out counts as interrupted alone
        interrupt(b, event, {p.call_id: b.running[p.call_id]}, p.error or "never finished")
    elif p.outcome is not None and p.outcome in FAILED:
        b.count("failures")
        told = {"seq": event.seq, "tool": None, "outcome": p.outcome, "error": short(p.error)}
        b.put("errors", event.seq, told | {"mended_by": None})
    certain = p.outcome in (None, "ok")
    followed = doubts.source(b, event.seq)  # which call it is about is not known here: doubted too much
    touch_all(b, event, p.files, evidence="amended call", certain=certain, doubted_by=followed)


def interrupt(b: Builder, event: Event, calls: dict[str, dict[str, Any]], why: str) -> None:
    """Calls that can no longer finish."""
    for call, entry in list(calls.items()):
        b.count("interrupted")
        told = {
            "seq": entry["seq"],
            "tool": entry["tool"],
            "outcome": "interrupted",
            "error": short(why),
            "target": entry.get("target", ""),
            "call_id": call,
            "found_at": event.seq,
        }
        b.put("errors", entry["seq"], told | {"mended_by": None})
        b.running.pop(call, None)


def session_over(b: Builder, event: Event, p: Any) -> None:
    """A session that ends leaves nothing running."""
    interrupt(b, event, b.running, "its session ended before it did")


def asked_for_the_next(b: Builder, event: Event) -> None:
    """Who asks for the next thing has stopped the last one; what subagents do goes on by itself."""
    earlier = {
        call: entry
        for call, entry in b.running.items()
        if entry.get("turn", event.turn) < event.turn and "agent_id" not in entry
    }
    interrupt(b, event, earlier, "the user asked for the next thing before it ended")


def _finished_after_all(b: Builder, call: str | None, began: int) -> int:
    """Take back that a call was interrupted; where it was begun."""
    if call is None or not b.counts.get("interrupted"):
        return began
    for seq in [seq for seq, one in b.errors.items() if one.get("call_id") == call]:
        del b.errors[seq]
        b.count("interrupted", -1)
        began = min(began, seq)
    return began
