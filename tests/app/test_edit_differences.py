"""What an edit changed, read from the call itself."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.app.history import edit_hunks


def lines(call_input: Any, path: str = "/p/a.py") -> list[str]:
    found, _ = edit_hunks(call_input, path)
    return [line["op"] + line["text"] for hunk in found for line in hunk["lines"]]


UNIFIED = (
    "--- a/p/b.py\n+++ b/p/b.py\n@@ -1 +1 @@\n-no\n+yes\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+two\n"
)


@pytest.mark.parametrize(
    "call_input",
    [
        {"file_path": "/p/a.py", "old_string": "one", "new_string": "two"},
        {"filePath": "/p/a.py", "oldString": "one", "newString": "two"},
        {"file_path": "/p/a.py", "edits": [{"old_string": "one", "new_string": "two"}]},
        "*** Begin Patch\n*** Update File: /p/a.py\n@@ def f\n-one\n+two\n*** Add File: b.py\n+yes",
        {"input": "*** Begin Patch\n*** Update File: a.py\n-one\n+two\n*** End Patch"},
        {"path": "/p/a.py", "diff": "<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE"},
        {"patch": UNIFIED},
    ],
)
def test_the_edit_tools_of_agents_are_read(call_input: Any) -> None:
    assert lines(call_input) == ["-one", "+two"]


def test_written_content_is_shown_whole_and_the_note_says_what_is_not_known() -> None:
    found, note = edit_hunks({"file_path": "/p/a.py", "content": "one\ntwo\n"}, "/p/a.py")
    assert [line["op"] for line in found[0]["lines"]] == ["+", "+"]
    assert "before is not known" in (note or "")


@pytest.mark.parametrize(
    "call_input", [None, 7, {}, {"command": "ls"}, {"edits": "x"}, {"content": 3}, "text"]
)
def test_other_calls_have_no_difference(call_input: Any) -> None:
    assert edit_hunks(call_input, "/p/a.py") == ([], None)


def places(call_input: Any, line: int | None = None) -> list[tuple[int | None, int | None]]:
    return [(hunk["a"], hunk["b"]) for hunk in edit_hunks(call_input, "/p/a.py", line)[0]]


EDIT = {"file_path": "/p/a.py", "old_string": "same\none\n", "new_string": "same\ntwo\n"}


def test_an_edit_has_line_numbers_if_its_first_changed_line_is_known() -> None:
    assert places(EDIT, 41) == [(40, 40)]
    assert places(EDIT) == [(None, None)]


def test_an_edit_of_every_place_says_that_it_shows_the_first() -> None:
    _, note = edit_hunks(EDIT | {"replace_all": True}, "/p/a.py", 41)
    assert "first place" in (note or "")


def test_a_unified_diff_has_the_line_numbers_of_its_hunks() -> None:
    assert places({"patch": "--- a/a.py\n+++ b/a.py\n@@ -7,2 +9 @@\n-one\n-two\n+three\n"}) == [(7, 9)]
