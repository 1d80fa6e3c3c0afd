"""The front door: help, errors, exit codes, and what must not be loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fazm_memory.cli.main import COMMANDS, command_first
from fazm_memory.errors import error_classes

from .conftest import Run

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_load_neither_the_database_nor_a_server(flag: str) -> None:
    code = (
        "import sys; from fazm_memory.cli.main import main; main([sys.argv[1]]);"
        "heavy = {'peewee', 'sqlcipher3', 'keyring', 'watchdog', 're2', 'starlette', 'mcp', 'zstandard'};"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, flag], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [["status"], ["sessions"], ["search", "invoices"], ["show"]])
def test_a_command_that_reads_loads_nothing_that_only_recording_and_contexts_need(
    command: list[str], run: Run
) -> None:
    run(
        "record", stdin=[{"type": "prompt", "session": "s", "agent": "claude-code", "text": "sort"}], now=None
    )
    code = (
        "import sys; from fazm_memory.cli.main import main; main(sys.argv[1:]);"
        "heavy = {'peewee', 'fazm_memory.engines.redaction', 'fazm_memory.engines.shell_effects',"
        " 'fazm_memory.agents.tool_calls', 'fazm_memory.ingest.recorder', 'fazm_memory.recall.items'};"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run: Run, name: str) -> None:
    results = run(name, "--help", now=None)
    assert results.code == 0
    assert f"fazm-memory {name}" in results.out
    assert "--json" in results.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    assert f"`{name}" in (DOCS / "commands.md").read_text()


def test_every_exit_code_is_documented_and_used_once() -> None:
    text = (DOCS / "commands.md").read_text()
    codes = [cls.exit_code for cls in error_classes()]
    assert len(codes) == len(set(codes))
    for cls in error_classes():
        assert f"| {cls.exit_code} | {cls.title} |" in text


def test_a_misspelt_command_gets_a_suggestion(run: Run) -> None:
    results = run("sesions", now=None)
    assert results.code == 2
    assert "`fazm-memory sessions`?" in results.err


def test_an_unknown_id_says_so_and_where_to_look(run: Run, session: str) -> None:
    results = run("show", "zzzz")
    assert results.code == 4
    assert "zzzz" in results.err
    assert "hint: `fazm-memory sessions`" in results.err


def test_errors_are_data_with_json(run: Run, session: str) -> None:
    result = run("show", "zzzz", "--json")
    assert result.json["ok"] is False
    assert result.json["code"] == 4


def test_a_bad_time_is_reported_in_words(run: Run) -> None:
    results = run("sessions", now="tomorrowish")
    assert results.code == 2
    assert 'Invalid time "tomorrowish"' in results.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command(run: Run, shell: str) -> None:
    results = run("completion", shell, now=None)
    assert results.code == 0
    assert all(name in results.out for name in COMMANDS)


def test_the_bash_completion_works_in_bash(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(run("completion", "bash", now=None).out)
    ask = (
        f'source {script}; COMP_WORDS=(fazm-memory se); COMP_CWORD=1; _fazm_memory; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["sessions", "search", "setup", "serve"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["--now", "2026-11-14", "sho"], "show"),
        (["--json", "--now", "2026-11-14T09", ":", "00", ":", "00Z", "sho"], "show"),
        (["--now", "2026-11-14", "recording", "pa"], "pause"),
        (["--now", "2026"], ""),
    ],
)
def test_the_bash_completion_works_behind_common_options(
    words: list[str], offered: str, run: Run, tmp_path: Path
) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(run("completion", "bash", now=None).out)
    ask = (
        f"source {script}; COMP_WORDS=(fazm-memory {' '.join(words)}); COMP_CWORD={len(words)};"
        ' _fazm_memory; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == offered


def test_common_options_may_come_before_the_command() -> None:
    assert command_first(["--now", "2026-11-14", "--json", "sessions", "--all"]) == [
        "sessions", "--now", "2026-11-14", "--json", "--all",
    ]  # fmt: skip
    assert command_first(["--json"]) == ["--json"]
    assert command_first(["--now=2026-11-14", "--json"]) == ["--now=2026-11-14", "--json"]
    assert command_first(["sessions", "--json"]) == ["sessions", "--json"]


def test_a_word_that_people_try_leads_to_its_command(run: Run) -> None:
    refused = run("undo")
    assert refused.code == 2
    assert "Did you mean `fazm-memory rewind ID --undo`?" in refused.err
