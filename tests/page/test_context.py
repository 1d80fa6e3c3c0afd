"""Stories of the context screen, in both browsers."""

from __future__ import annotations

import re
from collections import Counter

from tests.page.server import Server
from tests.page.window import MAIN, Window, part, region

DECISION = "the date comes first"
INCLUDED = region("Included")
FOLDER = part("combobox", "Folder of the next session")
TEXTS = "() => [...document.querySelectorAll('[aria-label=Included] %s')].map((item) => item.textContent)"


def test_each_included_fact_is_shown_with_its_reason(page: Window, server: Server) -> None:
    page.go("#/context")
    context = server.world.memory.recall.context(None)
    assert len(context.included) > 10
    page.count(len(context.included), "listitem", within=INCLUDED)
    assert Counter(page.evaluate(TEXTS % ".context-text")) == Counter(fact.text for fact in context.included)
    reasons = Counter(item["why"] for item in context.data["items"] if item["included"])
    assert Counter(page.evaluate(TEXTS % ".context-why")) == reasons
    page.says(re.compile(r"[\d,]+ of [\d,]+ tokens used"))
    page.press("link", "Show event", INCLUDED)
    page.there("region", "Event")


def test_the_context_as_text_is_exactly_the_text(page: Window, server: Server) -> None:
    page.go("#/context?workspace=/Users/dana/Downloads")
    page.press("button", "As text")
    page.until("() => document.querySelector('[aria-label=\"Context as text\"]')")
    shown = page.evaluate("() => document.querySelector('[aria-label=\"Context as text\"]').textContent")
    mark = re.compile(r"[0-9a-f]{32}")  # the mark of the fence is new each time
    expected = server.world.memory.recall.context("/Users/dana/Downloads").text
    assert mark.sub("", shown.strip()) == mark.sub("", expected.strip())
    page.press("button", "Items")
    page.there("listitem", within=INCLUDED)


def test_folders_conventions_and_skipped_files_are_shown(page: Window) -> None:
    page.go("#/context")
    page.says("/Users/dana/Downloads", region("Folders"))
    page.says("invoice_acme_20261102.pdf", region("Naming conventions"))
    page.says("notes.txt", region("Skipped files"))


def test_another_folder_has_another_context(page: Window) -> None:
    page.go("#/context")
    page.says(DECISION, INCLUDED)
    page.fill("combobox", "Folder of the next session", "/Users/dana/Projects/tool")
    page.says("release as 2.4.1", INCLUDED)
    page.silent(DECISION, MAIN)
    page.fill("combobox", "Folder of the next session", "")
    page.says(DECISION, INCLUDED)
    page.go("#/context?workspace=/Users/dana/Nowhere")
    page.there("heading", "Context", MAIN)
    page.has(FOLDER, "value", "/Users/dana/Nowhere")
    page.silent(DECISION, MAIN)


def test_a_fact_is_pinned_excluded_and_left_to_its_rank_again(page: Window, server: Server) -> None:
    memory = server.world.memory
    decided = next(memory.history.events(server.world.ids["invoices"], kind="decision"))["seq"]
    exclude, pin, auto = (
        re.compile(f"^{choice}: .*{DECISION}") for choice in ("Exclude", "Pin", "(Auto|Include)")
    )
    page.visit(server, "invoices", decided)
    page.command("Event commands", "Pin to context")
    page.says("Pinned")
    page.go("#/context")
    page.has(part("button", pin, INCLUDED), "aria-pressed", "true")
    page.press("button", exclude, INCLUDED)
    excluded = region("Excluded by you")
    page.has(part("button", exclude, excluded), "aria-pressed", "true")
    assert DECISION not in memory.recall.context(None).text
    page.press("button", pin, excluded)
    page.gone("region", "Excluded by you")
    page.says("pinned", INCLUDED)
    assert DECISION in memory.recall.context(None).text
    page.press("button", auto, INCLUDED)
    page.has(part("button", auto, INCLUDED), "aria-pressed", "true")
    page.has(part("button", pin, INCLUDED), "aria-pressed", "false")
