"""The words of the log: names of kinds, changes and outcomes, apart from the shapes they stand for.

Making the shapes takes longer than starting Python does, and what lists the words only needs these.
"""

from __future__ import annotations

from typing import Literal

Change = Literal["created", "modified", "renamed", "deleted"]
Touch = Literal["created", "modified", "renamed", "deleted", "read"]
Outcome = Literal["ok", "error", "denied", "timeout", "interrupted"]
By = Literal["agent", "person", "unknown"]

# In the order of `events.KINDS`, which says what each is.
KIND_NAMES = (
    "session.open", "session.title", "session.pause", "session.resume", "session.close", "session.archive",
    "session.restore", "prompt", "message", "action.start", "action", "action.amend", "decision", "fact",
    "fact.retract", "pending", "pending.done", "file", "seen", "evicted", "handoff", "handoff.answer",
    "rewind", "gap", "app", "usage", "quarantine", "forgotten", "checkpoint", "recovered", "unknown",
)  # fmt: skip
