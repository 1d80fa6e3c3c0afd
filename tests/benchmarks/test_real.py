"""The real suite measures every row on a folder of transcripts, each beside its floor."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import real
from benchmarks.__main__ import main, suite
from benchmarks.figures import Goal, Options
from benchmarks.imports import NOW, write_transcripts
from fazm_memory.errors import NotFound


def ignore_progress(what: str, done: int, total: int) -> None:
    """Progress is not shown."""


def test_every_row_is_measured_on_a_folder_of_transcripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_transcripts(tmp_path / "user", 300_000, NOW)
    for name in ("ROUNDS", "HOOKS"):
        monkeypatch.setattr(real, name, (1, 1))
    monkeypatch.setattr(real, "QUERIES", (3, 3))
    for name in ("IDLE_SECONDS", "GROWTH_SECONDS"):
        monkeypatch.setattr(real, name, (1.0, 1.0))
    monkeypatch.setattr(real, "_page", lambda place, rounds: iter(()))  # needs a browser

    transcripts = tmp_path / "user" / ".claude" / "projects"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    options = Options(quick=True, folder=scratch, real=transcripts)
    figures = {(figure.what, figure.unit): figure for figure in suite("real")(options, ignore_progress)}

    speed = figures["first import of 0 MB", "MB/s"]
    assert speed.events is not None
    assert speed.events > 50
    floored = [figure for figure in figures.values() if figure.baseline is not None]
    assert {figure.against for figure in floored} == {
        "parsing with orjson",
        "python -c pass",
        "bare FTS5, bm25 over all hits",
        "true",
    }
    assert all(figure.ours > 0 for figure in floored)
    assert figures["store without native copies", "KB per raw MB"].ours > 10
    assert figures["companion, memory", "MB"].ours > 10
    assert list(scratch.iterdir()) == []


def test_queries_are_words_of_prompts_and_the_same_every_time() -> None:
    prompts = ["Sort the invoices of March by vendor, then archive them", "no"]

    queries = real.queries_from(prompts, 5)

    assert queries == real.queries_from(prompts, 5)
    assert len(queries) == 5
    assert all(query and query.split()[0] in prompts[0] for query in queries)


def test_a_folder_is_needed_and_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(suite("real")(Options(), ignore_progress))
    assert main(["real", str(tmp_path / "nothing")]) != 0


def test_a_goal_may_be_a_least_value() -> None:
    from benchmarks.figures import Figure

    assert Figure("speed", "MB/s", 30.0, goal=Goal(least=25)).ok is True
    assert Figure("speed", "MB/s", 20.0, goal=Goal(least=25)).ok is False
