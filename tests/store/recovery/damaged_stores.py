"""Stores to be damaged: short events, long ones that need pages of their own, and compressed ones."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from fazm_memory.events.event import Message
from fazm_memory.store import keys
from fazm_memory.store.recovery.page_reader import PageReader, RowReader
from fazm_memory.store.store import PAGE, Store
from tests.scribe import Scribe

LENGTHS = (20, 300, 300, 1200, 2500, 9000)


def noise(length: int, seed: int) -> str:
    """Text that does not get much shorter by being compressed."""
    return random.Random(seed).randbytes(length // 2).hex()


def fill(store: Store, sessions: int = 3, events: int = 24) -> list[str]:
    scribe = Scribe(store)
    made = []
    for number in range(sessions):
        session = scribe.open(agent="codex", agent_session_id=f"own-{number}")
        results: list[Any] = [Message(noise(LENGTHS[n % len(LENGTHS)], n)) for n in range(events - 2)]
        scribe.tell(session, *results, Message("again and again, " * 200), key=None)
        made.append(session)
    return made


def database(home: Path) -> Path:
    return home / "store.noindex" / "memory.db"


def flip(path: Path, page: int, at: int = 100) -> None:
    """Damage one byte of a page, which is counted from 1."""
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE + at)
        (byte,) = file.read(1)
        file.seek((page - 1) * PAGE + at)
        file.write(bytes([byte ^ 1]))


def copied(home: Path, to: Path) -> Path:
    if to.exists():
        shutil.rmtree(to)
    shutil.copytree(home, to)
    return to


def raw(home: Path) -> RowReader:
    """To be closed through its pages."""
    key = keys.load(home / "keys", prefer="file", store_exists=True).database
    return RowReader(PageReader(database(home), key, None))
