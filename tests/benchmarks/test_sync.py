"""The sync suite measures what it says, on a small store."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import sync
from benchmarks.figures import Options


def test_the_sync_suite_counts_bytes_and_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "ROUNDS", 3)
    monkeypatch.setattr(sync, "BIN", tmp_path)  # without a server
    figures = {figure.what: figure for figure in sync.run(Options(sizes=(600,), folder=tmp_path), _silent)}
    assert figures["requests, nothing new"].ours == 1
    assert figures["requests, one event to send"].ours <= 8
    assert figures["bytes on the wire"].ours > 0
    assert figures["first sync, by the clock"].ratio is not None


def _silent(what: str, done: int, total: int) -> None:
    """No progress."""
