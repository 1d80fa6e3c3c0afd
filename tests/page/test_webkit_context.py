"""The context in WebKit: what the next session is given, item by item, and the ways of the day before."""

from __future__ import annotations

import re
from collections import Counter

from tests.page.serving import Served
from tests.page.webkit import Window, part, region

DECISION = "the date comes first"
GIVEN = region("Given")
TEXTS = (
    "() => [...document.querySelectorAll('[aria-label=Given] .context-text')].map((one) => one.textContent)"
)


def test_each_fact_that_is_given_is_shown_with_why(page: Window, told: Served) -> None:
    page.go("#/context")
    facts = told.world.memory.context(None).included
    assert len(facts) > 10
    page.count(len(facts), "listitem", within=GIVEN)
    assert Counter(page.evaluate(TEXTS)) == Counter(fact.text for fact in facts)
    page.says(re.compile(r"[\d,]+ of [\d,]+ tokens used"))
    page.press("link", "where it is from", GIVEN)
    page.there("region", "Event")


def test_the_context_as_text_is_exactly_the_text(page: Window, told: Served) -> None:
    page.go("#/context?workspace=/Users/dana/Downloads")
    page.press("button", "As text")
    page.says("what happened before in", part("main"))
    said = page.evaluate(
        "() => document.querySelector('[aria-label=\"The text of the context\"]').textContent"
    )
    mark = re.compile(r"[0-9a-f]{32}")  # the fence's is of this very moment
    expected = told.world.memory.context("/Users/dana/Downloads").text
    assert mark.sub("", said.strip()) == mark.sub("", expected.strip())
    page.press("button", "Items")
    page.there("listitem", within=GIVEN)


def test_the_ways_of_the_day_before_are_told(page: Window) -> None:
    page.go("#/context")
    page.says("/Users/dana/Downloads", region("Folders"))
    page.says("invoice_acme_20261102.pdf", region("Naming conventions"))
    page.says("notes.txt", region("Left alone"))


def test_another_folder_has_another_context(page: Window) -> None:
    page.go("#/context")
    page.says(DECISION, GIVEN)
    page.fill("combobox", "Folder of the next session", "/Users/dana/Projects/tool")
    page.says("release as 2.4.1", GIVEN)
    page.unsaid(DECISION, part("main"))
    page.fill("combobox", "Folder of the next session", "")
    page.says(DECISION, GIVEN)


def test_a_choice_is_kept_taken_back_and_says_which_it_is(page: Window, told: Served) -> None:
    memory = told.world.memory
    exclude, pin, auto = (re.compile(f"^{way}: .*{DECISION}") for way in ("Exclude", "Pin", "(Auto|Include)"))
    page.go("#/settings")
    page.go("#/context")
    page.holds(part("button", auto, GIVEN), "aria-pressed", "true")
    page.press("button", exclude, GIVEN)
    out = region("Excluded by you")
    page.holds(part("button", exclude, out), "aria-pressed", "true")
    assert DECISION not in memory.context(None).text
    page.press("button", pin, out)
    page.gone("region", "Excluded by you")
    page.holds(part("button", pin, GIVEN), "aria-pressed", "true")
    page.says("pinned", GIVEN)
    assert DECISION in memory.context(None).text
    page.press("button", auto, GIVEN)
    page.holds(part("button", auto, GIVEN), "aria-pressed", "true")
    page.holds(part("button", pin, GIVEN), "aria-pressed", "false")


def test_where_nothing_was_recorded_nothing_is_given_and_why_is_said(page: Window) -> None:
    page.go("#/context?workspace=/Users/dana/Nowhere")
    page.there("heading", "Context", part("main"))
    page.holds(part("combobox", "Folder of the next session"), "value", "/Users/dana/Nowhere")
    page.unsaid(DECISION, part("main"))
