"""The commands for going back: a plan in words, exactly that plan, its undo; branches with their folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.clock import iso
from tests.files_world import World

from .conftest import Run


@pytest.fixture
def world(home: Path, tmp_path: Path) -> Iterator[World]:
    """In the same home as the command line's."""
    made = World(tmp_path)
    made.write("a.txt", "one")()
    made.write("b.txt", "bee")()
    made.begin()
    yield made
    made.close()


def worked(world: World) -> int:
    return world.agent(
        lambda: (world.write("a.txt", "two")(), (world.folder / "b.txt").rename(world.folder / "c.txt"))
    )


def test_a_plan_is_shown_then_done_then_taken_back(run: Run, world: World) -> None:
    position, now = worked(world), iso(world.now())
    shown = run("rewind", world.session, "--to", str(position), "--files", "--dry-run", now=now)
    assert shown.out.startswith("To take back: 1 action, from “")
    assert f"restore {world.folder}/a.txt: the agent changed it" in shown.out
    assert f"rename back {world.folder}/b.txt (now c.txt)" in shown.out
    assert world.files() == {"a.txt": b"two", "c.txt": b"bee"}
    done = run("rewind", world.session, "--to", str(position), "--files", now=now)
    assert (done.code, f"rewind {world.session[:8]} --undo" in done.out) == (0, True)
    assert "Taken back: 1 action, from “" in done.out
    assert world.files() == {"a.txt": b"one", "b.txt": b"bee"}
    assert run("rewind", world.session, "--undo", now=now).code == 0
    assert world.files() == {"a.txt": b"two", "c.txt": b"bee"}


def test_without_a_position_it_says_how_to_take_back_the_last_action(run: Run, world: World) -> None:
    position, now = worked(world), iso(world.now())
    refused = run("rewind", world.session, now=now)
    assert refused.code == 2
    assert f"`fazm-memory rewind {world.session[:8]} --to {position + 1} --files`" in refused.err
    assert run("rewind", world.session, "--to", str(position), "--files", now=now).code == 0
    assert world.files() == {"a.txt": b"one", "b.txt": b"bee"}


def test_a_persons_file_is_refused_with_what_to_do(run: Run, world: World) -> None:
    position = worked(world)
    world.person(world.write("a.txt", "mine"))
    now = iso(world.now())
    refused = run("rewind", world.session, "--to", str(position), "--files", now=now)
    assert (refused.code, "--force restores them too" in refused.err) == (18, True)
    assert world.files()["a.txt"] == b"mine"
    forced = run("rewind", world.session, "--to", str(position), "--files", "--force", "--json", now=now)
    assert [one["done"] for one in forced.json["files"]] == [True, True]
    assert world.kept(b"mine")


def renamed_by_a_person(world: World) -> int:
    """The agent renames b.txt, then a person renames a.txt."""
    position = world.agent(lambda: (world.folder / "b.txt").rename(world.folder / "c.txt"))
    world.person(lambda: (world.folder / "a.txt").rename(world.folder / "d.txt"))
    return position


def test_what_a_person_renamed_is_left_and_the_summary_says_so(run: Run, world: World) -> None:
    position, now = renamed_by_a_person(world), iso(world.now())
    command = ("rewind", world.session, "--to", str(position), "--files")
    for done in (run(*command, "--dry-run", now=now), run(*command, now=now)):
        assert f"leave {world.folder}/a.txt (now d.txt): renamed since by a person" in done.out
        assert f"--to {position} --files --everyone --force` brings back" in done.out
        assert "deleted it" not in done.out
    assert "Taken back in the session: 1 action, from “" in done.out
    assert "1 file went back, 1 file did not." in done.out
    assert world.files() == {"b.txt": b"bee", "d.txt": b"one"}


