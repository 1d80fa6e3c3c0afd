"""The first lines of a handover: what is open, and what is known of uncommitted files."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import ClockedMemory

MORNING = "2026-11-15T09:00:00+00:00"
DONE = "The invoices are exported by month now, with one sheet for each supplier."


def _sh(memory: ClockedMemory, command: str, output: str = "", session: str = "s", **more: Any) -> None:
    memory.say(session, "action", tool="Bash", input={"command": command}, output=output, **more)


def _edit(memory: ClockedMemory, *names: str, session: str = "s") -> None:
    for name in names:
        files = [{"path": f"/w/{name}", "change": "modified"}]
        memory.say(session, "action", tool="Edit", input={"file_path": f"/w/{name}"}, files=files)


@pytest.fixture
def work(memory: ClockedMemory) -> ClockedMemory:
    """A session on a branch, with a request."""
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="export the invoices by month")
    _sh(memory, "git checkout -b export", "Switched to a new branch 'export'")
    return memory


def _next(memory: ClockedMemory) -> str:
    text = memory.at(MORNING).recall.context("/w").text
    return "NEXT" + text.partition("\nNEXT")[2].partition("\nYesterday")[0].rstrip()


def test_without_a_word_of_git_no_commit_was_seen(work: ClockedMemory) -> None:
    _edit(work, "test_export.py", "export.py")
    work.at("2026-11-14T16:20:00+00:00")
    _edit(work, "tests/data.py")
    work.say("s", "message", text=DONE)
    assert "edited until 16:20, no commit seen: export.py, test_export.py; tests/data.py" in _next(work)
    assert "not committed" not in _next(work)


def test_what_git_lists_is_not_committed(work: ClockedMemory) -> None:
    _edit(work, "test_export.py", "export.py")
    work.at("2026-11-14T16:20:00+00:00")
    _sh(work, "git status --short", " M export.py\n M test_export.py\n")
    work.say("s", "message", text=DONE)
    assert "not committed at 16:20: export.py, test_export.py" in _next(work)
    assert "no commit seen" not in _next(work)


def test_what_git_no_longer_lists_is_not_open(work: ClockedMemory) -> None:
    _edit(work, "export.py", "sheet.py")
    _sh(work, "git status --short", " M sheet.py\n")
    work.say("s", "message", text=DONE)
    text = work.at(MORNING).recall.context("/w").text
    assert "not committed at 16:00: sheet.py" in text
    assert "no commit seen" not in text
    assert "export.py" not in text


def test_that_work_is_ready_to_commit_is_no_step(work: ClockedMemory) -> None:
    _edit(work, "export.py")
    work.say("s", "message", text=f"{DONE}\n\nThe changes are ready to commit.")
    assert "the agent proposed" not in _next(work)
    assert "export.py" in _next(work)


def test_work_that_broke_off_says_what_was_edited(work: ClockedMemory) -> None:
    _edit(work, "export.py")
    work.say("s", "message", text=DONE)
    work.say("s", "prompt", text="take the sheets for suppliers out again")
    _edit(work, "export.py", "sheet.py")
    started = {"tool": "Bash", "input": {"command": "make check"}, "call_id": "c1"}
    work.say("s", "action.start", **started)
    assert 'broken off after edits of sheet.py, export.py: "take the sheets' in _next(work)
    assert '"make check" began and never finished' in _next(work)


@pytest.mark.parametrize(("pause", "stopped"), [(0, False), (20, True)])
def test_a_request_that_the_user_stopped_is_open(work: ClockedMemory, pause: int, stopped: bool) -> None:
    work.say("s", "message", text=DONE)
    work.say("s", "prompt", text="find suppliers without an invoice")
    _sh(work, "grep -L invoice suppliers/*", outcome="denied", error="refused by the user")
    work.at(f"2026-11-14T16:{pause:02}:30+00:00")
    work.say("s", "prompt", text="name the sheets by supplier")
    _edit(work, "export.py")
    work.say("s", "message", text="The sheets have the names of their suppliers.")
    line = 'the user stopped the work on "find suppliers without an invoice" at 16:00'
    assert (line in _next(work)) is stopped


def test_what_is_open_in_the_last_thread_comes_first(work: ClockedMemory) -> None:
    work.say("s", "message", text=f"{DONE}\n\n## Next steps\n\n1. Add the year to the names of the sheets\n")
    work.at("2026-11-14T18:00:00+00:00")
    work.say("t", "prompt", text="which supplier sent no invoice this year?")
    _sh(work, "git checkout main", "Switched to branch 'main'", session="t")
    work.say("t", "message", text="Hooli sent no invoice this year.")
    first, second = _next(work).splitlines()
    assert first == "NEXT    1: no open task is recorded"
    assert second.strip().startswith("2 (until 16:00): the agent proposed: Add the year")
