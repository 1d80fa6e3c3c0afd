"""Kinds of events, their moves of the lifecycle, and their trust.

Importing the payload classes takes longer than starting Python. What does not need them imports this.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

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


# Lifecycle of a session
#
# `activity` is any event that is not a lifecycle move. It activates an open or resumed session. A paused,
# closed or archived session must be resumed first, so that no work goes on unnoticed. Maintenance events,
# such as those of a clean-up, move no session.

Lifecycle = Literal["open", "active", "paused", "resumed", "closed", "archived"]
Move = Literal["activity", "pause", "resume", "close", "archive", "restore"]

LIFECYCLES: tuple[Lifecycle, ...] = get_args(Lifecycle)
MOVES: tuple[Move, ...] = get_args(Move)

TRANSITIONS: dict[tuple[Lifecycle, Move], Lifecycle] = {
    ("open", "activity"): "active",
    ("open", "pause"): "paused",
    ("open", "close"): "closed",
    ("active", "activity"): "active",
    ("active", "pause"): "paused",
    ("active", "close"): "closed",
    ("paused", "resume"): "resumed",
    ("paused", "close"): "closed",
    ("resumed", "activity"): "active",
    ("resumed", "pause"): "paused",
    ("resumed", "close"): "closed",
    ("closed", "resume"): "resumed",
    ("closed", "archive"): "archived",
    ("archived", "restore"): "closed",
}

REFUSALS: dict[tuple[Lifecycle, Move], str] = {
    ("open", "resume"): "it has not been paused; just go on",
    ("active", "resume"): "it is not paused; just go on",
    ("resumed", "resume"): "it is resumed already; just go on",
    ("paused", "pause"): "it is paused already",
    ("closed", "pause"): "it is closed; resume it to go on, then pause",
    ("closed", "close"): "it is closed already",
    ("paused", "activity"): "it is paused; resume it before going on",
    ("closed", "activity"): "it is closed; resume it before going on",
    ("archived", "activity"): "it is archived; restore it, then resume it",
    ("archived", "resume"): "it is archived; restore it first",
    ("archived", "archive"): "it is archived already",
    ("archived", "close"): "it is archived, so it is closed already",
    ("archived", "pause"): "it is archived; restore and resume it first",
    ("open", "archive"): "it is still open; close it first",
    ("active", "archive"): "it is still active; close it first",
    ("paused", "archive"): "it is only paused; close it first",
    ("resumed", "archive"): "it is in use; close it first",
}


def move_of(kind: str) -> Move:
    """The move of an event kind."""
    return KIND_MOVES.get(kind, "activity")


KIND_MOVES: dict[str, Move] = {
    "session.pause": "pause",
    "session.resume": "resume",
    "session.close": "close",
    "session.archive": "archive",
    "session.restore": "restore",
}


MAINTENANCE_KINDS = frozenset({"checkpoint", "forgotten", "quarantine", "recovered"})


def after_event(state: Lifecycle, kind: str) -> Lifecycle | None:
    """The lifecycle after an event of this kind.

    None if the event is refused.
    """
    # A second opening adds details and moves nothing.
    return state if kind == "session.open" or kind in MAINTENANCE_KINDS else after_move(state, move_of(kind))


def after_move(state: Lifecycle, move: Move) -> Lifecycle | None:
    """The next state, or None if the move is refused."""
    return TRANSITIONS.get((state, move))


def refusal_reason(state: Lifecycle, move: Move) -> str:
    """Why a move that the table does not have is refused, for a person."""
    return REFUSALS.get((state, move), f"a session that is {state} cannot be {PAST_PARTICIPLES[move]}")


PAST_PARTICIPLES: dict[Move, str] = {
    "activity": "written to",
    "pause": "paused",
    "resume": "resumed",
    "close": "closed",
    "archive": "archived",
    "restore": "restored",
}


REPLACED = ("clear", "replaced", "new session", "new context", "compact")
LEFT = ("exit", "logout", "quit", "prompt_input_exit")


def end_of(reason: str | None) -> str:
    """How a session ended: `exit`, `replaced` or `closed`."""
    text = (reason or "").lower()
    if any(word in text for word in REPLACED):
        return "replaced"
    return "exit" if any(word in text for word in LEFT) else "closed"


# Trust
#
# Trust never rises by itself: a claim can only lower what its source allows, and something derived takes the
# lowest trust of its inputs. Only the user's own words are `user`.

Trust = Literal["unverified", "web", "tool", "local", "agent", "user"]
Actor = Literal["agent", "person", "system", "unknown"]
Source = Literal[
    "record", "hook", "transcript", "mcp", "cli", "files", "desktop", "import", "companion", "web", "menubar"
]

TRUSTS: tuple[Trust, ...] = get_args(Trust)
ACTORS: tuple[Actor, ...] = get_args(Actor)
SOURCES: tuple[Source, ...] = get_args(Source)

UNTRUSTED: frozenset[str] = frozenset({"web", "unverified"})
TRUST_RANK: dict[str, int] = {trust: rank for rank, trust in enumerate(TRUSTS)}

WEB_TOOLS = frozenset(
    {"webfetch", "websearch", "web_fetch", "web_search", "fetch", "browser", "google_web_search"}
)

# Kinds that are the user's words, if a person or an agent's program reports them and no agent claims them.
USER_KINDS = frozenset({"prompt"})
# Sources that an agent's program writes, not its model. They report the user's decisions as they are.
PROGRAM_SOURCES = frozenset({"hook", "transcript", "import", "record"})
# Sources that only a person uses.
PERSON_SOURCES = frozenset({"cli", "web", "menubar"})
# A form that an agent's client shows to a person, for answers to questions only. That a person filled it in
# is the client's claim, so it is trusted less than the user.
FORM_SOURCE = "form"


def lowest_trust(trusts: Iterable[str]) -> Trust:
    """The trust of something derived from these; `unverified` without inputs."""
    ranks = [TRUST_RANK.get(trust, 0) for trust in trusts]
    return TRUSTS[min(ranks, default=0)]


def tool_output_trust(tool: str) -> Trust:
    """The trust of a tool's output: `web` for anything that touched the web."""
    bare = tool.rsplit("__", 1)[-1].lower()
    return "web" if bare in WEB_TOOLS or "browser" in bare or "http" in bare else "tool"