def test_what_a_person_renamed_is_renamed_back_for_everyone_with_force(run: Run, world: World) -> None:
    position, now = renamed_by_a_person(world), iso(world.now())
    command = ("rewind", world.session, "--to", str(position), "--files", "--everyone")
    refused = run(*command, "--dry-run", now=now).out
    assert f"REFUSED {world.folder}/a.txt (now d.txt): a person renamed it since" in refused
    assert "without --force" in refused
    planned = run(*command, "--force", "--dry-run", now=now).out
    assert f"rename back {world.folder}/a.txt (now d.txt): a person renamed it since" in planned
    assert "without --force" not in planned
    assert "REFUSED" not in planned
    done = run(*command, "--force", now=now).out
    assert [line for line in planned.splitlines() if "rename back" in line] == [
        line for line in done.splitlines() if "rename back" in line
    ]
    assert world.files() == {"a.txt": b"one", "b.txt": b"bee"}
    undo = run("rewind", world.session, "--undo", now=now)
    assert (undo.code, world.files()) == (0, {"c.txt": b"bee", "d.txt": b"one"})
    again = run(*command, "--force", "--dry-run", now=iso(world.now())).out
    assert f"rename back {world.folder}/a.txt (now d.txt): a person renamed it since" in again
    assert run(*command, "--force", now=iso(world.now())).code == 0
    assert world.files() == {"a.txt": b"one", "b.txt": b"bee"}


def test_a_plan_without_changes_says_that_no_file_would_change(run: Run, world: World) -> None:
    position = world.agent(lambda: None)
    now = iso(world.now())
    command = ("rewind", world.session, "--to", str(position), "--files")
    shown = run(*command, "--dry-run", now=now).out
    assert "No file would change.\nThe known files are as they were at that position." in shown
    assert "No file changed: the known files are as they were" in run(*command, now=now).out


def test_the_forced_plan_of_an_undo_is_shown(run: Run, world: World) -> None:
    position = worked(world)
    run("rewind", world.session, "--to", str(position), "--files", now=iso(world.now()))
    world.person(world.write("a.txt", "mine"))
    now = iso(world.now())
    assert "REFUSED" in run("rewind", world.session, "--undo", "--dry-run", now=now).out
    planned = run("rewind", world.session, "--undo", "--dry-run", "--force", now=now).out
    assert f"restore {world.folder}/a.txt: a person changed it since\n" in planned
    assert run("rewind", world.session, "--undo", "--force", now=now).code == 0
    assert world.files() == {"a.txt": b"two", "c.txt": b"bee"}


def test_resuming_with_files_restores_them_and_shows_the_briefing(run: Run, world: World) -> None:
    worked(world)
    run("pause", world.session, now=iso(world.now()))
    world.person(world.write("a.txt", "mine"))
    resumed = run("resume", world.session, "--files", "--force", now=iso(world.now()))
    assert f"restore {world.folder}/a.txt: a person changed it since" in resumed.out
    assert "taking up session" in resumed.out
    assert "To continue" in resumed.out
    assert "CHANGED SINCE" not in resumed.out  # what the person changed was taken back
    assert world.files() == {"a.txt": b"two", "c.txt": b"bee"}


def test_a_stale_plan_is_not_carried_out(run: Run, world: World) -> None:
    position, now = worked(world), iso(world.now())
    command = ("rewind", world.session, "--to", str(position), "--files", "--json")
    plan = run(*command, "--dry-run", now=now).json["plan"]
    world.write("c.txt", "changed")()
    assert run(*command, "--plan", plan["digest"], now=now).code == 8
    assert run("rewind", world.session, now=now).code == 2


