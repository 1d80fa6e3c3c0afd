"""An agent may leave out which files a call touched: the call itself tells, as far as it can."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events.event import Action
from fazm_memory.ingest.prepare import MOST_SESSIONS, CallInference

HOME = "/Users/dana"
WORK = f"{HOME}/Downloads"


def files(tool: str, given: Any, output: Any = "", **more: Any) -> list[tuple[str, str, str | None]]:
    action = CallInference().completed("s", Action(tool, given, output, **more), WORK)
    return [(one.change, one.path, one.origin) for one in action.files]


@pytest.mark.parametrize("tool", ["Bash", "shell", "run_command", "container.exec"])
@pytest.mark.parametrize(
    "given", [{"command": "mv a.pdf b.pdf"}, {"cmd": ["bash", "-lc", "mv a.pdf b.pdf"]}, "mv a.pdf b.pdf"]
)
def test_a_command_tells_what_it_did(tool: str, given: Any) -> None:
    assert files(tool, given) == [("renamed", f"{WORK}/b.pdf", f"{WORK}/a.pdf")]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("move_file", {"source": f"{WORK}/a.pdf", "destination": f"{WORK}/b.pdf"}),
        ("rename", {"from": "a.pdf", "to": "b.pdf"}),
        ("rename_file", {"path": "a.pdf", "new_name": "b.pdf"}),
        ("mcp__filesystem__move_file", {"source": "~/Downloads/a.pdf", "destination": "~/Downloads/b.pdf"}),
    ],
)
def test_a_file_tool_tells_what_it_was_given(tool: str, given: Any) -> None:
    assert files(tool, given) == [("renamed", f"{WORK}/b.pdf", f"{WORK}/a.pdf")]


def test_what_only_sounds_like_files_is_none() -> None:
    assert files("move", {"from": "e2", "to": "e4"}) == []
    assert files("ask", {"path": "a.pdf"}) == []


def test_without_a_workspace_nobody_can_tell_where_a_file_is() -> None:
    action = Action("rename", {"from": "a.pdf", "to": "b.pdf"})
    assert CallInference().completed("s", action, None) is action


@pytest.mark.parametrize("outcome", ["error", "timeout", "denied", "interrupted"])
def test_a_file_tool_that_failed_touched_nothing(outcome: Any) -> None:
    assert files("move_file", {"source": "/a", "destination": "/b"}, outcome=outcome) == []


def test_what_a_listing_showed_names_what_a_pattern_then_moved() -> None:
    calls = CallInference()
    calls.completed("s", Action("Bash", {"command": "ls -1"}, "a.jpg\nb.jpg\nn.txt\n"), WORK)
    moved = calls.completed("s", Action("Bash", {"command": "mv *.jpg Photos/"}, ""), WORK)
    assert {one.origin for one in moved.files} == {f"{WORK}/a.jpg", f"{WORK}/b.jpg"}
    assert all(one.inferred for one in moved.files)
    other = calls.completed("another", Action("Bash", {"command": "mv *.jpg Photos/"}, ""), WORK)
    assert other.files == ()


ENTRIES = {"entries": [{"name": "a.pdf"}, {"name": "n.txt"}, {"name": "O", "type": "dir"}]}
BLOCKS = [{"type": "text", "text": "[FILE] a.pdf\n[DIR] O\n[FILE] n.txt"}]


@pytest.mark.parametrize(
    ("tool", "given", "output"),
    [
        ("Bash", {"command": "ls"}, "a.pdf\nn.txt\n"),
        ("Bash", {"command": "ls"}, {"stdout": "a.pdf\nn.txt\n", "exit_code": 0}),
        ("list_directory", {"path": WORK}, ["a.pdf", "n.txt", "Old/"]),
        ("list_directory", {"path": WORK}, "a.pdf\nn.txt"),
        ("list_files", {}, '["a.pdf", "n.txt"]'),
        ("list_dir", {"path": "."}, ENTRIES),
        ("mcp__filesystem__list_directory", {"path": WORK}, BLOCKS),
    ],
)
def test_a_listing_tells_what_was_there(tool: str, given: Any, output: Any) -> None:
    action = CallInference().completed("s", Action(tool, given, output), WORK)
    assert [(one.folder, one.files) for one in action.seen] == [(WORK, ("a.pdf", "n.txt"))]


@pytest.mark.parametrize("output", ["Error: no such folder", None, 7, [], "", [None, {}], {"files": None}])
def test_what_is_no_listing_shows_nothing(output: Any) -> None:
    assert CallInference().completed("s", Action("list_directory", {}, output), WORK).seen == ()


def test_only_so_many_sessions_are_remembered() -> None:
    calls = CallInference()
    for number in range(MOST_SESSIONS + 5):
        calls.completed(str(number), Action("Bash", {"command": "ls"}, "a.jpg\n"), WORK)
    assert len(calls._known) == MOST_SESSIONS
