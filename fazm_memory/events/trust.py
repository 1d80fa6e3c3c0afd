"""Provenance: who reported something, by which way it arrived, and how far to trust it.

Trust never rises by itself: a claim can only lower what its source allows, and something derived takes the
lowest trust of its inputs. Only the user's own words are `user`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

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
    """Whether an event is a decision of the user: a refusal, an answer, a verdict on a plan."""
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


def default_actor(kind: str, source: str) -> Actor:
    if kind in USER_KINDS or source in PERSON_SOURCES or source == FORM_SOURCE:
        return "person"
    if source in ("companion", "desktop"):
        return "system"
    return "unknown" if kind in ("file", "seen", "app", "branch") else "agent"
