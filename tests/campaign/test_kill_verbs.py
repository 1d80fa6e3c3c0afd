"""Processes killed while they migrate a store or restore a transcript: whole before, or whole after.

Kills during a rewind with files are in tests/app/test_rewind_files.py, kills during a recovery in
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
