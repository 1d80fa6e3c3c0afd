"""Modes and folders in a rewind: a file gets back who may use it, and only the agent's own folders go."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.engines.shell_effects import file_effects
from fazm_memory.errors import Conflict, Declined
from fazm_memory.store.file_versions import FILE_CAP
from tests.files_world import World

SCRIPT = "#!/bin/sh\necho hello\n"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    for path, text, mode in (
        ("run.sh", SCRIPT, 0o755),
        ("words.txt", "words", 0o640),
        ("deep/a", "a", 0o600),
    ):
        made.write(path, text)()
        made.chmod(path, mode)()
    (made.folder / "empty").mkdir()
    made.begin()
    yield made
    made.close()


def shown(plan: dict[str, Any], world: World) -> dict[str, tuple[str, Any]]:
    return {
        os.path.relpath(one["path"], world.folder): (one["action"], one.get("mode")) for one in plan["files"]
    }


def both(*acts: Callable[[], object]) -> Callable[[], None]:
    def act() -> None:
        for one in acts:
            one()

    return act


def tells(world: World, command: str) -> None:
    """A call is told with what its command does to files, and nobody has looked."""
    files = [
        {"path": one.path, "change": one.change, "inferred": one.inferred, "why": one.why or None}
        for one in file_effects(command, cwd=str(world.folder))
    ]
    call = {"tool": "Bash", "input": {"command": command}, "files": files}
    world.memory.sessions.append(world.session, "action", **call)


def test_a_script_that_was_written_anew_gets_its_x_back_and_an_undo_takes_it_again(world: World) -> None:
    position = world.agent(both(world.write("run.sh", "echo changed"), world.chmod("run.sh", 0o644)))
    plan = world.memory.rewind.plan(world.session, position)
    assert shown(plan, world) == {"run.sh": ("restore", {"now": "644", "then": "755"})}
    world.memory.rewind.apply(world.session, position, files=True)
    assert (world.files()["run.sh"], world.modes()["run.sh"]) == (SCRIPT.encode(), 0o755)
    world.memory.rewind.undo(world.session)
    assert (world.files()["run.sh"], world.modes()["run.sh"]) == (b"echo changed", 0o644)


def test_a_mode_alone_is_planned_brought_back_and_undone_without_a_byte_written(world: World) -> None:
    before = os.stat(world.folder / "words.txt")
    position = world.agent(world.chmod("words.txt", 0o755))
    plan = world.memory.rewind.plan(world.session, position)
    assert shown(plan, world) == {"words.txt": ("restore", {"now": "755", "then": "640"})}
    assert plan["files"][0]["why"] == "the agent changed its mode"
    world.memory.rewind.apply(world.session, position, files=True, plan=plan["digest"])
    after = os.stat(world.folder / "words.txt")
    assert world.modes()["words.txt"] == 0o640
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    result = world.head()
    world.look()
    assert world.head() == result  # the watcher takes it for nobody else's work
    assert world.memory.rewind.plan(world.session, position)["files"] == []
    world.memory.rewind.undo(world.session)
    assert world.modes()["words.txt"] == 0o755
    world.memory.rewind.undo(world.session)
    assert world.modes()["words.txt"] == 0o640
    assert world.memory.maintenance.verify().clean


def test_each_position_has_the_mode_of_its_time(world: World) -> None:
    first = world.agent(world.chmod("words.txt", 0o755))
    second = world.agent(world.chmod("words.txt", 0o600))
    world.memory.rewind.apply(world.session, second, files=True)
    assert world.modes()["words.txt"] == 0o755
    world.memory.rewind.apply(world.session, first, files=True)
    assert world.modes()["words.txt"] == 0o640


def test_a_persons_mode_is_refused_and_remembered_when_forced(world: World) -> None:
    position = world.agent(world.chmod("words.txt", 0o755))
    world.person(world.chmod("words.txt", 0o700))
    plan = world.memory.rewind.plan(world.session, position)
    assert shown(plan, world) == {"words.txt": ("refuse", {"now": "700", "then": "640"})}
    with pytest.raises(Declined, match="a person changed its mode since"):
        world.memory.rewind.apply(world.session, position, files=True)
    assert world.modes()["words.txt"] == 0o700
    world.memory.rewind.apply(world.session, position, files=True, force=True)
    assert world.modes()["words.txt"] == 0o640
    world.memory.rewind.undo(world.session)
    assert world.modes()["words.txt"] == 0o700


def test_a_persons_mode_on_what_the_agent_wrote_is_a_persons_change_also_when_nobody_looked(
    world: World,
) -> None:
    position = world.agent(world.write("words.txt", "the agent's"))
    world.person(world.chmod("words.txt", 0o400), looks=False)
    with pytest.raises(Declined, match="a person changed it since"):
        world.memory.rewind.apply(world.session, position, files=True)
    assert (world.files()["words.txt"], world.modes()["words.txt"]) == (b"the agent's", 0o400)


def test_a_persons_mode_alone_is_none_of_a_rewinds_business(world: World) -> None:
    position = world.agent(world.write("run.sh", "changed"))
    world.person(world.chmod("words.txt", 0o444))
    world.memory.rewind.apply(world.session, position, files=True)
    assert world.modes()["words.txt"] == 0o444


def test_a_person_who_changes_a_mode_after_the_rewind_keeps_it_in_an_undo(world: World) -> None:
    position = world.agent(world.chmod("words.txt", 0o755))
    world.memory.rewind.apply(world.session, position, files=True)
    world.person(world.chmod("words.txt", 0o444))
    with pytest.raises(Declined):
        world.memory.rewind.undo(world.session)
    assert world.modes()["words.txt"] == 0o444


def test_a_mode_that_changed_after_the_plan_was_shown_ends_it(world: World) -> None:
    position = world.agent(world.chmod("words.txt", 0o755))
    plan = world.memory.rewind.plan(world.session, position)
    world.chmod("words.txt", 0o711)()
    with pytest.raises(Conflict):
        world.memory.rewind.apply(world.session, position, files=True, plan=plan["digest"], force=True)
    assert world.modes()["words.txt"] == 0o711


def test_a_file_that_was_moved_and_given_another_mode_comes_back_with_its_own(world: World) -> None:
    def act() -> None:
        (world.folder / "run.sh").rename(world.folder / "moved.sh")
        world.chmod("moved.sh", 0o600)()

    position = world.agent(act)
    plan = world.memory.rewind.plan(world.session, position)
    assert shown(plan, world) == {"run.sh": ("rename_back", {"now": "600", "then": "755"})}
    world.memory.rewind.apply(world.session, position, files=True)
    assert world.modes()["run.sh"] == 0o755
    world.memory.rewind.undo(world.session)
    assert world.modes()["moved.sh"] == 0o600


@pytest.mark.parametrize("name", ["large.bin", ".env"])
def test_the_mode_of_what_is_never_copied_comes_back_all_the_same(world: World, name: str) -> None:
    content = b"x" * (FILE_CAP + 1) if name == "large.bin" else b"TOKEN=1"
    world.person(both(world.write(name, content), world.chmod(name, 0o600)))
    position = world.agent(world.chmod(name, 0o644))
    world.memory.rewind.apply(world.session, position, files=True)
    assert world.modes()[name] == 0o600
    world.memory.rewind.undo(world.session)
    assert world.modes()[name] == 0o644


def test_no_rewind_brings_back_a_set_user_id(world: World) -> None:
    world.person(world.chmod("run.sh", 0o6755))
    position = world.agent(both(world.write("run.sh", "changed"), world.chmod("run.sh", 0o644)))
    world.memory.rewind.apply(world.session, position, files=True)
    assert os.stat(world.folder / "run.sh").st_mode & 0o7777 == 0o755


def test_where_the_mode_was_never_known_the_plan_says_so_and_that_of_now_stays(world: World) -> None:
    world.versions.db.execute("UPDATE version SET mode=NULL, mark=''")

    def act() -> None:
        world.write("run.sh", "changed")()
        (world.folder / "deep" / "a").unlink()

    position = world.agent(act)
    why = {Path(one["path"]).name: one["why"] for one in
           world.memory.rewind.plan(world.session, position)["files"]}  # fmt: skip
    assert why == {
        "run.sh": "the agent changed it; its mode then is not known: the mode of now stays",
        "a": "the agent deleted it; its mode then is not known: it gets that of a new file",
    }
    world.memory.rewind.apply(world.session, position, files=True)
    assert world.modes()["run.sh"] == 0o755  # as it was written anew, in place


def test_what_only_the_shell_reported_is_found_before_the_watcher_looks(world: World) -> None:
    position = world.head()
    world.chmod("words.txt", 0o751)()
    tells(world, "chmod +x words.txt")
    touched = world.memory.history.state(world.session)["files_modified"]
    assert [(Path(one["path"]).name, one["change"]) for one in touched] == [("words.txt", "modified")]
    plan = world.memory.rewind.plan(world.session, position)
    assert [Path(one["path"]).name for one in plan["files"]] == ["words.txt"]
    assert plan["files"][0]["mode"] == {"now": "751", "then": "640"}


def test_a_branch_in_a_folder_of_its_own_has_the_modes_of_then(world: World) -> None:
    large = b"x" * (FILE_CAP + 1)
    world.person(both(world.write("large.bin", large), world.chmod("large.bin", 0o600)))
    position = world.agent(
        both(world.chmod("run.sh", 0o600), world.chmod("words.txt", 0o777), world.chmod("large.bin", 0o666))
    )
    made = world.memory.rewind.fork(world.session, at=position, into=str(world.base / "branch"))
    found = {name: os.stat(Path(made["folder"]) / name).st_mode & 0o7777
             for name in ("run.sh", "words.txt", "deep/a", "large.bin")}  # fmt: skip
    assert found == {"run.sh": 0o755, "words.txt": 0o640, "deep/a": 0o600, "large.bin": 0o600}


# -- folders ---------------------------------------------------------------------------------------------


def folders(plan: dict[str, Any], world: World) -> dict[str, tuple[str, str]]:
    return {
        os.path.relpath(one["path"], world.folder): (one["action"], one["why"]) for one in plan["folders"]
    }


def test_a_persons_empty_folder_stays_when_the_agents_only_file_in_it_goes(world: World) -> None:
    position = world.agent(both(world.write("empty/made.txt", "x"), world.write("new/deep/b", "y")))
    plan = world.memory.rewind.plan(world.session, position)
    unseen = "it may have been there: nobody saw it being created"
    assert folders(plan, world) == {
        "new/deep": ("delete", "the agent created it"),
        "empty": ("keep", unseen),
        "new": ("delete", "the agent created it"),
    }
    made = world.memory.rewind.apply(world.session, position, files=True)
    assert made["folders"] == plan["folders"]
    assert (world.folder / "empty").is_dir()
    assert not (world.folder / "new").exists()


def test_a_folder_that_a_person_made_since_stays(world: World) -> None:
    position = world.agent(world.write("words.txt", "changed"))
    world.person(lambda: (world.folder / "theirs").mkdir())
    world.agent(world.write("theirs/made.txt", "x"))
    plan = world.memory.rewind.plan(world.session, position)
    assert folders(plan, world) == {"theirs": ("keep", "a person created it")}
    world.memory.rewind.apply(world.session, position, files=True)
    assert (world.folder / "theirs").is_dir()


def test_a_folder_that_was_there_then_and_was_made_anew_stays(world: World) -> None:
    position = world.agent(lambda: (world.folder / "empty").rmdir())
    world.agent(world.write("empty/made.txt", "x"))
    plan = world.memory.rewind.plan(world.session, position)
    assert folders(plan, world) == {"empty": ("keep", "it was there then")}
    world.memory.rewind.apply(world.session, position, files=True)
    assert (world.folder / "empty").is_dir()


def test_a_folder_that_the_agent_made_before_the_position_stays(world: World) -> None:
    world.agent(lambda: (world.folder / "early").mkdir())
    position = world.agent(world.write("early/made.txt", "x"))
    world.memory.rewind.apply(world.session, position, files=True)
    assert (world.folder / "early").is_dir()


def test_the_agents_folder_goes_again_after_an_undo_and_what_a_rewind_made_is_not_taken_for_a_persons(
    world: World,
) -> None:
    position = world.agent(world.write("new/b", "y"))
    for _ in range(2):
        world.memory.rewind.apply(world.session, position, files=True)
        world.look()
        assert not (world.folder / "new").exists()
        world.memory.rewind.undo(world.session)
        world.look()
        assert (world.folder / "new" / "b").exists()


def test_a_persons_folder_that_a_rewind_brought_back_stays(world: World) -> None:
    position = world.agent(world.write("empty/made.txt", "x"))

    def act() -> None:
        (world.folder / "empty" / "made.txt").unlink()
        (world.folder / "empty").rmdir()

    later = world.agent(act)
    world.memory.rewind.apply(world.session, later, files=True)  # makes the folder, to put the file into it
    world.look()
    world.memory.rewind.apply(world.session, position, files=True)
    assert (world.folder / "empty").is_dir()


def test_a_folder_that_a_call_reported_goes_though_nobody_watched(world: World) -> None:
    position = world.head()
    world.write("told/a", "x\n")()
    os.utime(world.folder / "told" / "a", ns=(world.now() * 1000, world.now() * 1000))
    tells(world, "mkdir told && echo x > told/a")
    world.memory.rewind.apply(world.session, position, files=True, force=True)
    assert not (world.folder / "told").exists()
