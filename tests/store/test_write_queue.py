"""Writers stand in line: nobody is overtaken, nobody waits longer than asked, the dead hold nobody up."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fazm_memory.errors import StoreBusy
from fazm_memory.store import database
from fazm_memory.store.database import Database, WriteQueue

LONG = 60.0
HOLD = """
import sys
from pathlib import Path
from fazm_memory.store.database import WriteQueue
queue = WriteQueue(Path(sys.argv[1]))
assert queue.enter(60)
print("entered", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def stands_in_line(path: Path) -> bool:
    """Whether a writer has the first lock. Only one that waits for its turn has it for long."""
    queue = WriteQueue(path)
    came = queue.enter(0)
    if came:
        queue.leave()
    line_free = queue._locks[0].take(0)
    if line_free:
        queue._locks[0].release()
    queue.close()
    return not line_free


def test_one_writer_at_a_time(path: Path) -> None:
    first, second = WriteQueue(path), WriteQueue(path)
    assert first.enter(0)
    assert not second.enter(0)
    first.leave()
    assert second.enter(0)
    second.leave()
    assert first.enter(0)


def test_whoever_has_just_written_cannot_overtake_the_next(path: Path) -> None:
    own, order = WriteQueue(path), []
    assert own.enter(0)

    def other() -> None:
        queue = WriteQueue(path)
        assert queue.enter(LONG)
        order.append("other")
        queue.leave()
        queue.close()

    thread = threading.Thread(target=other)
    thread.start()
    while not stands_in_line(path):
        pass
    own.leave()
    assert own.enter(LONG)
    order.append("own")
    own.leave()
    thread.join()
    assert order == ["other", "own"]


def test_a_writer_that_gave_up_takes_no_turn(path: Path) -> None:
    first, second = WriteQueue(path), WriteQueue(path)
    assert first.enter(0)
    assert not second.enter(0.01)
    first.leave()
    assert first.enter(LONG)  # the thread that waited for the second may have it for a moment
    first.leave()
    assert second.enter(LONG)
    second.leave()


def test_a_writer_that_dies_holds_nobody_up(path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"entered\n"
        queue = WriteQueue(path)
        assert not queue.enter(0)
        process.kill()
        process.wait()
        assert queue.enter(LONG)
        queue.leave()


def test_a_transaction_takes_its_turn_and_gives_it_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = Database(path, "ab" * 32)
    queue = WriteQueue(path)
    assert queue.enter(0)
    with pytest.raises(StoreBusy), db.waiting_at_most(0), db.transaction():
        pass
    monkeypatch.setattr(db, "wait_seconds", 0.01)
    with pytest.raises(StoreBusy), db.transaction():
        pass
    queue.leave()
    monkeypatch.setattr(db, "wait_seconds", database.BUSY_SECONDS)
    with db.transaction():
        assert not queue.enter(0)
    assert queue.enter(0)
    queue.leave()
    db.close()