def users_decision(kind: str, payload: Any, actor: str | None, source: str) -> bool:
    """Whether an event is a decision of the user.

    That is a refusal, an answer, or a verdict on a plan.
    """
    if actor != "person" or source not in PROGRAM_SOURCES:
        return False
    if kind == "plan":
        return payload.status in ("accepted", "rejected")
    return kind == "decision" and payload.form is not None


def trust_ceiling(
    kind: str,
    source: str,
    tool: str | None = None,
    *,
    decided_by_user: bool = False,
    actor: str | None = None,
) -> Trust:
    """The highest trust that a source allows for a kind of event by this actor."""
    if source == FORM_SOURCE or (kind in USER_KINDS and actor not in (None, "person")):
        return "agent"
    if source in PERSON_SOURCES or decided_by_user or (kind in USER_KINDS and source in PROGRAM_SOURCES):
        return "user"
    if kind == "action" and tool is not None:
        return tool_output_trust(tool)
    if kind in ("file", "seen", "app", "gap"):
        return "local"
    return "unverified" if kind == "unknown" else "agent"


def limit_trust(claimed: str | None, allowed: Trust) -> Trust:
    """The lower of the claimed and the allowed trust."""
    return allowed if claimed is None else lowest_trust((claimed, allowed))


def event_trust(
    kind: str, payload: Any, actor: str | None, source: str, claimed: str | None, origin: Trust
) -> Trust:
    """The trust of an event.

    It is the claimed one, no higher than its source and its origin allow. `origin` is the lowest trust of
    what the agent had read before. It does not limit a decision of the user.
    """
    if users_decision(kind, payload, actor, source):
        return limit_trust(claimed, trust_ceiling(kind, source, decided_by_user=True))
    ceiling = trust_ceiling(kind, source, getattr(payload, "tool", None), actor=actor)
    return lowest_trust((origin, limit_trust(claimed, ceiling)))


def default_actor(kind: str, source: str) -> Actor:
    if kind in USER_KINDS or source in PERSON_SOURCES or source == FORM_SOURCE:
        return "person"
    if source in ("companion", "desktop"):
        return "system"
    return "unknown" if kind in ("file", "seen", "app", "branch") else "agent"
