"""The demo: real files, a real memory, and none of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from fazm_memory.app.demo import demo_folder, run_demo, two_days
from fazm_memory.clock import parse_time
from fazm_memory.recall.quoting import is_ours

NOW = parse_time("2026-11-15T09:00:00+00:00")


def test_the_second_day_goes_on_as_the_first_did_on_real_files() -> None:
    with demo_folder(NOW) as play:
        steps = list(two_days(play))
        assert sorted(path.name for path in play.downloads.iterdir()) == [
            "2026-11-02 acme.pdf",
            "2026-11-05 globex.pdf",
            "2026-11-09 hooli.pdf",
            "2026-11-10 initech.pdf",
            "2026-11-12 stark.pdf",
            "draft_invoice_umbrella.pdf",
            "notes.txt",
        ]
        assert play.memory.maintenance.verify().clean
        assert next(row["title"] for row in play.memory.sessions.listing()).startswith("Continue organizing")
    assert is_ours(steps[1].text)
    assert not play.folder.exists()


def test_the_demo_leaves_the_users_own_memory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAZM_MEMORY_HOME", str(tmp_path / "own"))
    assert len(list(run_demo(lambda: NOW))) == 4
    assert not (tmp_path / "own").exists()
