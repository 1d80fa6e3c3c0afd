"""Retention over the API: every kind has its age, and only what is named is changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fazm_memory.config import LIMITS
from fazm_memory.errors import InvalidInput
from fazm_memory.events.event import DAY, RetentionPolicy
from fazm_memory.web.requests import JsonBody
from fazm_memory.web.settings import KINDS, NAMES, change_retention
from tests.web.conftest import NOW, Asking, World


def recorded_then(world: World) -> None:
    """Let the sessions have arrived at their own time, not by an import today."""
    with world.memory.store.db.transaction():
        world.memory.store.db.execute("UPDATE arrival SET at = 0")
        world.memory.store.db.execute("DELETE FROM receipt")


def test_every_age_of_the_policy_is_reported_with_its_words(ask: Asking) -> None:
    results = ask.get("settings")["retention"]
    assert {one["name"]: one["days"] or 0 for one in results["kinds"]} | {"megabytes": results["mb"]} == vars(
        RetentionPolicy()
    )
    assert set(KINDS) | {"megabytes"} == set(NAMES)
    assert {f"retain_{name}" for name in NAMES} <= set(LIMITS)
    assert results["would_forget"] is None  # it takes a walk through all that is old: only who asks gets it


def test_what_a_clean_up_today_would_give_back_is_reported_by_kind(ask: Asking, world: World) -> None:
    world.at = NOW - 400 * DAY
    world.open("old")
    world.tell("old", "action", tool="Bash", input={"command": "ls"}, output="x" * 2000)
    recorded_then(world)
    world.tell("old", "decision", what="keep it", why="it matters")
    result = ask.get("settings/retention")["would_forget"]
    assert (result["events"], result["sessions"], result["versions"]) == (1, 1, 0)
    assert result["by_kind"]["actions"]["bytes"] == result["bytes"] > 0


def test_a_preview_goes_by_the_ages_that_are_asked_about(ask: Asking, world: World) -> None:
    world.at = NOW - 40 * DAY
    world.open("recent")
    world.tell("recent", "action", tool="Bash", input={"command": "ls"}, output="x" * 2000)
    recorded_then(world)
    assert ask.get("settings/retention")["would_forget"]["events"] == 0
    preview = ask.post("settings/retention", ages={"actions": 30})
    assert preview["dry_run"]
    assert preview["would_forget"]["events"] == 1


def test_only_the_ages_that_are_named_change(ask: Asking, world: World) -> None:
    file = world.memory.config.home / "config.toml"
    result = ask.post("settings/retention", ages={"apps": 7, "prompts": 400}, dry_run=False)
    assert file.read_text() == "retain_apps = 7\nretain_prompts = 400\n"
    assert result["policy"] == vars(RetentionPolicy(apps=7, prompts=400))
    result = ask.post("settings/retention", ages={"apps": None}, dry_run=False)
    assert result["policy"] == vars(RetentionPolicy(apps=0, prompts=400))


@pytest.mark.parametrize(
    "ages", [{"moods": 3}, {"apps": -1}, {"apps": 1.5}, {"apps": 40_000}, {"megabytes": 5}, [1]], ids=str
)
def test_an_age_that_cannot_be_is_refused_in_words(ask: Asking, world: World, ages: object) -> None:
    status, reply = ask.raw("POST", "settings/retention", {"ages": ages, "dry_run": False})
    assert status == 400
    assert reply["error"]["message"]
    assert not (world.memory.config.home / "config.toml").exists()


def test_an_age_that_a_variable_sets_is_not_written_where_it_would_not_count(world: World) -> None:
    kept = world.memory.config
    world.memory.config = replace(kept, environment={**kept.environment, "FAZM_MEMORY_RETAIN_APPS": "9"})
    with pytest.raises(InvalidInput, match="FAZM_MEMORY_RETAIN_APPS"):
        change_retention(world.memory, JsonBody({"ages": {"apps": 5}, "dry_run": False}))
    assert not (kept.home / "config.toml").exists()
