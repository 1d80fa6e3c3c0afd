"""Stories of the artifacts of a session, in both browsers: they are read and edited by a person."""

from __future__ import annotations

import re
from typing import Any

from tests.page.axe import serious_problems
from tests.page.server import Server
from tests.page.story import add
from tests.page.window import Window, part, region

ARTIFACTS = region("Artifacts")
ITEMS = [
    {"text": "Keep the message"}, {"text": "Say why it failed", "status": "in_progress"},
    {"text": "Store it in the browser", "status": "cancelled", "note": "decided against"},
]  # fmt: skip
LOOKS: tuple[dict[str, Any], ...] = ({}, {"dark": True}, {"width": 800}, {"width": 480})
SIDEWAYS = """() => [document.documentElement, document.querySelector(".artifacts"),
    document.querySelector(".timeline-main")].some((each) => each.scrollWidth > each.clientWidth + 1)"""


def items(server: Server, session: str) -> list[tuple[str, str]]:
    (artifact,) = server.world.memory.history.state(session)["artifacts"]
    return [(item["text"], item["status"]) for item in artifact["items"]]


def test_a_person_reads_and_edits_an_artifact(page: Window, server: Server) -> None:
    session = page.visit(server, "release")
    page.gone("region", "Artifacts")
    features = {"name": "features", "form": "feature_list", "items": ITEMS}
    add(server.world, session, "artifact", features, source="record")
    page.says("feature list", ARTIFACTS)
    page.says("0 of 3 done", ARTIFACTS)
    page.until("() => !document.querySelector('.artifact').open")
    page.evaluate("() => document.querySelector('.artifact > summary').click()")
    page.says("in progress", ARTIFACTS)
    page.says("decided against", ARTIFACTS)

    page.press("checkbox", "Keep the message", ARTIFACTS)
    page.says("1 of 3 done", ARTIFACTS)
    page.keys(" ", on=part("checkbox", "Say why it failed", ARTIFACTS))
    page.says("2 of 3 done", ARTIFACTS)
    page.until("() => document.activeElement.dataset.focus === 'item features 2'")
    page.press("checkbox", "Keep the message", ARTIFACTS)
    page.says("1 of 3 done", ARTIFACTS)
    page.type("Mail it", on=part("textbox", "New item of features", ARTIFACTS))
    page.keys("Enter")
    page.there("checkbox", "Mail it", ARTIFACTS)
    page.until("() => document.activeElement.dataset.focus === 'new features'")
    page.press("button", "Remove: Store it in the browser", ARTIFACTS)
    page.gone("checkbox", "Store it in the browser", ARTIFACTS)
    page.says("1 of 3 done", ARTIFACTS)
    expected = [("Keep the message", "pending"), ("Say why it failed", "completed"), ("Mail it", "pending")]
    assert items(server, session) == expected
    latest = [*server.world.memory.history.events(session, kind="artifact")][-1]
    assert (latest["actor"], latest["source"]) == ("person", "web")

    for look in LOOKS:
        with page.looking(still=True, **look):
            assert not page.evaluate(SIDEWAYS)
            assert serious_problems(page.evaluate) == []

    page.press("button", "Undo")
    page.there("checkbox", "Store it in the browser", ARTIFACTS)
    assert items(server, session) == [*expected, ("Store it in the browser", "cancelled")]


def test_an_edit_that_is_refused_is_reported_and_changes_nothing(page: Window, server: Server) -> None:
    session = page.visit(server, "today")
    add(server.world, session, "artifact", {"name": "steps", "items": [{"text": "Rename"}]}, source="record")
    page.says("0 of 1 done", ARTIFACTS)
    page.evaluate("() => document.querySelector('.artifact > summary').click()")
    server.world.memory.recording.pause(None)
    page.press("checkbox", "Rename", ARTIFACTS)
    page.there("alert", None, ARTIFACTS)
    page.says(re.compile("paused"), ARTIFACTS)
    page.until("() => !document.querySelector('.artifact input[type=checkbox]').checked")
    server.world.memory.recording.resume()
    assert items(server, session) == [("Rename", "pending")]
