"""`agents`, `connect`, `disconnect`: shown, done, undone, and said plainly."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_importing import transcript

USERS = '{\n  "theme": "dark"\n}\n'


@pytest.fixture
def user(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with Claude Code, and with no agent's program on the path."""
    made = home.parent / "user"
    (made / ".claude").mkdir(parents=True)
    (made / ".claude" / "settings.json").write_text(USERS)
    monkeypatch.setenv("PATH", "/nowhere")
    return made


def test_connect_shows_the_edit_makes_it_and_says_where_the_backup_is(
    run: Run, user: Path, home: Path
) -> None:
    ran = run("connect", "claude-code")

    assert ran.code == 0
    assert '+  "hooks": {' in ran.out
    assert "claude-code is connected" in ran.out
    assert f"backup: {home / 'backups'}" in ran.err
    assert "fazm-memory-hook" in (user / ".claude" / "settings.json").read_text()
    assert os.access(home / "hooks" / "fazm-memory-hook", os.X_OK)


def test_a_dry_run_only_shows(run: Run, user: Path, home: Path) -> None:
    ran = run("connect", "claude-code", "--dry-run")

    assert '+  "hooks": {' in ran.out
    assert (user / ".claude" / "settings.json").read_text() == USERS
    assert not (home / "hooks").exists()


def test_connecting_twice_changes_nothing_and_disconnecting_restores_every_byte(run: Run, user: Path) -> None:
    run("connect", "claude-code")

    assert "nothing to change: claude-code is connected already" in run("connect", "claude-code").out
    assert run("disconnect", "claude-code").code == 0
    assert (user / ".claude" / "settings.json").read_text() == USERS
    assert "claude-code is not connected" in run("disconnect", "claude-code").out


def test_connect_as_data(run: Run, user: Path) -> None:
    told = run("connect", "claude-code", "--json").json

    assert [Path(one["path"]).name for one in told["changes"]] == ["settings.json", ".claude.json"]
    assert len(told["backups"]) == 1


def test_an_agent_that_is_not_here_or_unknown_is_refused_with_what_to_do(run: Run, user: Path) -> None:
    missing, unknown = run("connect", "codex"), run("connect", "emacs")

    assert (missing.code, unknown.code) == (4, 2)
    assert "start it once" in missing.err
    assert "fazm, claude-code, codex, gemini" in unknown.err


def test_agents_lists_what_is_here_and_what_is_joined(run: Run, user: Path) -> None:
    transcript(user / ".claude", "Rename the invoices")
    run("connect", "claude-code")

    found = {one["agent"]: one for one in run("agents", "--json").json}

    claude = found["claude-code"]
    assert (claude["files"], claude["hooks"], claude["mcp"], claude["here"]) == (1, True, True, True)
    assert (found["codex"]["here"], found["codex"]["files"]) == (False, 0)
    assert "hooks and MCP" in run("agents").out


def test_connected_but_silent_is_said_aloud(run: Run, user: Path, home: Path) -> None:
    path = transcript(user / ".claude", "Rename the invoices")
    run("connect", "claude-code")
    later = (home / "connections.json").stat().st_mtime + 3600
    os.utime(path, (later, later))

    ran = run("agents")

    assert "claude-code: connected but silent: its hook was never heard" in ran.err


def test_a_configuration_that_cannot_be_read_is_said_aloud(run: Run, user: Path) -> None:
    (user / ".claude" / "settings.json").write_text("{")

    assert "its configuration cannot be read" in run("agents").err
    assert json.loads(run("agents", "--json").out)[1]["hooks"] is False


def test_a_machine_without_agents_is_told_so(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert "No agent was found on this machine" in run("agents").out
