"""`doctor` at a glance: what failed and what to do stands at the end."""

from __future__ import annotations

import pytest

from fazm_memory.app import Check
from tests.cli.conftest import Run


@pytest.mark.parametrize("hint", ["Run `fazm-memory verify`.", ""])
def test_what_failed_and_what_to_do_stands_at_the_end(
    run: Run, monkeypatch: pytest.MonkeyPatch, hint: str
) -> None:
    found = [Check("key", "ok", "in the keyring"), Check("integrity", "broken", "a gap", hint)]
    monkeypatch.setattr("fazm_memory.cli.commands.maintain.run_checks", lambda memory, more: iter(found))
    ran = run("doctor")
    assert ran.code == 1
    assert (
        ran.out.splitlines()[-1]
        == f"  integrity failed. {hint or 'Please report this with the whole output.'}"
    )
