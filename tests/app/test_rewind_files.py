"""Rewinding with files: what the agent did goes back, what a person did is safe, all can be undone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from fazm_memory.errors import Conflict, Declined, InvalidInput, InvalidTransition, NotFound, StoreBusy
from fazm_memory.events.event import Draft
from fazm_memory.rewind.restore import RestoreJournal, exclusive_rewind
from fazm_memory.store.file_versions import FILE_CAP
from fazm_memory.watch.attribution import recent_calls
from tests.files_world import World

ROOT = Path(__file__).parents[2]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    for path, text in (("a.txt", "one"), ("sub/b.txt", "bee"), ("run.sh", "#!/bin/sh"), ("mine.txt", "m")):
        made.write(path, text)()
    os.chmod(made.folder / "run.sh", 0o755)
    os.utime(made.folder / "run.sh", ns=(10**18, 10**18))
    made.begin()
    yield made
    made.close()


def work(world: World) -> int:
    """The agent changes, makes, moves and removes files by shell; the position before that."""

    def act() -> None:
        world.write("a.txt", "changed")()
        world.write("new/c.txt", "new")()
        (world.folder / "sub" / "b.txt").rename(world.folder / "moved.txt")
        (world.folder / "run.sh").unlink()

    return world.agent(act)


def actions(plan: dict[str, object], world: World) -> dict[str, str]:
    files = plan["files"]
    assert isinstance(files, list)
    return {os.path.relpath(one["path"], world.folder): one["action"] for one in files}


def test_an_undo_leaves_the_folders_as_it_found_them(world: World) -> None:
    def act() -> None:
        (world.folder / "sub" / "b.txt").unlink()  # an empty folder is left
        world.write("new/deep/c.txt", "new")()

    position = world.agent(act)
    world.memory.rewind.apply(world.session, position, files=True)
    assert not (world.folder / "new").exists()
    world.memory.rewind.undo(world.session)
    assert (world.folder / "sub").is_dir()
    assert world.files() == {"a.txt": b"one", "run.sh": b"#!/bin/sh", "mine.txt": b"m",
                             "new/deep/c.txt": b"new"}  # fmt: skip
    world.memory.rewind.undo(world.session)
    assert not (world.folder / "new").exists()


def test_shell_made_changes_go_back_and_an_undo_brings_them_again(world: World) -> None:
    before = world.files()
    position = work(world)
    after = world.files()
    plan = world.memory.rewind.plan(world.session, position)
    assert actions(plan, world) == {
        "a.txt": "restore", "new/c.txt": "delete", "run.sh": "recreate", "sub/b.txt": "rename_back",
    }  # fmt: skip
    assert (plan["needs_force"], plan["unseen"]) == (False, 0)
    assert world.files() == after  # a plan touches nothing
    made = world.memory.rewind.apply(world.session, position, files=True)
    assert world.files() == before
    assert all(one["done"] for one in made["files"])
    assert not (world.folder / "new").exists()
    script = (world.folder / "run.sh").stat()
    assert (script.st_mode & 0o777, script.st_mtime_ns) == (0o755, 10**18)
    assert world.memory.history.state(world.session)["files_modified"] == []
    undone = world.memory.rewind.undo(world.session)
    assert world.files() == after
    assert len(undone["files"]) == 4
    assert len(world.memory.history.state(world.session)["files_modified"]) == 4
    world.memory.rewind.undo(world.session)  # an undo can itself be undone
    assert world.files() == before
    assert world.memory.maintenance.verify().clean


def test_the_watcher_takes_a_rewind_for_nobody_elses_work(world: World) -> None:
    position = work(world)
    world.memory.rewind.apply(world.session, position, files=True)
    result = world.head()
    world.look()
    assert world.head() == result
    assert world.memory.rewind.plan(world.session, position)["files"] == []
    again = work(world)  # and what comes after is told as ever
    assert len(world.memory.rewind.plan(world.session, again)["files"]) == 4


def test_what_a_person_changed_since_is_refused_and_kept_when_forced(world: World) -> None:
    position = work(world)
    world.person(world.write("a.txt", "a person's words"))
    plan = world.memory.rewind.plan(world.session, position)
    assert (actions(plan, world)["a.txt"], plan["needs_force"]) == ("refuse", True)
    before, head = world.files(), world.head()
    with pytest.raises(Declined, match="a person changed it since"):
        world.memory.rewind.apply(world.session, position, files=True)
    assert (world.files(), world.head()) == (before, head)
    world.memory.rewind.apply(world.session, position, files=True, force=True)
    assert world.files()["a.txt"] == b"one"
    assert world.kept(b"a person's words")
    world.memory.rewind.undo(world.session)
    assert world.files()["a.txt"] == b"a person's words"


def test_what_nobody_has_looked_at_yet_counts_as_a_persons(world: World) -> None:
    position = work(world)
    world.person(world.write("a.txt", "just saved"), looks=False)
    with pytest.raises(Declined):
        world.memory.rewind.apply(world.session, position, files=True)
    assert world.files()["a.txt"] == b"just saved"


def test_a_persons_own_files_are_left_alone(world: World) -> None:
    position = work(world)
    world.person(world.write("mine.txt", "changed by me"))
    world.person(world.write("also-mine.txt", "made by me"))
    made = world.memory.rewind.apply(world.session, position, files=True)
    assert len(made["files"]) == 4
    assert world.files()["mine.txt"] == b"changed by me"
    assert world.files()["also-mine.txt"] == b"made by me"


def test_what_was_too_large_to_keep_is_reported_and_a_large_file_that_moved_comes_back(world: World) -> None:
    large = b"x" * (FILE_CAP + 1)
    world.person(world.write("big.bin", large))
    world.person(world.write("huge.bin", large))

    def act() -> None:
        (world.folder / "big.bin").rename(world.folder / "elsewhere.bin")
        (world.folder / "huge.bin").write_bytes(b"small now")

    position = world.agent(act)
    plan = world.memory.rewind.plan(world.session, position)
    assert actions(plan, world) == {"big.bin": "rename_back", "huge.bin": "cannot"}
    world.memory.rewind.apply(world.session, position, files=True)
    assert world.files()["big.bin"] == large
    assert world.files()["huge.bin"] == b"small now"


def test_the_plan_that_was_shown_is_the_one_carried_out(world: World) -> None:
    position = work(world)
    shown = world.memory.rewind.plan(world.session, position)["digest"]
    world.write("a.txt", "moved on")()
    with pytest.raises(Conflict, match="plan was shown"):
        world.memory.rewind.apply(world.session, position, files=True, force=True, plan=shown)
    assert world.files()["a.txt"] == b"moved on"


def test_a_rewind_past_what_nobody_has_seen_is_refused(world: World) -> None:
    position = work(world)
    head = world.head()
    with pytest.raises(Conflict, match="1 event has not been seen"):
        world.memory.rewind.apply(world.session, position, files=True, expected_seq=head - 1)
    with pytest.raises(Conflict, match="is at"):
        world.memory.rewind.apply(world.session, position, files=True, expected_seq=head + 3)
    world.memory.sessions.handoff(world.session, to="human", note="Delete them?")
    assert world.memory.rewind.plan(world.session, position)["unseen"] == 1
    with pytest.raises(Declined, match="nobody has seen"):
        world.memory.rewind.apply(world.session, position)
    with pytest.raises(Declined, match="nobody has seen"):  # an agent may not pass over a person's question
        world.memory.rewind.apply(world.session, position, force=True, source="mcp")
    assert world.memory.rewind.apply(world.session, position, force=True)["open_questions"] == 0


def test_nothing_is_touched_when_the_log_would_not_take_it(world: World) -> None:
    position = work(world)
    before = world.files()
    world.memory.sessions.move(world.session, "close")
    with pytest.raises(InvalidTransition):
        world.memory.rewind.apply(world.session, position, files=True)
    world.memory.sessions.move(world.session, "resume")
    with exclusive_rewind(world.memory.config.home), pytest.raises(StoreBusy):
        world.memory.rewind.apply(world.session, position, files=True)
    with pytest.raises(NotFound):
        world.memory.rewind.undo(world.session)
    assert world.files() == before


def test_a_session_without_a_workspace_has_no_files_to_bring_back(world: World) -> None:
    made = world.memory.sessions.open("fazm", key="nowhere")
    with pytest.raises(InvalidInput, match="no workspace"):
        world.memory.rewind.plan(made["id"], 0)


def test_a_file_outside_the_workspace_is_named_and_never_written(world: World) -> None:
    outside = world.base / "outside.txt"
    position = world.head()
    touch = {"path": str(outside), "change": "created"}
    world._record("action", {"tool": "Write", "input": {}, "call_id": "x", "files": [touch]})
    outside.write_text("by the agent")
    plan = world.memory.rewind.plan(world.session, position)
    assert [(one["path"], one["action"]) for one in plan["files"]] == [(str(outside), "cannot")]
    world.memory.rewind.apply(world.session, position, files=True)
    assert outside.read_text() == "by the agent"


def test_a_folder_that_became_a_link_is_not_followed(world: World) -> None:
    position = world.agent(world.write("sub/b.txt", "changed"))
    outside = world.base / "outside"
    (world.folder / "sub").rename(outside)
    (world.folder / "sub").symlink_to(outside)
    plan = world.memory.rewind.plan(world.session, position)
    assert actions(plan, world)["sub/b.txt"] == "cannot"
    world.memory.rewind.apply(world.session, position, files=True, force=True)
    assert (outside / "b.txt").read_text() == "changed"


def test_a_workspace_that_became_a_link_is_not_followed(world: World) -> None:
    position = world.agent(world.write("a.txt", "changed"))
    outside = world.base / "outside"
    world.folder.rename(outside)
    world.folder.symlink_to(outside)
    for look in (world.memory.rewind.plan, partial(world.memory.rewind.apply, files=True, force=True)):
        with pytest.raises(NotFound, match="symbolic link"):
            look(world.session, position)
    assert (outside / "a.txt").read_text() == "changed"


KILLED = """
import os, sys
from pathlib import Path
from fazm_memory.rewind import restore as restoring
from fazm_memory.config import Config
from fazm_memory.app.memory import Memory
base, session, to, after, now = Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])
name = os.environ["CUT"]
real = getattr(restoring.SafeDirectory, name)
seen = [0]
def cut(self, *given, **more):
    seen[0] += 1
    if seen[0] > after:
        os.kill(os.getpid(), 9)
    return real(self, *given, **more)
