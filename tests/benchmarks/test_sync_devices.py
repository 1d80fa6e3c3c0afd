"""The devices suite counts what one device of a large vault asks of the store."""

from __future__ import annotations

from pathlib import Path

from benchmarks import sync_devices
from benchmarks.figures import Options


def test_an_idle_round_among_many_devices_only_lists(tmp_path: Path) -> None:
    options = Options(quick=True, folder=tmp_path)
    figures = {figure.what: figure.ours for figure in sync_devices.run(options, lambda *progress: None)}
    assert figures["first round among 100 devices: gets"] == 99
    assert figures["idle round among 100 devices: lists"] == 1
    assert "idle round among 100 devices: gets" not in figures
    assert figures["round after 10 of 100 devices changed: gets"] == 10
    assert figures["round with an event among 100 devices: puts"] == 2
