"""A listing is believed only when the command is plainly one and nothing else was printed."""

from __future__ import annotations

import pytest

from fazm_memory.agents.tool_calls import MOST, listed_by_command, listed_names, listed_paths

CWD, HOME = "/Users/dana/proj", "/Users/dana"
LONG = """total 16
drwxr-xr-x  4 dana staff  128 Nov 16 04:03 .
drwxr-xr-x  9 dana staff  288 Nov 16 04:03 ..
-rw-r--r--@ 1 dana staff 1024 Nov 16 04:03 a file.txt
lrwxr-xr-x  1 dana staff   10 Nov 16 04:03 link.txt -> a file.txt
drwxr-xr-x  2 dana staff   64 Nov 16  2025 folder
"""


@pytest.mark.parametrize(
    ("command", "output", "folder", "files"),
    [
        ("ls", "a.txt\nb.txt\n", CWD, ["a.txt", "b.txt"]),
        ("ls -1a docs/", ".\n..\n.hidden\na.txt\n", f"{CWD}/docs", [".hidden", "a.txt"]),
        ("ls '/tmp/my docs'", "a.txt\n", "/tmp/my docs", ["a.txt"]),
        ("ls -p", "sub/\na.txt\n", CWD, ["a.txt"]),
        ("ls -F", "sub/\nrun*\n", CWD, ["run"]),
        ("ls -la", LONG, CWD, ["a file.txt", "link.txt"]),
        ("ls ~/Downloads", "a.pdf\n", f"{HOME}/Downloads", ["a.pdf"]),
        ("find . -maxdepth 1 -type f -name '*.txt'", "./a.txt\n", CWD, ["a.txt"]),
        ("rg --files", "src/a.py\n", f"{CWD}/src", ["a.py"]),
        ("git ls-files", "README.md\n", CWD, ["README.md"]),
    ],
)
def test_a_plain_listing_tells_its_folder(command: str, output: str, folder: str, files: list[str]) -> None:
    assert listed_by_command(command, output, CWD, HOME) == [{"folder": folder, "files": files}]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("ls | head", "a.txt\n"),
        ("ls; rm b.txt", "a.txt\n"),
        ("ls *.txt", "a.txt\n"),
        ("ls $DIR", "a.txt\n"),
        ("ls a b", "a:\nx\n\nb:\ny\n"),
        ("ls -R", ".:\na.txt\n"),
        ("ls a.txt", "a.txt\n"),
        ("ls", ""),
        ("ls 'open", "a.txt\n"),
        ("find . -name x -delete", "./x\n"),
        ("find . -type d", "./sub\n"),
        ("find .", "./sub\n./a.txt\n"),
        ("cat a.txt", "b.txt\n"),
    ],
)
def test_what_is_not_plain_tells_nothing(command: str, output: str) -> None:
    assert listed_by_command(command, output, CWD, HOME) == []


def test_without_a_home_or_a_root_nothing_is_placed() -> None:
    assert listed_by_command("ls ~/Downloads", "a.pdf\n", CWD) == []
    assert listed_by_command("ls", "a.pdf\n", "") == []
    assert listed_paths(["a.txt"], "") == []


def test_paths_are_reported_folder_by_folder() -> None:
    assert listed_paths(["a.txt", "d/b.txt", "/x/c.txt", "d/e.txt", "sub/", ""], CWD) == [
        {"folder": CWD, "files": ["a.txt"]},
        {"folder": f"{CWD}/d", "files": ["b.txt", "e.txt"]},
        {"folder": "/x", "files": ["c.txt"]},
    ]


def test_a_great_folder_is_capped_and_its_count_kept() -> None:
    names = [f"{number}.txt" for number in range(MOST + 5)]
    assert listed_names(CWD, names) == [{"folder": CWD, "files": names[:MOST], "total": MOST + 5}]
