"""A recovery killed at any moment: no half store passes for a whole one, and the next gets all back."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from fazm_memory.config import Config
from fazm_memory.errors import StoreDamaged
from fazm_memory.log.journal import COPY, JOURNAL
from fazm_memory.log.store import Store
from fazm_memory.log.versions import DATABASE as VERSIONS
from fazm_memory.log.versions import Versions
from fazm_memory.memory import Memory
from tests.log.wrecks import copied, database, fill, flip
from tests.scribe import T0

# Whatever moves, removes or copies a file, and every session that is saved, is a moment to be killed at.
KILLED = """
import os, signal, sys
from pathlib import Path
from fazm_memory.config import Config
from fazm_memory.memory import Memory
home, left = Path(sys.argv[1]), int(sys.argv[2])
def moment(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
def hook(name, told):
    if name in ("os.rename", "os.remove", "shutil.copyfile") and str(home) in str(told):
        moment()
memory = Memory(Config(home=home, user_home=home.parent, key="file"), lambda: 1_790_000_000_000_000)
sys.addaudithook(hook)
memory.recover(progress=moment)
"""
MOST = 60  # moments; there are fewer


def killed(home: Path, nth: int) -> bool:
    """Recover, to be killed at the nth moment; whether it came to that."""
    code = subprocess.run([sys.executable, "-c", KILLED, str(home), str(nth)], check=False).returncode
    assert code in (0, -signal.SIGKILL)
    return code != 0


def memory_of(home: Path) -> Memory:
    return Memory(Config(home=home, user_home=home.parent, key="file"), lambda: T0)


def recovered(home: Path) -> tuple[set[tuple[str, int, str]], list[str]]:
    """What a recovery that is let be leaves: the events, those lost too, and files with kept versions."""
    memory = memory_of(home)
    try:
        memory.recover()
        assert memory.verify().clean
        rows = memory.store.sessions.listing(limit=None, background=True)
        found = {(row.id, one.seq, one.kind) for row in rows for one in memory.store.log.slice(row.n, row.id)}
        assert memory.versions_kept is not None
        kept = [one.path for n in range(20) for one in memory.versions_kept.history("/w", f"{n}.txt")]
        return {one for one in found if one[2] != "recovered"}, kept
    finally:
        memory.close()


def held(home: Path) -> int | None:
    """How many events it says it has; None when it says that it is damaged."""
    try:
        with closing(Store(home, key="file")) as store:
            return sum(row.head for row in store.sessions.listing(limit=None, background=True))
    except StoreDamaged:
        return None


def damaged(home: Path, store: Store) -> None:
    """A store with a damaged page, and kept versions of files with another."""
    fill(store, sessions=2, events=12)
    versions = Versions(home, store.keys.database)
    for n in range(20):
        versions.keep("/w", f"{n}.txt", T0, f"{n} " * 500)
    versions.close()
    store.close()
    flip(database(home), database(home).stat().st_size // 4096)
    flip(home / "store.noindex" / VERSIONS, 4)


def test_killed_at_any_moment_it_leaves_nothing_half_and_loses_nothing(
    home: Path, store: Store, tmp_path: Path
) -> None:
    damaged(home, store)
    whole = recovered(copied(home, tmp_path / "whole"))
    refused = 0
    for nth in range(MOST):
        copy = copied(home, tmp_path / "copy")
        if not killed(copy, nth):
            break
        if (copy / JOURNAL).exists():
            refused += 1
            with pytest.raises(StoreDamaged, match="a recovery was begun and has not ended"):
                Store(copy, key="file")
        else:
            count = held(copy)
            assert count is None or count >= len(whole[0]), "as damaged as it was, or recovered"
        assert recovered(copy) == whole, nth
        assert not (copy / JOURNAL).exists()
        assert [*(copy / "quarantine").glob(f"*/{COPY}*")] == []
    else:
        raise AssertionError("it never came to its end")
    assert refused > 6


def test_it_is_said_and_the_command_named_that_gets_one_out(home: Path, store: Store) -> None:
    damaged(home, store)
    assert killed(home, 6)
    with pytest.raises(StoreDamaged) as told:
        memory_of(home).sessions()
    assert str(home / "quarantine") in told.value.message
    assert "`fazm-memory recover`" in told.value.hint
