"""What the page says when nothing is recorded, when nobody answers, and when a time was forgotten."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from fazm_memory.capture.draft import Draft
from fazm_memory.config import Config
from tests.page.conftest import OpenPage
from tests.page.serving import Served, serving
from tests.page.story import World, open_memory, tell


def test_an_empty_memory_names_the_cause_and_the_next_step(tmp_path: Path, open_page: OpenPage) -> None:
    world = World(memory=None, folder=tmp_path)  # type: ignore[arg-type]
    world.memory = open_memory(Config(home=tmp_path / "memory", user_home=tmp_path, key="file"), world)
    with serving(world) as served:
        page = open_page(served)
        side = page.get_by_role("region", name="Sessions", exact=True)
        expect(side.get_by_role("heading", name="Nothing recorded yet")).to_be_visible()
        expect(side.get_by_text("fazm-memory connect")).to_be_visible()
        expect(page.get_by_role("main").get_by_role("heading", name="Nothing recorded yet")).to_be_visible()
        opening = {"agent": "fazm", "title": "The very first"}
        tell(world, [Draft("first", "session.open", opening, agent="fazm")])
        expect(page.get_by_role("heading", name="The very first", level=1)).to_be_visible()
        page.close()  # before the server goes


def test_a_server_that_does_not_answer_leaves_word_of_what_is_kept(
    shown: Served, open_page: OpenPage
) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['site']}", refusals=True)
    expect(page.get_by_role("heading", level=1)).to_have_text("Contact form keeps its message")
    page.context.set_offline(True)
    page.goto(f"{shown.origin}/#/s/{shown.world.ids['invoices']}")
    # A part of the page that is out of sight by now may have been told the same: alerts are what is in sight.
    told = page.get_by_role("alert").filter(has_text="What was recorded is kept on disk.")
    expect(told.first).to_be_visible()
    page.context.set_offline(False)
    page.get_by_role("main").get_by_role("button", name="Try again").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Rename invoices, date first")


def test_a_stretch_of_time_is_forgotten_after_a_tick(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings")
    page.get_by_role("button", name="Forget a stretch of time…").click()
    asked = page.get_by_role("dialog", name="Forget a stretch of time")
    asked.get_by_label("From").fill("2026-11-12T00:00")
    asked.get_by_label("Until").fill("2026-11-13T00:00")
    expect(asked.get_by_text(re.compile(r"\d+ events of 1 session would be forgotten"))).to_be_visible()
    expect(asked.get_by_role("button", name="Forget")).to_be_disabled()
    asked.get_by_label("I understand that this cannot be undone").check()
    asked.get_by_role("button", name="Forget").click()
    expect(page.locator(".toasts").get_by_text(re.compile(r"\d+ events forgotten\."))).to_be_visible()
    fares = own.world.memory.events(own.world.ids["flights"], kind="action")
    assert {event["payload"] for event in fares} == {None}
    assert own.world.memory.verify().clean
