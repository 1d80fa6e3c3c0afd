"""Provenance: who said it, through which door it came, and how far to believe it.

Trust only ever falls by itself: a claim can lower what the door allows, never raise it, and whatever is
derived takes the lowest of its inputs. Only the user's own word is `user`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

Trust = Literal["unverified", "web", "tool", "local", "agent", "user"]
Actor = Literal["agent", "person", "system", "unknown"]
Source = Literal[
    "record", "hook", "transcript", "mcp", "cli", "files", "desktop", "import", "companion", "web", "menubar"
]

TRUSTS: tuple[Trust, ...] = get_args(Trust)
ACTORS: tuple[Actor, ...] = get_args(Actor)
SOURCES: tuple[Source, ...] = get_args(Source)

DOUBTED: frozenset[str] = frozenset({"web", "unverified"})  # of an origin that nobody answers for
RANK: dict[str, int] = {trust: rank for rank, trust in enumerate(TRUSTS)}

WEB_TOOLS = frozenset(
    {"webfetch", "websearch", "web_fetch", "web_search", "fetch", "browser", "google_web_search"}
)

# Kinds through which a person speaks, whatever carried them in.
SPOKEN_BY_THE_USER = frozenset({"prompt"})
# Doors a person uses directly: what comes in there is the person's own word.
PERSONS_DOORS = frozenset({"cli", "web", "menubar"})
# A form that an agent's client shows: whoever sits there fills it in, not the model. It is a door for the
# answer to a question alone; that a person was there is the client's word, never believed like the user's.
FORM = "form"


def lowest(trusts: Iterable[str]) -> Trust:
    """The trust of something derived from these; nothing known is unverified."""
    ranks = [RANK.get(trust, 0) for trust in trusts]
    return TRUSTS[min(ranks, default=0)]


def tool_output(tool: str) -> Trust:
    """How far to believe what a tool brought back: anything that touched the web is web."""
    bare = tool.rsplit("__", 1)[-1].lower()
    return "web" if bare in WEB_TOOLS or "browser" in bare or "http" in bare else "tool"


def ceiling(kind: str, source: str, tool: str | None = None) -> Trust:
    """The most that this door allows for this kind of event."""
    if source == FORM:
        return "agent"
    if kind in SPOKEN_BY_THE_USER or source in PERSONS_DOORS:
        return "user"
    if kind == "action" and tool is not None:
        return tool_output(tool)
    if kind in ("file", "seen", "app", "gap"):
        return "local"
    return "unverified" if kind == "unknown" else "agent"


def admit(claimed: str | None, allowed: Trust) -> Trust:
    """What a claim comes to: the lower of the claim and what the door allows."""
    return allowed if claimed is None else lowest((claimed, allowed))


def default_actor(kind: str, source: str) -> Actor:
    if kind in SPOKEN_BY_THE_USER or source in PERSONS_DOORS or source == FORM:
        return "person"
    if source in ("companion", "desktop"):
        return "system"
    return "unknown" if kind in ("file", "seen", "app") else "agent"
