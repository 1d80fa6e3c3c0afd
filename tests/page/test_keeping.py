"""The retention card: an age for each kind, what a clean-up would give back, and changes by their weight."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import OpenPage
from tests.page.serving import Served

AGES = {
    "Details of actions": "180", "Changes seen on disk": "365", "Apps in front": "60",
    "Your own words": "", "Archived sessions": "30", "Contents of files": "90",
}  # fmt: skip


def card(page: Page) -> Locator:
    return page.get_by_role("region", name="Retention")


def age(page: Page, kind: str) -> Locator:
    return card(page).get_by_label(f"{kind}, days to keep", exact=True)


def sheet(page: Page) -> Locator:
    card(page).get_by_role("button", name="Save…").click()
    return page.get_by_role("dialog", name="Change what is kept")


def test_each_kind_shows_its_age_and_what_stays_is_said(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/settings")
    for kind, days in AGES.items():
        expect(age(page, kind)).to_have_value(days)
    expect(card(page).get_by_label("Room for the log, megabytes at most")).to_have_value("4096")
    expect(card(page).get_by_text("kept back to 16 September")).to_be_visible()
    expect(card(page).get_by_text(re.compile("^what you asked agents for; kept for good$"))).to_be_visible()
    expect(card(page).get_by_text("A clean-up today would give back nothing")).to_be_visible()
    expect(card(page).get_by_text("Decisions, facts, questions, the digests")).to_be_visible()


def test_a_younger_age_says_what_would_go_before_anything_does(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/settings")
    age(page, "Details of actions").fill("2")
    age(page, "Apps in front").focus()  # leaving the field asks what it would come to
    expect(
        card(page).get_by_text(re.compile(r"would give back .*: details of \d+ events of"))
    ).to_be_visible()
    expect(
        card(page).get_by_text(re.compile(r"kept back to Friday · \d+ events, .* would go"))
    ).to_be_visible()
    asked = sheet(page)
    expect(asked.get_by_text("Details of actions: 180 days → 2 days")).to_be_visible()
    asked.get_by_role("button", name="Cancel").click()
    expect(age(page, "Details of actions")).to_have_value("2")  # nothing that was typed is lost
    assert not (shown.world.memory.config.home / "config.toml").exists()


def test_what_would_be_lost_is_confirmed_by_more_than_a_click(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings")
    age(page, "Details of actions").fill("2")
    asked = sheet(page)
    expect(asked.get_by_text(re.compile("at once and for good, of details of"))).to_be_visible()
    change = asked.get_by_role("button", name="Change")
    expect(change).to_be_disabled()
    asked.get_by_label("I understand that what is let go cannot be brought back").check()
    change.click()
    expect(page.get_by_text(re.compile("What is kept is changed; gone are details of"))).to_be_visible()
    expect(age(page, "Details of actions")).to_have_value("2")
    written = (own.world.memory.config.home / "config.toml").read_text()
    assert written == "retain_actions = 2\n"  # and no other age, which may go on following its default
    flights = own.world.memory.events(own.world.ids["flights"])
    assert [one["kind"] for one in flights if one["payload"] is None] != []
    assert [one for one in flights if one["kind"] == "decision" and one["payload"] is None] == []


def test_an_age_that_loses_nothing_takes_one_click(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings")
    age(page, "Apps in front").fill("90")
    asked = sheet(page)
    expect(asked.get_by_text("Nothing is old enough to go now.")).to_be_visible()
    expect(asked.get_by_role("checkbox")).to_have_count(0)
    asked.get_by_role("button", name="Change").click()
    expect(page.get_by_text("What is kept is changed.", exact=True)).to_be_visible()
    assert (own.world.memory.config.home / "config.toml").read_text() == "retain_apps = 90\n"


def test_what_is_typed_outlasts_readings_that_overtake_each_other(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/settings")
    age(page, "Apps in front").fill("61")
    page.locator("fm-settings").evaluate(
        "(screen) => Promise.all([screen.read(), screen.read(), screen.read()])"
    )
    expect(age(page, "Apps in front")).to_have_value("61")
