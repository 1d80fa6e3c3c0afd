"""A recovery killed at any moment: no half store passes for a whole one, and the next gets all back."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.errors import StoreBusy, StoreDamaged
from fazm_memory.events.event import Message
from fazm_memory.store import keys
from fazm_memory.store.file_versions import VERSIONS_DATABASE as VERSIONS
from fazm_memory.store.file_versions import FileVersions
from fazm_memory.store.framework_store import FrameworkStore
from fazm_memory.store.recovery import recover
from fazm_memory.store.recovery.journal import COPY, ENDED, JOURNAL
from fazm_memory.store.store import Store
from tests.scribe import T0, Scribe
from tests.store.recovery.damaged_stores import copied, database, fill, flip

# Whatever moves, removes or copies a file, and every session that is saved, is a moment to be killed at.
KILLED = """
import os, signal, sys
from pathlib import Path
from fazm_memory.config import Config
from fazm_memory.app.memory import Memory
home, left = Path(sys.argv[1]), int(sys.argv[2])
def moment(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
def hook(name, details):
    if name in ("os.rename", "os.remove", "shutil.copyfile") and str(home) in str(details):
        moment()
memory = Memory(Config(home=home, user_home=home.parent, key="file"), lambda: 1_790_000_000_000_000)
sys.addaudithook(hook)
memory.maintenance.recover(progress=moment)
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
        memory.maintenance.recover()
        assert memory.maintenance.verify().clean
        rows = memory.store.sessions.listing(limit=None, background=True)
        found = {(row.id, one.seq, one.kind) for row in rows for one in memory.store.log.slice(row.n, row.id)}
        assert memory.existing_file_versions is not None
        versions = memory.existing_file_versions
        kept = [one.path for n in range(20) for one in versions.history("/w", f"{n}.txt")]
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
    versions = FileVersions(home, store.keys.database)
    for n in range(20):
        versions.keep("/w", f"{n}.txt", T0, f"{n} " * 500)
    versions.close()
    store.close()
    flip(database(home), database(home).stat().st_size // 4096)
    flip(home / "store.noindex" / VERSIONS, 4)


def begun(home: Path) -> bool:
    """Whether a recovery stands there that is unfinished."""
    if not (home / JOURNAL).exists():
        return False
    result = json.loads((home / JOURNAL).read_text())
    return not (home / result["aside"] / f"{Path(next(iter(result['found']))).name}{ENDED}").exists()


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
        if begun(copy):
            refused += 1
            with pytest.raises(StoreDamaged, match="recovery is unfinished"):
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


def test_a_journal_that_comes_back_undoes_nothing(home: Path, store: Store) -> None:
    damaged(home, store)
    assert killed(home, 6)
    old = (home / JOURNAL).read_bytes()
    memory = memory_of(home)
    result = memory.maintenance.recover()
    memory.close()
    assert result["kept"]
    with closing(Store(home, key="file")) as fresh:
        Scribe(fresh).open(Message("since"))
    now = json.loads(old) | {"aside": os.path.relpath(result["quarantine"], home)}
    (home / JOURNAL).write_text(json.dumps(now))
    before = held(home)
    assert before is not None
    again = memory_of(home)
    again.maintenance.recover()
    again.close()
    assert (held(home), (home / JOURNAL).exists()) == (before, False)


def test_what_is_written_while_it_looks_is_not_set_aside_unread(
    home: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged(home, store)
    copied_as_ever = recover._copied

    def meanwhile(*results: Any) -> Any:
        with pytest.raises(StoreDamaged, match="is unfinished"):
            Store(home, key="file")
        return copied_as_ever(*results)

    monkeypatch.setattr(recover, "_copied", meanwhile)
    events, _ = recovered(home)
    assert events


def test_it_is_reported_and_the_command_named_that_gets_one_out(home: Path, store: Store) -> None:
    damaged(home, store)
    assert killed(home, 6)
    with pytest.raises(StoreDamaged) as results:
        memory_of(home).sessions.listing()
    assert str(home / "quarantine") in results.value.message
    assert "`fazm-memory recover`" in results.value.hint


def cut_short(home: Path, to: Path, when: Callable[[Path, Path], bool]) -> tuple[Path, Path]:
    """A copy whose recovery was killed at such a moment, and the folder that it set files aside in."""
    for nth in range(MOST):
        copy = copied(home, to)
        if not killed(copy, nth):
            break
        if (copy / JOURNAL).exists():
            aside = copy / json.loads((copy / JOURNAL).read_bytes())["aside"]
            if when(copy, aside):
                return copy, aside
    raise AssertionError("there is no such moment")


def half_saved(home: Path, aside: Path) -> bool:
    """A store was begun in the place of the one that was set aside."""
    return (aside / "first-page").exists() and (home / "keys" / "heads").exists()


def versions_half_saved(home: Path, aside: Path) -> bool:
    place = home / "store.noindex" / VERSIONS
    return (aside / VERSIONS).exists() and place.exists()


def test_a_second_recovery_within_a_second_touches_nothing_of_the_first(
    home: Path, store: Store, tmp_path: Path
) -> None:
    damaged(home, store)
    recovered(home)
    (first,) = (home / "quarantine").iterdir()
    kept = {one.name: one.read_bytes() for one in first.iterdir()}
    with closing(Store(home, key="file")) as later:
        scribe = Scribe(later)
        scribe.tell(scribe.open(agent="z", agent_session_id="later"), *[Message(f"{n}") for n in range(40)])
    flip(database(home), database(home).stat().st_size // 4096)
    whole = recovered(copied(home, tmp_path / "whole"))
    copy, aside = cut_short(home, tmp_path / "copy", lambda _, aside: not (aside / "memory.db").exists())
    assert aside.name == f"{first.name}-2"
    assert recovered(copy) == whole
    assert len(whole[0]) > 40
    assert sorted(one.name for one in (copy / "quarantine").iterdir()) == [first.name, f"{first.name}-2"]
    assert {one.name: one.read_bytes() for one in (copy / "quarantine" / first.name).iterdir()} == kept


@pytest.mark.parametrize("when", [half_saved, versions_half_saved])
def test_half_a_store_does_not_pass_for_the_whole_when_what_was_set_aside_is_gone(
    home: Path, store: Store, tmp_path: Path, when: Callable[[Path, Path], bool]
) -> None:
    damaged(home, store)
    whole = recovered(copied(home, tmp_path / "whole"))
    copy, aside = cut_short(home, tmp_path / "copy", when)
    shutil.move(aside, tmp_path / "moved")
    for attempt in (memory_of(copy).maintenance.recover, memory_of(copy).sessions.listing):
        with pytest.raises(StoreDamaged, match="no longer in") as results:
            attempt()
        assert str(aside) in results.value.message
        assert str(copy / JOURNAL) in results.value.hint
    shutil.move(tmp_path / "moved", aside)
    assert recovered(copy) == whole


OPENED = """
import pathlib, sys
from fazm_memory.store.database import Database
from fazm_memory.store.file_versions import STEPS
db = Database(pathlib.Path(sys.argv[1]), sys.argv[2], steps=STEPS)
print("opened", flush=True)
sys.stdin.read()
"""


def test_what_is_half_saved_beside_the_log_is_not_opened_nor_taken_from_whoever_has_it_open(
    home: Path, store: Store, tmp_path: Path
) -> None:
    damaged(home, store)
    whole = recovered(copied(home, tmp_path / "whole"))
    copy, aside = cut_short(home, tmp_path / "copy", versions_half_saved)
    key = keys.load(copy / "keys", prefer="file", store_exists=True).database
    with pytest.raises(StoreDamaged, match="is unfinished"):
        FileVersions(copy, key)
    with pytest.raises(StoreDamaged, match="is unfinished"):
        FrameworkStore(copy, key, lambda: T0)
    given = [sys.executable, "-c", OPENED, str(copy / "store.noindex" / VERSIONS), key]
    with subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"opened\n"
        with pytest.raises(StoreBusy):
            memory_of(copy).maintenance.recover()
        assert (aside / VERSIONS).exists()
        other.communicate()
    assert recovered(copy) == whole


@pytest.mark.parametrize("expected", [b"", b"{", b"[]", b"null", b'{"aside": "quarantine/x"}', b"\xff\xfe"])
def test_a_journal_that_cannot_be_read_says_what_to_do_by_hand(
    home: Path, store: Store, tmp_path: Path, expected: bytes
) -> None:
    damaged(home, store)
    (home / JOURNAL).write_bytes(expected)
    with pytest.raises(StoreDamaged) as error:
        memory_of(home).maintenance.recover()
    assert error.value.hint.startswith(f"nothing was moved yet: remove {home / JOURNAL} ")
    for name in ("one", "two"):
        (home / "quarantine" / name).mkdir(parents=True)
        (home / "quarantine" / name / "memory.db").write_bytes(b"x")
    os.utime(home / "quarantine" / "two", (1, 1))
    for attempt in (memory_of(home).maintenance.recover, memory_of(home).sessions.listing):
        with pytest.raises(StoreDamaged, match="cannot be read") as error:
            attempt()
        assert str(home / JOURNAL) in error.value.message
        assert str(home / "quarantine" / "one") in error.value.hint


def test_by_hand_as_it_is_reported_all_comes_back(home: Path, store: Store, tmp_path: Path) -> None:
    damaged(home, store)
    whole = recovered(copied(home, tmp_path / "whole"))
    copy, aside = cut_short(home, tmp_path / "copy", half_saved)
    (copy / JOURNAL).write_bytes(b"")
    with pytest.raises(StoreDamaged) as error:
        memory_of(copy).maintenance.recover()
    assert str(aside) in error.value.hint
    for side in ("", "-wal", "-shm"):
        (copy / "store.noindex" / f"memory.db{side}").unlink(missing_ok=True)
    for one in aside.iterdir():
        one.replace(copy / ("keys" if one.name in ("heads", "first-page") else "store.noindex") / one.name)
    (copy / JOURNAL).unlink()
    assert recovered(copy) == whole
