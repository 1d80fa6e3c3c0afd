"""Trust only ever falls by itself."""

from __future__ import annotations

import pytest

from fazm_memory.events.event import KINDS
from fazm_memory.events.kinds import (
    ACTORS,
    FORM_SOURCE,
    SOURCES,
    TRUST_RANK,
    TRUSTS,
    default_actor,
    limit_trust,
    lowest_trust,
    tool_output_trust,
    trust_ceiling,
)


def test_a_derivation_takes_the_lowest_of_its_inputs() -> None:
    assert lowest_trust(["user", "web", "agent"]) == "web"
    assert lowest_trust(["user"]) == "user"


def test_nothing_known_is_unverified() -> None:
    assert lowest_trust([]) == "unverified"
    assert lowest_trust(["user", "a word nobody knows"]) == "unverified"


@pytest.mark.parametrize("allowed", TRUSTS)
@pytest.mark.parametrize("claimed", [*TRUSTS, "boundless"])
def test_a_claim_can_lower_what_the_door_allows_but_never_raise_it(claimed: str, allowed: str) -> None:
    given = limit_trust(claimed, allowed)  # type: ignore[arg-type]
    assert TRUST_RANK[given] <= TRUST_RANK[allowed]
    assert TRUST_RANK[given] <= TRUST_RANK.get(claimed, 0)
    assert limit_trust(None, allowed) == allowed  # type: ignore[arg-type]


@pytest.mark.parametrize("tool", ["WebFetch", "WebSearch", "mcp__play__browser_click", "http_get", "fetch"])
def test_what_touched_the_web_is_web(tool: str) -> None:
    assert tool_output_trust(tool) == "web"
    assert trust_ceiling("action", "hook", tool) == "web"


def test_what_a_local_tool_says_is_a_tools_word() -> None:
    assert trust_ceiling("action", "transcript", "Bash") == "tool"


def test_a_prompt_is_the_users_word_only_from_a_person_or_an_agents_program() -> None:
    trusted = {source for source in SOURCES if trust_ceiling("prompt", source) == "user"}
    assert trusted == {"record", "hook", "transcript", "import", "cli", "web", "menubar"}
    assert all(trust_ceiling("prompt", source, actor="agent") == "agent" for source in SOURCES)
    assert all(trust_ceiling(kind, "cli") == "user" for kind in KINDS)


def test_only_the_user_is_believed_like_the_user() -> None:
    for kind in set(KINDS) - {"prompt"}:
        for source in {*SOURCES, FORM_SOURCE} - {"cli", "web", "menubar"}:
            assert TRUST_RANK[trust_ceiling(kind, source, "Bash")] <= TRUST_RANK["agent"], (kind, source)


def test_what_a_form_brings_is_a_persons_and_never_believed_like_the_user() -> None:
    assert FORM_SOURCE not in SOURCES  # a door that only a server opens, not one that a line may claim
    assert {trust_ceiling(kind, FORM_SOURCE, "Bash") for kind in KINDS} == {"agent"}
    assert default_actor("handoff.answer", FORM_SOURCE) == "person"


def test_what_nobody_can_read_is_unverified() -> None:
    assert trust_ceiling("unknown", "transcript") == "unverified"


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
