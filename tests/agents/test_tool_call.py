"""A call looks the same whoever made it: its output within bounds, its summary, the files it touched."""

from __future__ import annotations

import re

import pytest

from fazm_memory.agents.tool_calls import MAX_RAW_TEXT, action, patched_files, shell_files, summary
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
