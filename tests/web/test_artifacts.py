"""Feature lists and checklists on the page: a person ticks, adds and removes items."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.errors import InvalidTransition
from tests.web.conftest import Asking, World

ITEMS = [{"text": "import"}, {"text": "export", "status": "in_progress", "note": "CSV first"}]


@pytest.fixture
def path(world: World) -> str:
    world.tell("tidy", "artifact", name="features", form="feature_list", items=ITEMS)
    return f"sessions/{world.id('tidy')}"


def shown(ask: Asking, path: str) -> dict[str, Any]:
    (artifact,) = ask.get(path)["artifacts"]
    return dict(artifact)


def texts(artifact: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(item["id"], item["text"], item["status"]) for item in artifact["items"]]


def test_a_session_has_its_artifacts_with_their_items(ask: Asking, path: str) -> None:
    artifact = shown(ask, path)
    facts = [artifact[name] for name in ("name", "form", "version", "done", "total")]
    assert facts == ["features", "feature_list", 1, 0, 2]
    assert texts(artifact) == [("1", "import", "pending"), ("2", "export", "in_progress")]
    assert artifact["items"][1]["note"] == "CSV first"


def test_an_item_is_ticked_and_unticked_as_the_persons_word(ask: Asking, path: str) -> None:
    ticked = ask.post(f"{path}/artifacts", name="features", set=[{"id": "1", "status": "completed"}])
    assert ticked["artifacts"] == [shown(ask, path)]
    artifact = shown(ask, path)
    assert (artifact["done"], artifact["version"], artifact["actor"]) == (1, 2, "person")
    assert artifact["items"][1]["note"] == "CSV first"
    (event,) = ask.get(f"{path}/events", dir="desc", limit=1)["items"]
    assert (event["kind"], event["actor"], event["source"]) == ("artifact", "person", "web")
    ask.post(f"{path}/artifacts", name="features", set=[{"id": "1", "status": "pending"}])
    assert shown(ask, path)["done"] == 0


def test_items_are_added_and_removed(ask: Asking, path: str) -> None:
    ask.post(f"{path}/artifacts", name="features", set=[{"text": "print"}])
    ask.post(f"{path}/artifacts", name="features", remove=["1"])
    artifact = shown(ask, path)
    assert texts(artifact) == [("2", "export", "in_progress"), ("3", "print", "pending")]
    assert (artifact["version"], artifact["total"]) == (3, 2)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": "features", "set": [{"id": "9", "status": "completed"}]}, 400),
        ({"name": "features", "set": [{"id": "1", "status": "perhaps"}]}, 400),
        ({"name": "features", "set": [{"id": "1", "done": "yes"}]}, 400),
        ({"name": "features", "set": [{"id": 1}]}, 400),
        ({"name": "features", "set": "1"}, 400),
        ({"name": "features", "remove": [1]}, 400),
        ({"name": "features"}, 400),
        ({"set": [{"text": "print"}]}, 400),
        ({"name": "features", "remove": ["9"]}, 404),
        ({"name": "other", "set": [{"text": "print"}]}, 404),
    ],
)
def test_a_wrong_edit_is_refused_and_changes_nothing(
    ask: Asking, path: str, body: dict[str, Any], code: int
) -> None:
    status, reply = ask.raw("POST", f"{path}/artifacts", body)
    assert (status, bool(reply["error"]["message"])) == (code, True)
    assert shown(ask, path)["version"] == 1


def test_an_edit_of_an_earlier_version_is_refused(ask: Asking, world: World, path: str) -> None:
    world.tell("tidy", "artifact", name="features", items=[{"text": "other"}])
    tick = {"name": "features", "version": 1, "set": [{"id": "1", "status": "completed"}]}
    status, reply = ask.raw("POST", f"{path}/artifacts", tick)
    assert (status, reply["error"]["kind"]) == (409, "Conflict")
    assert "version 2, not 1" in reply["error"]["message"]
    assert shown(ask, path)["done"] == 0
    ask.post(f"{path}/artifacts", **(tick | {"version": 2}))
    assert shown(ask, path)["done"] == 1


@pytest.mark.parametrize("forked", [False, True])
def test_an_edit_keeps_what_the_state_does_not_show(
    ask: Asking, world: World, path: str, forked: bool
) -> None:
    long = "word " * 200 + "end"
    items = [{"text": long, "note": long}, *({"text": f"item {number}"} for number in range(150))]
    world.tell("tidy", "artifact", name="long", items=items, text=long * 10)
    session = world.id("tidy")
    if forked:
        session = ask.post(f"{path}/fork")["id"]
    ask.post(f"sessions/{session}/artifacts", name="long", set=[{"id": "2", "status": "completed"}])
    payload = [event["payload"] for event in world.memory.history.events(session, kind="artifact")][-1]
    assert len(payload["items"]) == 151
    assert (payload["items"][0]["text"], payload["items"][0]["note"]) == (long, long)
    assert (payload["items"][1]["status"], payload["text"]) == ("completed", long * 10)


@pytest.mark.parametrize("moves", [("pause",), ("pause", "close")])
def test_a_person_edits_while_the_session_is_paused_or_closed_and_it_stays_so(
    ask: Asking, path: str, moves: tuple[str, ...]
) -> None:
    for move in moves:
        ask.post(f"{path}/{move}")
    before = ask.get(path)["lifecycle"]
    ask.post(f"{path}/artifacts", name="features", set=[{"id": "1", "status": "completed"}])
    assert shown(ask, path)["done"] == 1
    assert ask.get(path)["lifecycle"] == before
    assert ask.get(f"{path}/state")["lifecycle"] == before


def test_an_agent_resumes_a_paused_session_before_it_edits(world: World, path: str) -> None:
    session = world.id("tidy")
    world.memory.sessions.move(session, "pause")
    with pytest.raises(InvalidTransition, match="paused"):
        world.memory.sessions.edit_artifact(session, "features", [{"text": "print"}], source="mcp")
    with pytest.raises(InvalidTransition):
        world.memory.sessions.append(session, "message", text="the agent goes on", source="web")
