"""What the companion asks of the system for its own process."""

from __future__ import annotations

import ctypes

import pytest

from fazm_memory.app import process
from fazm_memory.app.companion import Companion
from fazm_memory.app.memory import Memory


class Libc:
    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []

    def setiopolicy_np(self, *arguments: int) -> int:
        self.calls.append(arguments)
        return 0


def test_on_a_mac_reading_a_folder_downloads_nothing_from_icloud(monkeypatch: pytest.MonkeyPatch) -> None:
    libc = Libc()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: libc)
    process.leave_cloud_files_remote("linux")
    assert libc.calls == []
    process.leave_cloud_files_remote("darwin")
    assert libc.calls == [(3, 0, 1)]  # materialize dataless files, this process, off


def test_the_companion_does_that_before_it_reads_anything(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr("fazm_memory.app.companion.leave_cloud_files_remote", lambda: done.append("policy"))
    companion = Companion(memory)

    def started() -> None:
        done.append("started")
        companion.stop()

    companion.run(started=started)
    assert done == ["policy", "started"]
