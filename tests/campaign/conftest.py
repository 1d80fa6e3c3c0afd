"""The figures of a campaign, told at the end of the run: how many cuts and kills, and what was lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Tell = Callable[[str], None]
_FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Tell:
    return request.config.stash.setdefault(_FIGURES, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash.get(_FIGURES, [])
    if results:
        terminalreporter.section("campaign")
        for line in results:
            terminalreporter.line(line)
