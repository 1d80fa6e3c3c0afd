"""Slots written through memory: seen at once by everyone, there after a kill, safe when the file is cut."""

from __future__ import annotations

import errno
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.errors import FazmMemoryError
from fazm_memory.store.hash_chain import SlotFile

SIZE = 64


def slot(letter: str) -> bytes:
    return letter.encode() * SIZE


@pytest.fixture
def slots(tmp_path: Path) -> Iterator[SlotFile]:
    made = SlotFile(tmp_path / "heads", SIZE)
    yield made
    made.close()


def test_what_was_never_written_is_nothing_or_zeros(slots: SlotFile) -> None:
    assert slots.read(3) == b""
    slots.write(3, slot("c"))
    assert slots.read(1) == bytes(SIZE)
    assert (slots.count(), slots.read(3), slots.read(4)) == (4, slot("c"), b"")


def test_a_slot_written_again_is_seen_by_every_other_reader(slots: SlotFile) -> None:
    other = SlotFile(slots.path, SIZE)
    slots.write(1, slot("a"))
    assert other.read(1) == slot("a")
    slots.write(1, slot("b"))
    assert other.read(1) == slot("b") == slots.path.read_bytes()[SIZE : 2 * SIZE]
    other.write(1, slot("c"))
    assert slots.read(1) == slot("c")
    other.close()


def test_a_file_that_was_cut_since_it_was_read_is_written_and_ends_nobody(slots: SlotFile) -> None:
    slots.write(200, slot("a"))
    before = slots.read(200)
    os.truncate(slots.path, 0)
    slots.write(200, slot("b"), before)
    assert slots.read(200) == slot("b")


def test_writing_again_leaves_the_times_of_the_file_alone(slots: SlotFile) -> None:
    slots.write(0, slot("a"))
    slots.write(0, slot("b"))  # the first store into the page may note the time
    slots.sync()

    def left_alone(text: str) -> bool:
        slots.write(0, slot("c"))
        os.utime(slots.path, ns=(1, 1))
        slots.write(0, slot(text))
        assert slots.path.read_bytes() == slot(text)
        return slots.path.stat().st_mtime_ns == 1

    # The system may write the page back just in between: then the next store is a first one again.
    assert any(left_alone(text) for text in "def")


def test_a_file_that_grew_elsewhere_is_read_to_its_end(slots: SlotFile) -> None:
    slots.write(0, slot("a"))
    assert slots.read(0) == slot("a")
    with slots.path.open("ab") as file:
        file.write(slot("z") * 200)
    assert slots.read(200) == slot("z")
    slots.write(200, slot("y"))
    assert slots.path.read_bytes()[-SIZE:] == slot("y")


def test_a_file_that_was_cut_meanwhile_ends_nothing(slots: SlotFile) -> None:
    for number in range(300):
        slots.write(number, slot("a"))
    assert slots.read(299) == slot("a")
    os.truncate(slots.path, SIZE)
    assert slots.read(299) == b""
    slots.sync()
    slots.write(299, slot("b"))
    assert (slots.read(299), slots.read(150)) == (slot("b"), bytes(SIZE))


def test_a_killed_process_has_written_what_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "heads"
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from fazm_memory.store.hash_chain import SlotFile\n"
        "slots = SlotFile(Path(sys.argv[1]), 64)\n"
        "slots.write(5, b'a' * 64); slots.write(5, b'b' * 64)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_bytes()[5 * SIZE :] == b"b" * 64


@pytest.mark.parametrize("refusal", [OSError(errno.EMFILE, "too many files"), ValueError("cut just now")])
def test_where_nothing_can_be_mapped_slots_are_written_all_the_same(
    slots: SlotFile, monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    def refused(*_: object) -> mmap.mmap:
        raise refusal

    slots.write(1, slot("a"))
    with monkeypatch.context() as patched:
        patched.setattr(mmap, "mmap", refused)
        slots.write(1, slot("b"))
        slots.sync()
        assert (slots.read(1), slots.read(2)) == (slot("b"), b"")
    assert slots.read(1) == slot("b") == slots.path.read_bytes()[SIZE:]


def test_a_refused_write_is_reported_in_our_words(slots: SlotFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    slots.open()
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(FazmMemoryError):
        slots.write(0, slot("a"))
