"""Trust only ever falls by itself."""

from __future__ import annotations

import pytest

from fazm_memory.model.events import KINDS
from fazm_memory.model.trust import (
    ACTORS,
    FORM,
    RANK,
    SOURCES,
    TRUSTS,
    admit,
    ceiling,
    default_actor,
    lowest,
    tool_output,
)


def test_a_derivation_takes_the_lowest_of_its_inputs() -> None:
    assert lowest(["user", "web", "agent"]) == "web"
    assert lowest(["user"]) == "user"


def test_nothing_known_is_unverified() -> None:
    assert lowest([]) == "unverified"
    assert lowest(["user", "a word nobody knows"]) == "unverified"


@pytest.mark.parametrize("allowed", TRUSTS)
@pytest.mark.parametrize("claimed", [*TRUSTS, "boundless"])
def test_a_claim_can_lower_what_the_door_allows_but_never_raise_it(claimed: str, allowed: str) -> None:
    given = admit(claimed, allowed)  # type: ignore[arg-type]
    assert RANK[given] <= RANK[allowed]
    assert RANK[given] <= RANK.get(claimed, 0)
    assert admit(None, allowed) == allowed  # type: ignore[arg-type]


@pytest.mark.parametrize("tool", ["WebFetch", "WebSearch", "mcp__play__browser_click", "http_get", "fetch"])
def test_what_touched_the_web_is_web(tool: str) -> None:
    assert tool_output(tool) == "web"
    assert ceiling("action", "hook", tool) == "web"


def test_what_a_local_tool_says_is_a_tools_word() -> None:
    assert ceiling("action", "transcript", "Bash") == "tool"


def test_the_users_own_word_is_the_users_through_any_door() -> None:
    assert all(ceiling("prompt", source) == "user" for source in SOURCES)
    assert all(ceiling(kind, "cli") == "user" for kind in KINDS)


def test_only_the_user_is_believed_like_the_user() -> None:
    for kind in set(KINDS) - {"prompt"}:
        for source in {*SOURCES, FORM} - {"cli", "web", "menubar"}:
            assert RANK[ceiling(kind, source, "Bash")] <= RANK["agent"], (kind, source)


def test_what_a_form_brings_is_a_persons_and_never_believed_like_the_user() -> None:
    assert FORM not in SOURCES  # a door that only a server opens, not one that a line may claim
    assert {ceiling(kind, FORM, "Bash") for kind in KINDS} == {"agent"}
    assert default_actor("handoff.answer", FORM) == "person"


def test_what_nobody_can_read_is_unverified() -> None:
    assert ceiling("unknown", "transcript") == "unverified"


@pytest.mark.parametrize(
    ("kind", "source", "actor"),
    [
        ("prompt", "hook", "person"),
        ("decision", "cli", "person"),
        ("gap", "companion", "system"),
        ("file", "files", "unknown"),
        ("action", "hook", "agent"),
    ],
)
def test_who_spoke_follows_from_the_kind_and_the_door(kind: str, source: str, actor: str) -> None:
    assert default_actor(kind, source) == actor
    assert actor in ACTORS
