"""The import benchmark writes the same history every time, imports it, and measures both sides."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks import hooks, imports
from benchmarks.__main__ import suite
from benchmarks.figures import Options
from benchmarks.imports import SESSIONS_A_DAY, write_transcripts

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


def ignore_progress(what: str, done: int, total: int) -> None:
    """Progress is not shown."""


def test_the_same_history_is_written_every_time(tmp_path: Path) -> None:
    first, second = (write_transcripts(tmp_path / name, 300_000, NOW) for name in ("a", "b"))

    def content(name: str) -> dict[str, bytes]:
        files = (tmp_path / name).rglob("*.jsonl")
        return {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files}

    assert content("a") == content("b")
    assert (first.bytes, first.files) == (second.bytes, second.files)


def test_it_goes_back_from_yesterday(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.imports.SESSION_BYTES", 20_000)

    history = write_transcripts(tmp_path, 400_000, NOW)

    days = [datetime.fromtimestamp(path.stat().st_mtime, UTC).date() for path in history.yesterday]
    assert [str(day) for day in days] == ["2026-11-14"] * SESSIONS_A_DAY
    assert len(list(tmp_path.rglob("*.jsonl"))) == history.files > SESSIONS_A_DAY
    assert 400_000 <= history.bytes < 450_000


def test_an_import_is_measured_against_reading_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "QUICK_SIZE", 300_000)

    figures = list(suite("import")(Options(quick=True, folder=tmp_path), ignore_progress))

    speed, by_processor, yesterday, peak, again = figures
    assert speed.events is not None
    assert speed.events > 50
    assert speed.ours > 0
    assert by_processor.baseline is not None
    assert by_processor.baseline > by_processor.ours > 0
    assert yesterday.ours > 0
    assert peak.baseline is not None
    assert peak.ours >= peak.baseline > 10
    assert again.events == 0
    assert list(tmp_path.iterdir()) == []


def test_hooks_are_measured_against_a_program_that_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "SIZES", hooks.SIZES[:1])

    hot, reminding, answering = suite("hook")(Options(quick=True, folder=tmp_path), ignore_progress)

    assert hot.ratio is not None
    assert reminding.ratio is not None
    assert answering.ratio is not None
    assert (hot.against, answering.against) == ("true", "true")
    assert list(tmp_path.iterdir()) == []
