"""The context, settings and compare screens, driven by what people and screen readers call their parts."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from playwright.sync_api import expect

from fazm_memory.capture.instance import only_one
from tests.page.conftest import OpenPage
from tests.page.serving import Served

DECISION = "the date comes first"


def test_the_context_shows_each_fact_that_is_given(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/context")
    given = page.get_by_role("region", name="Given", exact=True)
    expect(given.get_by_role("listitem").first).to_be_visible()
    facts = shown.world.memory.context(None).included
    assert len(facts) > 10
    for text, times in Counter(fact.text for fact in facts).items():
        expect(given.get_by_text(text, exact=True)).to_have_count(times)


def test_each_fact_of_the_context_says_why_it_is_there(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/context")
    given = page.get_by_role("region", name="Given", exact=True)
    asked = given.get_by_role("listitem").filter(has_text="May I push the tag")
    expect(asked.locator(".context-why")).to_have_text("an open question, earlier today")
    items = shown.world.memory.context(None).data["items"]
    reasons = Counter(one["why"] for one in items if one["included"])
    assert Counter(given.locator(".context-why").all_text_contents()) == reasons


def test_the_context_as_text_is_exactly_the_text(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/context?workspace=/Users/dana/Downloads")
    page.get_by_role("button", name="As text").click()
    said = page.get_by_label("The text of the context")
    expect(said).to_contain_text("what happened before in")
    shape = re.compile(r"[0-9a-f]{32}")  # the fence's mark is of this very moment
    expected = shown.world.memory.context("/Users/dana/Downloads").text
    assert shape.sub("", said.inner_text().strip()) == shape.sub("", expected.strip())


def test_a_fact_is_pinned_excluded_and_left_to_its_rank_again(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/context")
    page.get_by_role("button", name=re.compile(f"^Pin: .*{DECISION}")).click()
    expect(
        page.get_by_role("region", name="Given", exact=True).get_by_text("pinned", exact=True)
    ).to_be_visible()
    page.get_by_role("button", name=re.compile(f"^Exclude: .*{DECISION}")).click()
    out = page.get_by_role("region", name="Excluded by you")
    expect(out.get_by_text(DECISION)).to_be_visible()
    assert DECISION not in own.world.memory.context(None).text
    out.get_by_role("button", name=re.compile(f"^(Auto|Include): .*{DECISION}")).click()
    expect(out).to_have_count(0)
    assert DECISION in own.world.memory.context(None).text


def test_the_context_tells_the_ways_of_the_day_before(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/context")
    expect(
        page.get_by_role("region", name="Folders").get_by_text("/Users/dana/Downloads").first
    ).to_be_visible()
    ways = page.get_by_role("region", name="Naming conventions")
    expect(ways.get_by_text("invoice_acme_20261102.pdf").first).to_be_visible()
    expect(page.get_by_role("region", name="Left alone").get_by_text("notes.txt").first).to_be_visible()


def test_another_folder_has_another_context(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/context")
    expect(page.get_by_text(DECISION).first).to_be_visible()
    page.get_by_label("Folder of the next session").select_option("/Users/dana/Projects/tool")
    expect(page.get_by_text("release as 2.4.1").first).to_be_visible()
    expect(page.get_by_text(DECISION)).to_have_count(0)


def test_recording_is_paused_and_resumed_from_the_settings(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings")
    page.get_by_role("button", name="Pause recording for 15 minutes").click()
    expect(page.get_by_role("region", name="Recording").get_by_text("paused", exact=True)).to_be_visible()
    assert not own.world.memory.recording()["recording"]
    page.get_by_role("region", name="Recording").get_by_role("button", name="Resume recording").click()
    expect(page.get_by_role("button", name="Pause recording for 1 hour")).to_be_visible()
    assert own.world.memory.recording()["recording"]


def test_without_a_companion_nobody_is_told_that_all_is_recorded(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/settings")
    card = page.get_by_role("region", name="Recording")
    expect(card.get_by_text("companion not running", exact=True)).to_be_visible()
    expect(card.get_by_text("No agent is connected")).to_be_visible()
    expect(page.locator("fm-recording").get_by_text("The companion is not running")).to_be_visible()


def test_with_a_companion_the_settings_say_that_it_records(own: Served, open_page: OpenPage) -> None:
    with only_one(own.world.memory.config.home):
        page = open_page(own, "#/settings")
        expect(
            page.get_by_role("region", name="Recording").get_by_text("recording", exact=True)
        ).to_be_visible()
        expect(page.locator("fm-recording").get_by_text("Recording", exact=True)).to_be_visible()


def test_trouble_with_claude_codes_settings_is_not_told_of_fazm_that_is_not_here(
    own: Served, open_page: OpenPage
) -> None:
    settings = own.world.memory.config.user_home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("{ no json")
    page = open_page(own, "#/settings")
    rows = page.get_by_role("region", name="Agents").get_by_role("listitem")
    expect(rows.filter(has_text="Claude Code").locator(".warn")).to_have_count(1)
    absent = rows.filter(has_text="not found")
    expect(absent.filter(has_text="Fazm")).to_have_count(1)
    expect(absent.locator(".warn")).to_have_count(0)


def test_an_app_is_excluded_and_recorded_again(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings")
    page.get_by_role("button", name="Exclude a folder or app…").click()
    asked = page.get_by_role("dialog", name="Exclude from recording")
    asked.get_by_label("What").select_option("app")
    asked.get_by_label("Name").fill("Mail")
    asked.get_by_role("button", name="Exclude").click()
    never = page.get_by_role("region", name="Never recorded")
    expect(never.get_by_text("Mail", exact=True)).to_be_visible()
    never.get_by_role("button", name="Record Mail again").click()
    expect(never.get_by_text("Mail", exact=True)).to_have_count(0)


def test_the_settings_tell_of_agents_storage_and_retention(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/settings")
    expect(page.get_by_role("region", name="Agents").get_by_text("Claude Code")).to_be_visible()
    storage = page.get_by_role("region", name="Storage")
    expect(storage.get_by_text(str(shown.world.memory.config.home), exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Retention")).to_be_visible()


def test_an_agent_is_joined_after_its_edits_were_shown(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings")
    page.get_by_role("button", name="Connect Claude Code").click()
    asked = page.get_by_role("dialog", name="Connect Claude Code")
    expect(asked.get_by_text("settings.json").first).to_be_visible()
    assert not (own.world.memory.config.user_home / ".claude" / "settings.json").exists()
    asked.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("button", name="Disconnect Claude Code")).to_be_visible()
    assert (own.world.memory.config.user_home / ".claude" / "settings.json").exists()


def test_two_positions_of_a_session_are_compared_with_causes(shown: Served, open_page: OpenPage) -> None:
    site = shown.world.ids["site"]
    page = open_page(shown, f"#/compare?a={site}@3&b={site}@18")
    files = page.get_by_role("region", name="Files changed")
    expect(files.get_by_text("/Users/dana/Projects/site/src/form.test.ts")).to_be_visible()
    why = page.get_by_role("region", name="Why", exact=True)
    expect(why.get_by_text("send is not a function")).to_be_visible()
    expect(why.get_by_role("link", name="@7")).to_have_attribute("href", f"#/s/{site}@7")


def test_two_branches_are_chosen_and_compared(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, "#/compare")
    ids = shown.world.ids
    page.get_by_label("First session").select_option(ids["site"])
    page.get_by_label("Second session").select_option(ids["fork"])
    page.get_by_role("button", name="Compare", exact=True).click()
    decisions = page.get_by_role("region", name="Files changed")
    expect(decisions.get_by_text("/Users/dana/Projects/site/src/mail.ts").first).to_be_visible()
    expect(page.get_by_text("Contact form, stored in the browser").first).to_be_visible()


@pytest.mark.parametrize("screen", ["context", "settings", "compare"])
def test_the_screens_are_reached_from_the_sidebar(shown: Served, open_page: OpenPage, screen: str) -> None:
    page = open_page(shown)
    page.get_by_role("link", name=screen.capitalize()).click()
    expect(page.get_by_role("heading", name=screen.capitalize(), level=1)).to_be_visible()
