"""Stories of the screens on changed files and on retries, in both browsers."""

from __future__ import annotations

import re

from tests.page.server import Server
from tests.page.story import add
from tests.page.window import MAIN, Window, region

FILES = region("Changed files")
HISTORY = region("Changes of this file")


def test_the_files_of_a_session_are_filtered_by_who_changed_them(page: Window, server: Server) -> None:
    page.visit(server, "invoices")
    page.press("link", "4 files changed")
    page.count(4, "listitem", within=FILES)
    page.says(re.compile(r"notes\.txt.*modified by you"), FILES)
    page.press("button", "Agent")
    page.count(3, "listitem", within=FILES)
    page.silent("notes.txt", FILES)
    page.says(re.compile(r"2026-11-09 hooli\.pdf.*renamed by the agent"), FILES)
    page.press("button", "You")
    page.count(1, "listitem", within=FILES)
    page.press("button", "Unknown")
    page.there("heading", "No changed files", MAIN)
    page.press("button", "Anybody")
    page.press("link", re.compile(r"^Yesterday, 1\d:\d\d, turn 1$"), FILES)
    page.there("region", "Event")


def test_the_last_turns_can_be_chosen(page: Window, server: Server) -> None:
    page.go(f"#/files?session={server.world.ids['site']}")
    page.count(4, "listitem", within=FILES)
    page.press("button", "Last turn")
    page.count(1, "listitem", within=FILES)
    page.says(re.compile("newsletter"), FILES)


def test_a_file_says_who_changed_it_and_why(page: Window, server: Server) -> None:
    page.go(f"#/files?session={server.world.ids['invoices']}")
    page.press("link", "notes.txt", FILES)
    page.says(re.compile("modified by you.*Rename invoices, date first"), HISTORY)
    page.press("button", "Agent")
    page.there("heading", "No changes", MAIN)
    page.go("#/files?path=/Users/dana/Downloads/2026-11-09 hooli.pdf")
    page.says(re.compile("renamed by the agent, from .*invoice_hooli_20261109.pdf"), HISTORY)
    page.says("Asked: Rename the invoices in Downloads, date first. Leave drafts alone.", HISTORY)


def test_a_long_request_unfolds_to_its_end(page: Window, server: Server) -> None:
    add(server.world, "dana-today", "prompt", {"text": f"{'Look at every total. ' * 20}Then write the sums."})
    files = [{"path": "/Users/dana/sums.md", "change": "created"}]
    write = {
        "tool": "Write",
        "input": {"file_path": "/Users/dana/sums.md"},
        "files": files,
        "call_id": "sums",
    }
    add(server.world, "dana-today", "action", write)
    page.go("#/files?path=/Users/dana/sums.md")
    page.says("Asked: Look at every total.", HISTORY)
    page.silent("Then write the sums.", HISTORY)
    page.press("summary", re.compile("^Asked: Look"), HISTORY)
    page.says("Then write the sums.", HISTORY)


def test_a_retry_says_what_came_of_both_calls_and_what_changed_in_between(
    page: Window, server: Server
) -> None:
    page.visit(server, "site")
    page.press("link", "3 retries")
    page.there("heading", "Retries", MAIN)
    card = region("Bash npm test")
    page.count(3, "region", "Bash npm test", MAIN)
    page.says("-PASS 41 tests in 2.1 s", card)
    page.says("+PASS 43 tests in 2.2 s", card)
    page.says("Different: output.", card)
    page.says("asked: Do the same for the newsletter form", card)
    page.says("src/newsletter.ts changed by the agent", card)
