"""A call looks the same whoever made it: its output within bounds, its summary, the files it touched."""

from __future__ import annotations

import re

import pytest

from fazm_memory.agents.tool_calls import (
    MAX_RAW_TEXT,
    action,
    call_meanings,
    patched_files,
    shell_files,
    summary,
)
from fazm_memory.config import LIMITS


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", None),
        ("\n  \n---\n", None),
        ("one\n", "one"),
        ("\n\n  one   two\n\nthree\nfour\nfive\n", "one two · three · four"),
        ("<content>\n1: alpha\n</content>", "1: alpha"),
        ("[\n  {\n    \"a\": 1\n", '"a": 1'),
        ("x" * 500, "x" * 500),
    ],
)  # fmt: skip
def test_a_summary_is_the_first_lines_that_say_something(output: str, expected: str | None) -> None:
    assert summary(output) == expected


def test_an_action_tells_only_what_is_known() -> None:
    assert action("ls", None, call_id="c1") == {"tool": "ls", "call_id": "c1", "outcome": "ok"}


def test_an_action_stays_within_bounds_far_above_what_the_redactor_keeps() -> None:
    """A cut before redacting falls where nothing is kept: elsewhere it could hide half a secret."""
    long = "x" * (3 * MAX_RAW_TEXT)
    made = action("cat", {"path": long}, call_id="c1", output=long, outcome="error", error=long)
    for text in (made["output"], made["error"], made["input"]["path"]):
        assert len(text) <= MAX_RAW_TEXT
        head, tail = (len(part) for part in re.split("\n… \\d+ characters left out …\n", text))
        assert min(head, tail) >= LIMITS["text_cap"][1] - 200


def test_an_error_is_reported_only_of_what_failed() -> None:
    assert "error" not in action("ls", None, call_id="c1", error="not really")


def test_a_commands_files_are_reported_as_an_action_tells_them() -> None:
    assert shell_files("mv a.txt b.txt", cwd="/Users/dana") == [
        {"path": "/Users/dana/b.txt", "change": "renamed", "from": "/Users/dana/a.txt"}
    ]


def test_a_patch_tells_what_it_adds_changes_moves_and_removes() -> None:
    patch = """*** Begin Patch
*** Add File: new.txt
+*** Delete File: not-a-header.txt
*** Update File: old name.txt
*** Move to: sub/new name.txt
@@
-a
+b
*** Update File: /abs/same.txt
@@
 *** Move to: not-a-header.txt
*** Delete File: gone.txt
*** End Patch
"""
    assert patched_files(patch, "/Users/dana") == [
        {"path": "/Users/dana/new.txt", "change": "created"},
        {"path": "/Users/dana/sub/new name.txt", "change": "renamed", "from": "/Users/dana/old name.txt"},
        {"path": "/abs/same.txt", "change": "modified"},
        {"path": "/Users/dana/gone.txt", "change": "deleted"},
    ]


STORED = "\n\nThe plan is stored at: /w/rename-scans.md\nRevise the plan based on the feedback."
IN_FILE = {"plan_filename": "rename-scans.md"}  # Gemini
IN_CALL = {"plan": "# Plan: Rename the scans\n\n1. read the dates"}  # Qwen


@pytest.mark.parametrize(
    ("tool_input", "output", "title", "status", "decided"),
    [
        (IN_FILE, "Plan approved. Switching to Default mode.", "rename-scans", "accepted", "accepted"),
        (IN_FILE, f"Plan rejected. User feedback: a\nb{STORED}", "rename-scans", "rejected", "a\nb"),
        (IN_FILE, f"Plan rejected. No feedback provided.{STORED}", "rename-scans", "rejected", None),
        (IN_FILE, "User cancelled the plan approval dialog.", "rename-scans", None, None),
        (IN_CALL, "User approved. You can now start coding.", "Rename the scans", "accepted", "accepted"),
        (IN_CALL, "Plan execution was not approved. Remaining in plan mode.", "Rename the scans", None, None),
    ],
)  # fmt: skip
def test_a_presented_plan_comes_with_what_the_user_said_of_it(
    tool_input: dict[str, str], output: str, title: str, status: str | None, decided: str | None
) -> None:
    shown, *judged = call_meanings("c1", "exit_plan_mode", tool_input, output, "ok", {})
    assert (shown.payload["title"], shown.payload["status"], shown.actor) == (title, "presented", None)
    assert [one.payload["status"] for one in judged if one.kind == "plan"] == ([status] if status else [])
    assert [one.payload["what"] for one in judged if one.kind == "decision"] == ([decided] if decided else [])
    assert {one.actor for one in judged} <= {"person"}


def test_answers_under_the_headers_of_their_questions_are_decisions() -> None:
    asked = [
        {"question": "Which date?", "header": "Date", "options": [{"label": "ISO"}, {"label": "US"}]},
        {"question": "Where to?", "header": "Folder", "options": [{"label": "here"}]},
        {"question": "Any rule?", "options": []},
    ]
    answers = "**Date**: US\n**Folder**: ~/Scans\nor here\n**Question 3**: no"
    output = f"User has provided the following answers:\n\n{answers}"
    found = call_meanings("c1", "ask_user_question", {"questions": asked}, output, "ok", {})
    assert [(one.payload["question"], one.payload["what"]) for one in found] == [
        ("Which date?", "US"), ("Where to?", "~/Scans\nor here"), ("Any rule?", "no"),
    ]  # fmt: skip
    declined = "User declined to answer the questions."
    assert list(call_meanings("c1", "ask_user_question", {"questions": asked}, declined, "ok", {})) == []
