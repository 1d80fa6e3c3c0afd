"""Which files a file tool touched."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.agents.tool_calls import UNKNOWN_WHETHER_NEW, touched_files

CWD = "/Users/dana/proj"


@pytest.mark.parametrize(
    ("tool", "given", "path", "change"),
    [
        ("Read", {"file_path": "/a/b.txt"}, "/a/b.txt", "read"),
        ("Read", {"file_path": "b.txt", "offset": 5}, f"{CWD}/b.txt", "read"),
        ("Edit", {"file_path": "/a/b.txt", "old_string": "x", "new_string": "y"}, "/a/b.txt", "modified"),
        ("MultiEdit", {"file_path": "../b.txt", "edits": []}, "/Users/dana/b.txt", "modified"),
        ("NotebookEdit", {"notebook_path": "/a/n.ipynb", "new_source": ""}, "/a/n.ipynb", "modified"),
        ("read_file", {"absolute_path": "/a/b.txt"}, "/a/b.txt", "read"),
        ("replace", {"file_path": "/a/b.txt"}, "/a/b.txt", "modified"),
        ("edit", {"filePath": "/a/b.txt"}, "/a/b.txt", "modified"),
        ("read", {"filePath": "~/b.txt"}, "/Users/dana/b.txt", "read"),
        ("Grep", {"pattern": "x", "path": "/a/b.py"}, "/a/b.py", "read"),
        ("mcp__filesystem__read_text_file", {"path": "/a/b.txt"}, "/a/b.txt", "read"),
        ("mcp__filesystem__edit_file", {"path": "/a/b.txt"}, "/a/b.txt", "modified"),
    ],
)
def test_a_tool_and_its_path_tell_the_file(tool: str, given: Any, path: str, change: str) -> None:
    assert touched_files(tool, given, cwd=CWD, home="/Users/dana") == [{"path": path, "change": change}]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Glob", {"pattern": "*.txt", "path": "/a"}),
        ("LS", {"path": "/a"}),
        ("Grep", {"pattern": "x", "path": "/a"}),
        ("Grep", {"pattern": "x"}),
        ("TodoWrite", {"todos": []}),
        ("WebFetch", {"url": "https://example.org/a.txt"}),
        ("mcp__github__create_file", {"path": "a.txt"}),
        ("mcp__", {"path": "a.txt"}),
        ("Read", {}),
        ("Read", {"file_path": 7}),
        ("Read", None),
        ("", {"file_path": "/a"}),
    ],
)
def test_other_calls_touch_no_file(tool: str, given: Any) -> None:
    assert touched_files(tool, given, cwd=CWD) == []


def test_a_written_file_is_new_changed_or_not_reported() -> None:
    def written(created: bool | None) -> dict[str, Any]:
        return touched_files("Write", {"file_path": "/a.txt", "content": ""}, cwd=CWD, created=created)[0]

    assert written(True) == {"path": "/a.txt", "change": "created"}
    assert written(False) == {"path": "/a.txt", "change": "modified"}
    assert written(None) == {
        "path": "/a.txt",
        "change": "modified",
        "inferred": True,
        "why": UNKNOWN_WHETHER_NEW,
    }


def test_a_moved_file_tells_where_it_was() -> None:
    given = {"source": "a.txt", "destination": "/b/a.txt"}
    assert touched_files("mcp__filesystem__move_file", given, cwd=CWD) == [
        {"path": "/b/a.txt", "change": "renamed", "from": f"{CWD}/a.txt"}
    ]
    assert touched_files("mcp__filesystem__move_file", {"source": "a.txt"}, cwd=CWD) == []


def test_many_files_are_reported_one_by_one() -> None:
    given = {"paths": ["a.txt", 5, "/b.txt", ""]}
    assert touched_files("mcp__filesystem__read_multiple_files", given, cwd=CWD) == [
        {"path": f"{CWD}/a.txt", "change": "read"},
        {"path": "/b.txt", "change": "read"},
    ]
