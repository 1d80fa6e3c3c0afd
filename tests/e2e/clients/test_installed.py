"""The pinned clients: found, or complained of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.clients import installed


def test_a_missing_client_is_an_error_that_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package.json").write_text((installed.HERE / "package.json").read_text())
    monkeypatch.setattr(installed, "HERE", tmp_path)

    with pytest.raises(installed.ClientMissing, match="Run: tests/e2e/clients/install"):
        installed.claude_binary()


def test_the_lock_file_pins_by_content_and_names_no_host() -> None:
    text = (installed.HERE / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]

    assert "://" not in text
    assert [name for name, entry in packages.items() if name and "integrity" not in entry] == []


def test_the_lock_of_hermes_pins_by_content_and_names_no_host() -> None:
    text = (installed.HERE / "hermes.lock").read_text()
    packages = [part for part in text.split("\n") if "==" in part]

    assert "://" not in text
    assert len(packages) > 1
    assert text.count(" \\\n    --hash=sha256:") >= len(packages)
