"""Names of event kinds, changes and outcomes, without the payload classes.

Importing the payload classes takes longer than starting Python. What only lists names imports this.
"""

from __future__ import annotations

from typing import Literal

Change = Literal["created", "modified", "renamed", "deleted"]
Touch = Literal["created", "modified", "renamed", "deleted", "read"]
Outcome = Literal["ok", "error", "denied", "timeout", "interrupted"]
By = Literal["agent", "person", "unknown"]
DecisionForm = Literal["refusal", "answer", "plan"]
PlanStatus = Literal["presented", "accepted", "rejected", "replaced"]
BudgetLimit = Literal["tokens", "usd", "seconds", "actions"]
ArtifactForm = Literal["feature_list", "progress_log", "checklist", "document"]
TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]

# In the order of `events.KINDS`, which says what each is.
KIND_NAMES = (
    "session.open", "session.title", "session.pause", "session.resume", "session.close", "session.archive",
    "session.restore", "prompt", "message", "action.start", "action", "action.amend", "decision", "plan",
    "todos", "branch", "artifact", "fact", "fact.retract", "pending", "pending.done", "file", "seen",
    "evicted", "handoff", "handoff.answer", "rewind", "gap", "app", "usage", "budget", "quarantine",
    "forgotten", "checkpoint", "recovered", "unknown",
)  # fmt: skip
