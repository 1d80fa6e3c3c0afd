"""Memories for adapters, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config

START = 1_794_733_200_000_000  # 2026-11-15, nine in the morning UTC
OpenMemory = Callable[..., Memory]


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[OpenMemory]:
    """Opens a memory: a new one each time, or, by its name, the same one again."""
    numbers, ticks = count(), count(START, 1000)
    opened: list[Memory] = []

    def opener(name: str | None = None) -> Memory:
        home = tmp_path / (name or f"memory-{next(numbers)}")
        memory = Memory(Config(home=home, user_home=tmp_path / "user", key="file"), lambda: next(ticks))
        opened.append(memory)
        return memory

    yield opener
    for memory in opened:
        memory.close()
