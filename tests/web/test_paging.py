"""Lists by keyset: pages join without a gap or a repetition, also while more is written."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events.event import Message
from fazm_memory.store.event_log import NewEvent
from tests.web.conftest import Asking, World


def walk(ask: Asking, path: str, **params: Any) -> list[list[Any]]:
    """Every page of a list."""
    pages = [ask.get(path, **params)]
    while pages[-1]["next"] is not None:
        assert len(pages) < 100
        pages.append(ask.get(path, **params, cursor=pages[-1]["next"]))
    return [page["items"] for page in pages]


def numbers(pages: list[list[Any]]) -> list[int]:
    return [row["seq"] for page in pages for row in page]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("indexed", [True, False])
def test_pages_join(ask: Asking, world: World, limit: int, direction: str, indexed: bool) -> None:
    if indexed:
        world.memory.store.index_all()
    path = f"sessions/{world.id('tidy')}/events"
    for params, found in (
        ({}, [0, 1, 2, 3, 4, 5, 6]),
        ({"kind": "action"}, [3, 4, 5]),
        ({"kind": "decision"}, [2]),
        ({"outcome": "failed"}, [3]),
        ({"tool": "Bash"}, [3, 4]),
        ({"from": 2, "to": 6}, [2, 3, 4, 5]),
    ):
        wanted = found if direction == "asc" else found[::-1]
        pages = walk(ask, path, limit=limit, dir=direction, **params)
        assert numbers(pages) == wanted
        assert all(len(page) <= limit for page in pages)


def test_pages_of_events_stay_while_more_is_written(ask: Asking, world: World) -> None:
    path = f"sessions/{world.id('tidy')}/events"
    first = ask.get(path, limit=3, dir="desc")
    world.tell("tidy", "message", text="meanwhile")
    second = ask.get(path, limit=10, dir="desc", cursor=first["next"])
    assert numbers([first["items"], second["items"]]) == [6, 5, 4, 3, 2, 1, 0]
    assert ask.get(path, limit=1, dir="desc")["items"][0]["seq"] == 7


def test_pages_of_sessions_stay_while_one_moves_to_the_top(ask: Asking, world: World) -> None:
    for name in ("a", "b", "c", "d"):
        world.open(name)
    first = ask.get("sessions", limit=2)
    world.tell("c", "message", text="still here")  # it is on the first page already
    rest = ask.get("sessions", limit=10, cursor=first["next"])
    seen = [one["agent_session_id"] for one in (*first["items"], *rest["items"])]
    assert seen == ["d", "c", "b", "a", "other", "tidy"]


def test_sessions_of_the_same_moment_are_all_listed(ask: Asking, world: World) -> None:
    for name in ("a", "b", "c"):
        world.at -= 1_000_000
        world.open(name)
    pages = walk(ask, "sessions", limit=1)
    assert sorted(one["agent_session_id"] for page in pages for one in page) == [
        "a",
        "b",
        "c",
        "other",
        "tidy",
    ]


def test_days_are_walked_one_by_one(ask: Asking, world: World) -> None:
    for back in (1, 2, 40):
        world.at -= back * 86_400_000_000
        world.open(f"earlier {back}")
    pages = walk(ask, "days", limit=1)
    days = [one["day"] for page in pages for one in page]
    assert days == sorted(days, reverse=True)
    assert len(days) == 4
    assert sum(one["events"] for page in pages for one in page) == 12


def test_a_rare_thing_in_a_long_session_is_found_in_bounded_steps(ask: Asking, world: World) -> None:
    """With a filter that only the payload can tell, a page may be empty and lead on."""
    world.memory.store.index_all()
    drafts = [world.at + nth for nth in range(4000)]
    with world.memory.store.writing() as writer:
        head = writer.head(world.memory.store.sessions.resolve("tidy").n)
        for at in drafts:
            writer.append(head, NewEvent("message", Message("and so on"), at, "agent", "hook", "agent"))
    last = world.tell("tidy", "action", tool="zip", input={"command": "zip"})
    pages = walk(ask, f"sessions/{world.id('tidy')}/events", tool="zip")
    assert numbers(pages) == [last]
    assert len(pages) > 1
