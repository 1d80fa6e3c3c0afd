"""What an agent waits for when it starts our MCP server is measured with the real program."""

from __future__ import annotations

from pathlib import Path

from fazm_memory.bench import start_suite
from fazm_memory.bench.suites import Options


def test_every_answer_an_agent_waits_for_is_measured_beside_bare_python(tmp_path: Path) -> None:
    told = list(start_suite._serving(Options(quick=True, folder=tmp_path), lambda what, done, of: None))
    assert [one.what for one in told] == ["MCP: greeted", "MCP: tools listed", "MCP: first call"]
    assert all(one.ours > 0 and one.floor for one in told)
    assert list(tmp_path.iterdir()) == []
