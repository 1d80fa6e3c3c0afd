"""Decisions and open points of all sessions, and the user's marks on them."""

from __future__ import annotations

from typing import Any

from tests.web.conftest import Asking, World


def point(ask: Asking, text: str, **query: Any) -> dict[str, Any]:
    (found,) = [item for item in ask.get("points", **query)["items"] if item["text"] == text]
    return dict(found)


def test_a_correction_replaces_the_decision_and_is_told_as_the_users_word(ask: Asking, world: World) -> None:
    world.tell("tidy", "decision", what="Use Postgres for the index", why="it is there")
    wrong = point(ask, "Use Postgres for the index", by="agent")
    ask.post("points", session=wrong["session"], kind="decision", seq=wrong["seq"], text=wrong["text"],
             mark="wrong", said="Use SQLite, nothing else is allowed")  # fmt: skip
    assert point(ask, "Use Postgres for the index")["state"] == "superseded"
    said = point(ask, "Use SQLite, nothing else is allowed", by="person")
    assert (said["by"], said["state"]) == ("person", "holds")
    items = ask.get("context")["items"]
    (told,) = [item for item in items if "Use SQLite" in item["text"] and item["kind"] == "decision"]
    assert told["trust"] == "user"
    assert not any("Use Postgres" in item["text"] and item["given"] and "Use SQLite" not in item["text"]
                   for item in items)  # fmt: skip


def test_a_wrong_decision_needs_what_is_right(ask: Asking, world: World) -> None:
    world.tell("tidy", "decision", what="Ship on Friday", why="")
    found = point(ask, "Ship on Friday")
    body = {name: found[name] for name in ("session", "kind", "seq", "text")} | {"mark": "wrong"}
    status, reply = ask.raw("POST", "points", body)
    assert status == 400
    assert "what is right" in reply["error"]["message"]


def test_an_open_point_is_done(ask: Asking, world: World) -> None:
    world.tell("tidy", "pending", id="p1", what="Ask for the wording")
    found = point(ask, "Ask for the wording")
    assert found["state"] == "open"
    ask.post("points", session=found["session"], kind="pending", id="p1", text=found["text"], mark="done")
    assert not [item for item in ask.get("points")["items"] if item["text"] == "Ask for the wording"]


def test_what_the_handover_calls_open_is_listed_until_the_user_says_otherwise(
    ask: Asking, world: World
) -> None:
    where = str(world.folder / "work")
    changed = {"path": f"{where}/form.py", "change": "modified"}
    world.tell("tidy", "branch", name="main")
    world.tell("tidy", "prompt", text="Mend the form")
    world.tell("tidy", "action", tool="Edit", input={"file_path": f"{where}/form.py"}, files=[changed])
    world.tell("tidy", "action", tool="Bash", input={"command": "git status --short"}, output=" M form.py")
    overview = [item["id"] for thread in ask.get("overview")["threads"] for item in thread["open"]]
    listed = [item for item in ask.get("points")["items"] if item["kind"] == "handover"]
    assert [item["id"] for item in listed] == overview
    assert "form.py" in listed[0]["text"]
    ask.post("points", session=listed[0]["session"], kind="handover", id=listed[0]["id"], mark="done")
    assert not [item for item in ask.get("points")["items"] if item["id"] == listed[0]["id"]]
    assert not [item for item in ask.get("points", by="person")["items"] if item["kind"] == "handover"]
