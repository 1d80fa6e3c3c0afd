"""New names: what edits define, and no more once it is removed."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.recall.later_changes import defined_names, ranked_names
from tests.recall.conftest import ClockedMemory


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def parse_date(text):\n    inner = 1\n", ["parse_date"]),
        ("func (s *Store) UpdateAll(ctx context.Context) error {", ["UpdateAll"]),
        ("export async function loadUser() {}\nclass UserView {}", ["loadUser", "UserView"]),
        ("pub fn read_all() {}\nstruct Reader;", ["read_all", "Reader"]),
        ("\tTurnIds []string `json:\"turn_ids\"`", ["TurnIds"]),
        ("MAX_RETRIES = 3\nif x:\n    y = 2", ["MAX_RETRIES"]),
        ("return parse_date(x)", []),
    ],
)  # fmt: skip
def test_definitions_of_many_languages_are_found(code: str, names: list[str]) -> None:
    assert list(defined_names(code)) == names


def edit(memory: ClockedMemory, **given: Any) -> None:
    memory.say("s", "action", tool="Edit", input=given)


def added(memory: ClockedMemory) -> list[str]:
    return [item.text for item in memory.recall.context("/w").included if item.kind == "added"]


def test_the_context_names_what_was_added(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="parse dates")
    edit(memory, file_path="/w/a.py", old_string="", new_string="def parse_date(text): ...")
    edit(memory, file_path="/w/a.py", old_string="def old_name(): ...", new_string="def old_name(): pass")
    assert added(memory) == ["parse_date"]


def test_what_is_removed_again_is_not_named(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="parse dates")
    edit(memory, file_path="/w/a.py", old_string="", new_string="def parse_date(text): ...")
    edit(
        memory, file_path="/w/a.py", old_string="def parse_date(text): ...", new_string="def read_day(): ..."
    )
    assert added(memory) == ["read_day"]


DATE = {"file_path": "/w/a.py", "old_string": "", "new_string": "def parse_date(): ..."}


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ({"tool": "Bash", "input": {"command": "rm a.py"}, "files": [("/w/a.py", "deleted")]}, []),
        ({"tool": "Bash", "input": {"command": "rm -r /w"}, "files": [("/w", "deleted")]}, []),
        ({"tool": "Bash", "input": {"command": "git checkout -- a.py"}}, []),
        ({"tool": "Bash", "input": {"command": "git restore a.py"}}, []),
        ({"tool": "Bash", "input": {"command": "git reset --hard"}}, []),
        ({"tool": "Bash", "input": {"command": "git stash"}}, []),
        ({"tool": "Bash", "input": {"command": "git stash && pytest; git stash pop"}}, ["parse_date"]),
        ({"tool": "Bash", "input": {"command": "git checkout -- b.py"}}, ["parse_date"]),
        ({"tool": "Bash", "input": {"command": "sed -i 's/parse_date/read_day/g' a.py"}}, ["read_day"]),
        (
            {"tool": "Edit", "input": {"file_path": "/w/a.py", "old_string": "parse_date",
                                       "new_string": "read_day", "replace_all": True}},
            ["read_day"],
        ),
        ({"tool": "Write", "input": {"file_path": "/w/a.py", "content": "def read_day(): 1"}}, ["read_day"]),
        ({"tool": "Edit", "input": {"file_path": "/w/a.py", "old_string": "def parse_date(): ...",
                                    "new_string": ""}}, []),
    ],
)  # fmt: skip
def test_deleted_restored_and_renamed_things_are_not_told_as_added(
    memory: ClockedMemory, later: dict[str, Any], expected: list[str]
) -> None:
    memory.say("s", "prompt", text="parse dates")
    edit(memory, **DATE)
    files = [{"path": path, "change": change} for path, change in later.pop("files", ())]
    memory.say("s", "action", **later, **({"files": files} if files else {}))
    assert added(memory) == expected


def test_a_definition_that_moved_is_not_new(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="parse dates")
    edit(memory, file_path="/w/a.py", old_string="def parse_date(): ...", new_string="")
    edit(
        memory, file_path="/w/b.py", old_string="", new_string="def parse_date(): ...\ndef parse_time(): ..."
    )
    assert added(memory) == ["parse_time"]


def test_prose_failed_edits_and_patches(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="parse dates")
    edit(memory, file_path="/w/a.md", new_string="def in_prose(): ...")
    memory.say("s", "action", tool="Edit", input={"file_path": "/w/a.py", "new_string": "def not_done():"},
               error="no")  # fmt: skip
    patch = "*** Begin Patch\n*** Update File: a.py\n-def old_way():\n+def new_way():\n*** End Patch"
    memory.say("s", "action", tool="apply_patch", input={"patch": patch})
    assert added(memory) == ["new_way"]


def test_names_that_were_talked_about_come_first_and_tests_are_counted() -> None:
    names = ["helper_one", "TestSave_Empty", "TestSave_Full", "loadUser", "Plain", "SHELL_COLOUR"]
    assert ranked_names(names, {"loadUser": 3}) == [
        "loadUser",
        "helper_one",
        "TestSave_Empty and 1 more test of TestSave",
    ]
