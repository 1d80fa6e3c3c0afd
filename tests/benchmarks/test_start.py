"""What an agent waits for when it starts our MCP server is measured with the real program."""

from __future__ import annotations

from pathlib import Path

from benchmarks import start
from benchmarks.figures import Options


def test_every_answer_an_agent_waits_for_is_measured_beside_bare_python(tmp_path: Path) -> None:
    results = list(start._serving(Options(quick=True, folder=tmp_path), lambda what, done, of: None))
    assert [one.what for one in results] == ["MCP: greeted", "MCP: tools listed", "MCP: first call"]
    assert all(one.ours > 0 and one.baseline for one in results)
    assert list(tmp_path.iterdir()) == []
