"""Retention over the API: every kind has its age, and only what is named is changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fazm_memory.config import LIMITS
from fazm_memory.errors import InvalidInput
from fazm_memory.model.retention import DAY, Policy
from fazm_memory.web.asked import Body
from fazm_memory.web.retention import KINDS, NAMES, change
from tests.web.conftest import NOW, Asking, World


def test_every_age_of_the_policy_is_told_with_its_words(ask: Asking) -> None:
    told = ask.get("settings")["retention"]
    assert {one["name"]: one["days"] or 0 for one in told["kinds"]} | {"megabytes": told["mb"]} == vars(
        Policy()
    )
    assert set(KINDS) | {"megabytes"} == set(NAMES)
    assert {f"retain_{name}" for name in NAMES} <= set(LIMITS)
    assert told["would_forget"] is None  # it takes a walk through all that is old: only who asks gets it


def test_what_a_clean_up_today_would_give_back_is_told_by_kind(ask: Asking, world: World) -> None:
    world.at = NOW - 400 * DAY
    world.open("old")
    world.tell("old", "action", tool="Bash", input={"command": "ls"}, output="x" * 2000)
    world.tell("old", "decision", what="keep it", why="it matters")
    told = ask.get("settings/retention")["would_forget"]
    assert (told["events"], told["sessions"], told["versions"]) == (1, 1, 0)
    assert told["by_kind"]["actions"]["bytes"] == told["bytes"] > 0


def test_only_the_ages_that_are_named_change(ask: Asking, world: World) -> None:
    file = world.memory.config.home / "config.toml"
    told = ask.post("settings/retention", ages={"apps": 7, "prompts": 400}, dry_run=False)
    assert file.read_text() == "retain_apps = 7\nretain_prompts = 400\n"
    assert told["policy"] == vars(Policy(apps=7, prompts=400))
    told = ask.post("settings/retention", ages={"apps": None}, dry_run=False)
    assert told["policy"] == vars(Policy(apps=0, prompts=400))


@pytest.mark.parametrize(
    "ages", [{"moods": 3}, {"apps": -1}, {"apps": 1.5}, {"apps": 40_000}, {"megabytes": 5}, [1]], ids=str
)
def test_an_age_that_cannot_be_is_refused_in_words(ask: Asking, world: World, ages: object) -> None:
    status, said = ask.raw("POST", "settings/retention", {"ages": ages, "dry_run": False})
    assert status == 400
    assert said["error"]["message"]
    assert not (world.memory.config.home / "config.toml").exists()


def test_an_age_that_a_variable_sets_is_not_written_where_it_would_not_count(world: World) -> None:
    kept = world.memory.config
    world.memory.config = replace(kept, environment={**kept.environment, "FAZM_MEMORY_RETAIN_APPS": "9"})
    with pytest.raises(InvalidInput, match="FAZM_MEMORY_RETAIN_APPS"):
        change(world.memory, Body({"ages": {"apps": 5}, "dry_run": False}))
    assert not (kept.home / "config.toml").exists()
