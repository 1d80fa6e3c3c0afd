"""Real Claude Code: a reminder arrives at the call it is about, once, and before no other call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.remembered import Remembered
from tests.e2e.scenarios.claude import bash, edit, read, write
from tests.e2e.scenarios.script import Scenario, do, say

pytestmark = pytest.mark.e2e

OURS = "Fazm Memory: "


@pytest.fixture
def memory(claude: Claude, tmp_path: Path) -> Iterator[Remembered]:
    made = Remembered(claude, tmp_path / "memory")
    made.connect()
    yield made
    made.close()


def test_what_the_user_forbade_arrives_with_the_call_and_once(claude: Claude, memory: Remembered) -> None:
    claude.run("do not stash anything, read the files", scenario=Scenario("first", (say("Understood."),)))
    memory.take_in()
    calls = (do(bash("echo one")), do(bash("git stash list")), do(bash("git stash show")), say("Done."))

    run = claude.run("Look what is there.", scenario=Scenario("second", calls))

    assert run.returncode == 0, run.stderr
    # The handover at the start has the words too; the reminder is the line with our name before them.
    told = [request.text.count(f"{OURS}the user said: ") for request in run.turns]
    assert told == [0, 0, 1, 1]


def test_what_the_user_said_about_a_file_arrives_with_the_change_that_is_about_it(
    claude: Claude, memory: Remembered
) -> None:
    file = claude.workspace / "export.py"
    wrote = Scenario("wrote", (do(write(file, "vendor = None\n")), say("The exporter is written.")))
    first = claude.run("Write the exporter.", scenario=wrote)
    said = Scenario("said", (say("It warns now."),))
    claude.run("Do not fallback, print a warning", scenario=said, resume=first.session_id)
    memory.take_in()
    calls = (
        do(read(file)),
        do(edit(file, "vendor = None", "seller = None")),
        do(edit(file, "seller = None", "seller = fallback()")),
        say("Done."),
    )

    run = claude.run("Rename the vendor.", scenario=Scenario("second", calls))

    assert run.returncode == 0, run.stderr
    told = [request.text.count("about a change of this file, the user said: ") for request in run.turns]
    assert told == [0, 0, 0, 1]
