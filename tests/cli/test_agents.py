"""`agents`, `connect`, `disconnect`: shown, done, undone, and said plainly."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fazm_memory.agents import CONNECTABLE
from tests.cli.conftest import Run
from tests.cli.test_import import transcript

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

    assert "already connected" in run("connect", "claude-code").out
    assert run("disconnect", "claude-code").code == 0
    assert (user / ".claude" / "settings.json").read_text() == USERS
    assert "claude-code is not connected" in run("disconnect", "claude-code").out


def test_status_says_whether_to_connect_an_agent_or_to_use_it(run: Run, user: Path) -> None:
    transcript(user / ".claude", "Rename the invoices")
    run("import")

    assert "No agent is connected" in run("status").out
    run("connect", "claude-code")
    assert "Start a new session in claude-code." in run("status").out


def test_connect_as_data(run: Run, user: Path) -> None:
    results = run("connect", "claude-code", "--json").json

    assert [Path(one["path"]).name for one in results["changes"]] == ["settings.json", ".claude.json"]
    assert len(results["backups"]) == 1


def test_an_agent_that_is_not_here_or_unknown_is_refused_with_what_to_do(run: Run, user: Path) -> None:
    missing, unknown = run("connect", "codex"), run("connect", "emacs")

    assert (missing.code, unknown.code) == (4, 2)
    assert "start it once" in missing.err
    assert "fazm, claude-code, codex, gemini" in unknown.err


def test_every_agent_says_whether_it_can_be_connected(run: Run, user: Path) -> None:
    listed = {agent["agent"]: agent["connectable"] for agent in run("agents", "--json").json}
    assert {agent for agent, can in listed.items() if not can} == {"opencode", "claude-cowork"}


def test_agents_lists_what_is_here_and_what_is_joined(run: Run, user: Path) -> None:
    transcript(user / ".claude", "Rename the invoices")
    run("connect", "claude-code")

    found = {one["agent"]: one for one in run("agents", "--json").json}

    claude = found["claude-code"]
    assert (claude["files"], claude["hooks"], claude["mcp"], claude["here"]) == (1, True, True, True)
    assert (found["codex"]["here"], found["codex"]["files"]) == (False, 0)
    assert "hooks and MCP" in run("agents").out


def test_connected_but_silent_is_reported_aloud(run: Run, user: Path, home: Path) -> None:
    path = transcript(user / ".claude", "Rename the invoices")
    run("connect", "claude-code")
    later = (home / "connections.json").stat().st_mtime + 3600
    os.utime(path, (later, later))

    ran = run("agents")

    assert "claude-code: connected but silent: its hook never ran" in ran.err


def test_a_configuration_that_cannot_be_read_is_reported_aloud(run: Run, user: Path) -> None:
    path = user / ".claude" / "settings.json"
    path.write_text("{")

    err = run("agents").err
    assert str(path) in err
    assert "cannot be read" in err
    assert json.loads(run("agents", "--json").out)[1]["hooks"] is False


def test_a_machine_without_agents_is_reported_so(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert "No agent found" in run("agents").out


def test_a_broken_configuration_is_named_with_its_place_and_what_to_do(run: Run, user: Path) -> None:
    path = user / ".claude" / "settings.json"
    path.write_text('{"theme": "dark",\n  "model": "x",,\n}')

    messages = run("doctor").out.split("! claude-code: ")[1].splitlines()
    assert str(path) in messages[0]
    assert "a name is missing, line 2" in messages[0]
    assert messages[1].strip().startswith("hint: Repair that file")
    assert "warning" in messages[-1]

    refused = run("connect", "claude-code")
    assert refused.code == 3
    assert f"{path} cannot be edited: a name is missing, line 2" in refused.err
    assert "connect again" in refused.err
    assert "doctor" not in refused.err


def test_a_file_on_one_line_is_shown_laid_out_and_keeps_its_layout(run: Run, user: Path) -> None:
    path = user / ".claude" / "settings.json"
    minified = '{"permissions":{"allow":["Bash(ls:*)"]},"theme":"dark"}'
    path.write_text(minified)

    shown = run("connect", "claude-code").out
    assert '+  "hooks": {\n' in shown
    assert "\n   }" in shown  # what stays is shown around it
    assert "keeps its layout" in shown
    assert max(map(len, shown.splitlines())) < 300
    assert "\n" not in path.read_text().strip()

    assert '-  "hooks": {\n' in run("disconnect", "claude-code").out
    assert path.read_text() == minified


def test_a_wide_file_that_is_not_plain_json_is_shown_as_it_is(run: Run, user: Path) -> None:
    path = user / ".claude" / "settings.json"
    path.write_text('{"theme": "dark" /* mine */}')

    ran = run("connect", "claude-code")
    assert ran.code == 0
    assert '-{"theme": "dark" /* mine */}' in ran.out
    assert "keeps its own layout" not in ran.out


def test_disconnecting_all_agents_goes_on_past_a_broken_file(run: Run, user: Path) -> None:
    (user / ".codex").mkdir()
    run("connect", "claude-code")
    run("connect", "codex")
    (user / ".claude" / "settings.json").write_text("{ broken")

    ran = run("disconnect", "--all", "--yes")

    assert ran.code != 0
    assert "settings.json cannot be edited" in ran.err
    assert not (user / ".codex" / "hooks.json").exists()


def test_disconnect_needs_an_agent_or_all(run: Run, user: Path) -> None:
    assert "--all" in run("disconnect").err
    assert "--all" in run("disconnect", "codex", "--all").err
    left = [agent["agent"] for agent in run("disconnect", "--all", "--json").json]
    assert left == list(CONNECTABLE)
