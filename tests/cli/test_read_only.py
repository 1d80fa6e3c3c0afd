"""A home that cannot be written can be read. A real read-only disk is in tests/campaign/test_full_disk.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from fazm_memory.store import database

from .conftest import Run

OPENING = {"type": "session.open", "session": "a", "agent": "fazm", "workspace": "/w", "title": "Invoices"}
PROMPT = {"type": "prompt", "session": "a", "agent": "fazm", "text": "rename the invoices"}


@pytest.fixture
def recorded(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a session that cannot be written from now on, not even by root."""
    assert run("record", stdin=[OPENING, PROMPT]).code == 0
    monkeypatch.setattr(database, "can_write", lambda path: False)
    return home


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["sessions"], "Invoices"),
        (["show", "a"], "rename the invoices"),
        (["search", "invoices"], "rename the invoices"),
        (["context"], "rename the invoices"),
        (["context", "--json"], "rename the invoices"),
        (["habits"], "1 session"),
        (["status"], "1 session, 2 events"),
        (["verify"], "Clean: 2 events in 1 session."),
        (["doctor"], "durability: the store is read-only"),
    ],
    ids=" ".join,
)
def test_reading_works_and_changes_nothing(run: Run, recorded: Path, command: list[str], shown: str) -> None:
    before = contents(recorded / "store.noindex")
    done = run(*command, now=None)
    assert (done.code, shown in done.out + done.err) == (0, True), done
    assert contents(recorded / "store.noindex") == before


@pytest.mark.parametrize(
    "command", [["pause", "a"], ["facts", "add", "k", "v"], ["close", "a"]], ids=" ".join
)
def test_writing_is_refused_in_words(run: Run, recorded: Path, command: list[str]) -> None:
    done = run(*command, now=None)
    assert done.code == 14
    assert "is read-only: it can be read, but nothing can be recorded or changed." in done.err


def test_a_folder_that_its_owner_made_read_only_stays_so(run: Run, recorded: Path) -> None:
    recorded.chmod(0o500)
    assert run("sessions", now=None).code == 0
    assert recorded.stat().st_mode & 0o777 == 0o500
    recorded.chmod(0o700)