def test_a_branch_gets_a_folder_of_its_own_and_is_listed(run: Run, world: World, tmp_path: Path) -> None:
    position, now = worked(world), iso(world.now())
    folder = tmp_path / "branch"
    made = run("fork", world.session, "--at", str(position), "--into", str(folder), "--json", now=now).json
    assert (folder / "a.txt").read_text() == "one"
    assert (folder / "b.txt").read_text() == "bee"
    assert (made["workspace"], made["manifest"]["missing"]) == (str(folder), 0)
    assert world.files() == {"a.txt": b"two", "c.txt": b"bee"}
    results = run("branches", made["id"], now=now).out.splitlines()
    assert [line.split()[0] for line in results] == ["id", world.session[:8], f"└{made['id'][:8]}"]
    for wrong in (folder, world.folder / "inside", world.folder, tmp_path / "memory" / "x", tmp_path):
        assert run("fork", world.session, "--into", str(wrong), now=now).code == 2
    assert run("close", made["id"], now=now).code == 0


def test_a_fork_in_mid_action_says_it_was_interrupted_and_whose_the_past_is(run: Run, world: World) -> None:
    position, now = worked(world), iso(world.now())
    made = run("fork", world.session, "--at", str(position + 1), "--json", now=now).json
    shown = run("show", made["id"], now=now).out
    assert f"@{position} of {world.session[:8]} Bash → interrupted: " in shown
    later = run("fork", world.session, "--json", now=now).json
    state = run("state", later["id"], "--json", now=now).json
    assert (later["actions"], later["files_modified"]) == (1, 2)
    assert {one["session"] for one in state["files_modified"]} == {world.session}


def test_an_undo_is_shown_before_it_is_done_and_is_of_the_latest_rewind(run: Run, world: World) -> None:
    position, now = worked(world), iso(world.now())
    run("rewind", world.session, "--to", str(position), "--files", now=now)
    before, head = world.files(), world.head()
    shown = run("rewind", world.session, "--undo", "--dry-run", now=now)
    assert (shown.code, f"restore {world.folder}/a.txt" in shown.out) == (0, True)
    assert run("rewind", world.session, "--undo", "--to", "1", now=now).code == 2
    assert (world.files(), world.head()) == (before, head)
    run("rewind", world.session, "--to", "1", now=now)  # without files
    assert run("rewind", world.session, "--undo", "--json", now=now).json["files"] == []
    assert world.files() == before


def test_what_an_undo_brought_back_counts_as_a_step_again(run: Run, session: str) -> None:
    whole = run("replay", session, "--json").json
    run("rewind", session, "--to", "2")
    assert run("replay", session, "--json").json["left_out"]["rewound"] == 2
    assert run("rewind", session, "--undo").code == 0
    assert run("replay", session, "--json").json == whole
    fork = run("fork", session, "--json").json["id"]
    assert run("replay", fork, "--json").json["steps"] == whole["steps"]


def test_a_session_that_is_closed_is_reported_to_need_resuming_in_the_plan_too(
    run: Run, session: str
) -> None:
    run("close", session)
    shown = run("rewind", session, "--to", "3", "--dry-run")
    assert "Resume it first" in shown.out
    refused = run("rewind", session, "--to", "3")
    assert (refused.code, f"fazm-memory resume {session[:8]}" in refused.err) == (7, True)


def test_a_branch_has_no_file_under_a_name_it_was_given_later(run: Run, tmp_path: Path) -> None:
    """Nobody watched, so only the agent's word tells of the rename; the time of the file does not."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one")
    (work / "same.txt").write_text("two")
    run("record", now=None, stdin=[
        {"type": "session.open", "session": "s", "workspace": str(work)},
        {"type": "prompt", "session": "s", "text": "go"},
        {"type": "action", "session": "s", "tool": "Bash", "input": {"command": "mv a.txt b.txt"}},
    ])  # fmt: skip
    (work / "a.txt").rename(work / "b.txt")
    into = tmp_path / "branch"
    made = run("fork", "s", "--at", "2", "--into", str(into), "--json", now=None).json["manifest"]
    assert [one.name for one in into.iterdir()] == ["same.txt"]
    assert made["left_out"] == [
        {"path": "a.txt", "why": "No snapshot of this file."},
        {"path": "b.txt", "why": "the agent says that it created it since"},
    ]
