"""The budget of a session: limits of tokens, money, time and actions, and what was spent of them.

The time is that between the opening and the last event, without the time the session was paused. The state
stores the parts from which everything here is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fazm_memory.events import Event

TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
# The stored name of each limit. `limit` is that of tokens, which came first.
LIMITS = {"tokens": "limit", "usd": "limit_usd", "seconds": "limit_seconds", "actions": "limit_actions"}
FIELDS = {"tokens": "budget_tokens", "usd": "budget_usd", "seconds": "budget_seconds",
          "actions": "budget_actions"}  # fmt: skip
HIDDEN = frozenset({"began_at", "paused_at", "paused"})
MOST_USD = 1e12
SECOND = 1_000_000


def take_limits(budget: dict[str, Any], payload: Any) -> None:
    """Set the limits that an opening or a usage states."""
    for what, name in FIELDS.items():
        if (limit := getattr(payload, name)) is not None:
            budget[LIMITS[what]] = limit


def take_usage(budget: dict[str, Any], usage: Any) -> None:
    for name in TOKENS:
        budget[name] = budget.get(name, 0) + getattr(usage, name)
    if usage.cost_usd is not None:
        budget["cost_usd"] = round(min(MOST_USD, budget.get("cost_usd", 0.0) + usage.cost_usd), 6)
    take_limits(budget, usage)


def take_time(budget: dict[str, Any], event: Event) -> None:
    """Follow the time that a session is open and not paused."""
    if "began_at" not in budget:
        budget["began_at"] = event.at
    if event.kind == "session.pause":
        budget["paused_at"] = event.at
    elif (since := budget.pop("paused_at", None)) is not None:
        budget["paused"] = budget.get("paused", 0) + max(0, event.at - since)


def has_limits(payload: Any) -> bool:
    return any(getattr(payload, name) is not None for name in FIELDS.values())


def budget_json(budget: dict[str, Any], actions: int, last_at: int) -> dict[str, Any]:
    """The budget as shown: what was spent, and for each limit what remains and whether it is exceeded."""
    stored = {name: value for name, value in budget.items() if name not in HIDDEN}
    until = budget.get("paused_at", last_at)
    elapsed = max(0, until - budget.get("began_at", until) - budget.get("paused", 0))
    limits = {what: budget[name] for what, name in LIMITS.items() if name in budget}
    if not stored:
        return {}
    spent: dict[str, Any] = {
        # Cached tokens are part of the input where agents report them, so they are not added again.
        "tokens": budget.get("input_tokens", 0) + budget.get("output_tokens", 0),
        "usd": budget.get("cost_usd", 0.0),
        "seconds": elapsed // SECOND,
        "actions": actions,
    }
    remaining = {what: round(limit - spent[what], 6) for what, limit in limits.items()}
    return {
        **stored,
        "spent": {what: sum_ for what, sum_ in spent.items() if what in limits or what in ("tokens", "usd")},
        "limits": limits,
        "remaining": remaining,
        "exceeded": [what for what, left in remaining.items() if left < 0],
    }


def fits(budget: dict[str, Any], step: dict[str, Any]) -> dict[str, bool]:
    """For each limit, whether a step of this size stays within it."""
    return {what: left >= step.get(what, 0) for what, left in budget["remaining"].items()}
