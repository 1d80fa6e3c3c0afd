"""Processes killed while they migrate a store, restore a transcript or rewind files: nothing half done.

Kills at chosen steps of a rewind are in tests/app/test_rewind_files.py, kills during a recovery in
tests/store/recovery/test_journal.py.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.store.store import Store
from fazm_memory.store.verify import verify_store
from tests.app.test_transcripts import NOW, SESSION, Machine
from tests.campaign.conftest import Tell
from tests.files_world import World
from tests.test_first_edition import FIXTURE

KILLS = [6, pytest.param(120, marks=pytest.mark.campaign)]


def run_until(work: Callable[[], None], seconds: float | None) -> tuple[bool, float]:
    """Do the work in a process of its own, which an alarm ends in its midst. Whether it ended, and how long
    it took."""
    started = time.monotonic()
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process at once, nothing is cleaned up
        if seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGALRM)
    return code == 0, time.monotonic() - started


@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_migration_is_done_again(tmp_path: Path, tell: Tell, kills: int) -> None:
    def migrate() -> None:
        Store(home, key="file").close()

    home = Path(shutil.copytree(FIXTURE / "store", tmp_path / "whole"))
    _, whole = run_until(migrate, None)
    with closing(Store(home, key="file")) as store:
        expected = store.db.execute("SELECT count(*) FROM event").fetchone()
    random, interrupted = Random(kills), 0
    for kill in range(kills):
        home = Path(shutil.copytree(FIXTURE / "store", tmp_path / str(kill)))
        finished, _ = run_until(migrate, max(0.001, random.random() * whole))
        interrupted += not finished
        with closing(Store(home, key="file")) as store:
            assert store.db.execute("SELECT count(*) FROM event").fetchone() == expected
            assert verify_store(store.log).clean
        shutil.rmtree(home)
    tell(f"kills during a migration: {kills}, {interrupted} in its midst, 0 events lost")


@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_restore_leaves_no_half_transcript(tmp_path: Path, tell: Tell, kills: int) -> None:
    machine = Machine(tmp_path)
    for number in range(20):
        machine.say(f"prompt {number} " + "x" * 40_000)
    machine.record()
    machine.memory.close()
    content = machine.transcript().read_bytes()

    def restore() -> None:
        memory = Memory(Config(home=machine.config.home, user_home=machine.user, key="file"), lambda: NOW)
        memory.transcripts.restore(SESSION)
        memory.close()

    machine.transcript().unlink()
    _, whole = run_until(restore, None)
    random, interrupted = Random(kills), 0
    for _ in range(kills):
        machine.transcript().unlink(missing_ok=True)
        finished, _ = run_until(restore, max(0.001, random.random() * whole))
        interrupted += not finished
        if machine.transcript().exists():
            assert machine.transcript().read_bytes() == content
        else:
            assert not finished
    run_until(restore, None)
    assert machine.transcript().read_bytes() == content
    tell(f"kills during a restore: {kills}, {interrupted} in its midst, no half file")


@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_rewind_leaves_no_half_file(tmp_path: Path, tell: Tell, kills: int) -> None:
    """Each file is whole as it was or as it will be, and whoever comes next ends what was begun."""
    base, untouched = tmp_path / "world", tmp_path / "untouched"
    world = World(base)
    for number in range(24):
        world.write(f"sub{number % 4}/{number}.txt", f"old {number} " * 8_000)()
    world.begin()
    before = world.files()

    def act() -> None:
        for number in range(24):
            path = world.folder / f"sub{number % 4}" / f"{number}.txt"
            if number % 3 == 0:
                path.unlink()
            elif number % 3 == 1:
                path.rename(world.folder / f"moved-{number}.txt")
            else:
                path.write_text(f"new {number} " * 9_000)
            (world.folder / f"made-{number}.txt").write_text("made " * 4_000)

    position = world.agent(act)
    after, now, session = world.files(), world.now(), world.session
    world.close()
    shutil.copytree(base, untouched)

    def opened() -> Memory:
        return Memory(Config(home=base / "memory", user_home=base / "user", key="file"), lambda: now)

    def rewind() -> None:
        memory = opened()
        memory.rewind.apply(session, position, files=True)
        memory.close()

    _, whole = run_until(rewind, None)
    assert world.files() == before
    random, interrupted, finished_later = Random(kills), 0, 0
    for _ in range(kills):
        shutil.rmtree(base)
        shutil.copytree(untouched, base)
        finished, _ = run_until(rewind, max(0.001, random.random() * whole))
        interrupted += not finished
        halves = [
            path
            for path, content in world.files().items()
            if content not in (before.get(path), after.get(path))
            and not Path(path).name.startswith(".")  # a new content that has not got its name yet
        ]
        assert halves == []
        with closing(opened()) as memory:
            finished_later += memory.rewind.finish_interrupted() != []
            assert memory.maintenance.verify().clean
        assert world.files() in (before, after)
    assert finished_later
    tell(
        f"kills during a rewind with files: {kills}, {interrupted} in its midst, "
        f"{finished_later} finished by the next, no half file"
    )