setattr(restoring.SafeDirectory, name, cut)
memory = Memory(Config(home=base / "memory", user_home=base / "user", key="file"), lambda: now)
memory.rewind.apply(session, to, files=True)
"""


CUTS = [
    ("put", 1),
    ("_let_go", 1),
    *(
        pytest.param(cut, after, marks=pytest.mark.campaign)
        for cut, after in (
            ("put", 0),
            ("take_away", 0),
            ("move", 0),
            ("_let_go", 0),
            ("settle", 2),
            ("look", 11),
        )
    ),
]


def killed(world: World, position: int, cut: str, after: int) -> int:
    """Rewind in a process of its own that dies the moment it does something for the nth time."""
    given = [str(world.base), world.session, str(position), str(after), str(world.now())]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *given],
        env=os.environ | {"PYTHONPATH": str(ROOT), "CUT": cut},
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize(("cut", "after"), CUTS)
def test_a_rewind_that_is_killed_half_way_is_finished_by_the_next_who_comes(
    world: World, cut: str, after: int
) -> None:
    before = world.files()
    position = work(world)
    assert killed(world, position, cut, after) == -signal.SIGKILL
    assert RestoreJournal(world.versions).unfinished() != []
    (messages,) = world.memory.rewind.finish_interrupted()
    assert "was finished. 4 files were restored" in messages
    assert world.files() == before
    assert world.memory.rewind.finish_interrupted() == []
    world.memory.rewind.undo(world.session)
    assert world.files()["a.txt"] == b"changed"
    assert world.memory.maintenance.verify().clean


def test_what_a_person_saves_between_a_crash_and_its_end_is_left(world: World) -> None:
    position = work(world)
    assert killed(world, position, "put", 0) == -signal.SIGKILL
    world.write("a.txt", "saved after the crash")()
    (messages,) = world.memory.rewind.finish_interrupted()
    assert "1 file was left alone" in messages
    assert world.files()["a.txt"] == b"saved after the crash"
    last = list(world.memory.history.events(world.session))[-1]
    assert (last["kind"], "a.txt" in last["payload"]["note"]) == ("gap", True)


def test_counts_are_those_of_the_state_after_a_rewind(world: World) -> None:
    position = work(world)
    work_done = world.memory.sessions.get(world.session)
    assert (work_done["actions"], work_done["files_modified"]) == (1, 4)
    made = world.memory.rewind.apply(world.session, position, files=True)
    assert (made["actions"], made["failures"], made["files_modified"]) == (0, 0, 0)
    assert world.memory.sessions.listing()[0]["actions"] == 0


def test_forgetting_a_session_reaches_the_journal_of_its_rewinds(world: World) -> None:
    position = work(world)
    world.memory.rewind.apply(world.session, position, files=True)
    assert RestoreJournal(world.versions).last(world.session) is not None
    world.memory.maintenance.forget(world.session)
    assert RestoreJournal(world.versions).last(world.session) is None


def test_an_agent_cannot_insist_over_what_a_person_changed(world: World) -> None:
    position = work(world)
    world.person(world.write("a.txt", "a person's words"))
    before, head = world.files(), world.head()
    with pytest.raises(Declined, match="Only a person"):
        world.memory.rewind.apply(world.session, position, files=True, force=True, source="mcp")
    assert (world.files(), world.head()) == (before, head)


@pytest.mark.parametrize("force", [False, True])
def test_what_only_the_agent_claims_to_have_made_is_not_removed(tmp_path: Path, force: bool) -> None:
    world = World(tmp_path)
    world.write("diary.txt", "a person's")()
    os.utime(world.folder / "diary.txt", ns=(world.now() * 1000, world.now() * 1000))
    world.session = str(world.memory.sessions.open("evil", workspace=str(world.folder), source="mcp")["id"])
    touch = {"path": str(world.folder / "diary.txt"), "change": "created"}
    claim = {"tool": "Bash", "input": {}, "call_id": "x", "duration_ms": 600_000, "files": [touch]}
    world._record("action", claim)
    try:
        plan = world.memory.rewind.plan(world.session, 1)
        assert actions(plan, world) == {"diary.txt": "refuse"}
        with pytest.raises(Declined):
            world.memory.rewind.apply(world.session, 1, files=True, force=force, source="mcp")
        assert world.files() == {"diary.txt": b"a person's"}
    finally:
        world.close()


def test_a_call_is_believed_to_have_taken_an_hour_at_most_and_no_time_before_its_session(
    world: World,
) -> None:
    world.clock += 10 * 3_600_000_000
    world._record("action", {"tool": "Bash", "input": {}, "call_id": "long", "duration_ms": 36_000_000})
    store = world.memory.store
    row = store.sessions.resolve(world.session)
    (call,) = recent_calls(store, [row], 0)
    assert call.started == world.now() - 3_600_000_000
    new = str(world.memory.sessions.open("fazm", key="new", source="hook")["id"])
    world.session = new
    world._record("action", {"tool": "Bash", "input": {}, "call_id": "early", "duration_ms": 1000})
    row = store.sessions.resolve(new)
    (call,) = recent_calls(store, [row], 0)
    assert call.started == row.opened_at
    claim = {"tool": "Bash", "input": {}, "call_id": "ahead", "duration_ms": 600_000}
    world.memory.sessions.record([Draft(new, "action", claim, at=world.now(), source="mcp")])
    assert recent_calls(store, [store.sessions.resolve(new)], 0)[-1].ended == world.now()


def paused(world: World) -> int:
    """The agent works, the session pauses, a person changes and deletes files; the position of the pause."""
    work(world)
    position = int(world.memory.sessions.move(world.session, "pause")["events"])
    world.look()  # a change is dated by the file system, but never before the last look
    world.person(world.write("a.txt", "mine now"))
    world.person(lambda: (world.folder / "mine.txt").unlink())
    return position


def test_resuming_with_files_names_what_a_person_changed_and_does_nothing(world: World) -> None:
    paused(world)
    plan = world.memory.rewind.resume_plan(world.session)
    assert actions(plan, world) == {"a.txt": "refuse", "mine.txt": "refuse"}
    with pytest.raises(Declined, match="during the pause"):
        world.memory.rewind.resume(world.session)
    assert world.memory.sessions.get(world.session)["lifecycle"] == "paused"
    assert (world.folder / "a.txt").read_text() == "mine now"


def test_a_change_in_a_pause_is_probably_a_persons_if_no_agent_worked_there(world: World) -> None:
    work(world)
    world.memory.sessions.move(world.session, "pause")
    world.write("a.txt", "by somebody")()
    plan = world.memory.rewind.resume_plan(world.session)
    assert [file["why"].partition(";")[0] for file in plan["files"]] == [
        "changed during the pause, while no agent worked here: probably by you"
    ]
    world.clock += 1_000_000
    other = world.memory.sessions.open("codex", workspace=str(world.folder))
    world.memory.sessions.move(other["id"], "close")
    plan = world.memory.rewind.resume_plan(world.session)
    assert [file["why"].partition(";")[0] for file in plan["files"]] == ["somebody unknown changed it since"]


def test_resuming_with_files_brings_back_the_moment_of_the_pause_and_can_be_undone(world: World) -> None:
    paused(world)
    result = world.memory.rewind.resume(world.session, force=True)
    assert result["lifecycle"] in ("resumed", "active")
    assert (world.folder / "a.txt").read_text() == "changed"
    assert (world.folder / "mine.txt").read_text() == "m"
    world.memory.rewind.undo(world.session, force=True)
    assert (world.folder / "a.txt").read_text() == "mine now"
    assert not (world.folder / "mine.txt").exists()


def test_a_forced_resume_says_whose_change_it_took_back(world: World) -> None:
    work(world)
    world.memory.sessions.move(world.session, "pause")
    world.write("a.txt", "by somebody")()
    [file] = world.memory.rewind.resume(world.session, force=True)["files"]
    assert (file["done"], file["by"]) == (True, "person")
    assert file["why"] == "changed during the pause, while no agent worked here: probably by you"


def test_resuming_with_files_needs_no_word_when_nobody_changed_them(world: World) -> None:
    work(world)
    world.memory.sessions.move(world.session, "pause")
    world.memory.rewind.resume(world.session)
    assert (world.folder / "a.txt").read_text() == "changed"
    with pytest.raises(InvalidTransition, match="not paused"):
        world.memory.rewind.resume(world.session)


def test_a_fork_at_the_pause_has_no_later_edits(world: World, tmp_path: Path) -> None:
    position = paused(world)
    fork = world.memory.rewind.fork(world.session, at=position, into=str(tmp_path / "fork"))
    assert (Path(fork["folder"]) / "a.txt").read_text() == "changed"
    assert (Path(fork["folder"]) / "mine.txt").read_text() == "m"


def test_a_rewind_for_everyone_restores_what_only_a_person_changed_if_forced(world: World) -> None:
    position = world.head()
    world.person(world.write("mine.txt", "other"))
    plain = world.memory.rewind.plan(world.session, position)
    assert "mine.txt" not in {name for name, action in actions(plain, world).items() if action != "keep"}
    plan = world.memory.rewind.plan(world.session, position, everyone=True)
    assert actions(plan, world) == {"mine.txt": "refuse"}
    world.memory.rewind.apply(world.session, position, files=True, everyone=True, force=True)
    assert (world.folder / "mine.txt").read_text() == "m"
