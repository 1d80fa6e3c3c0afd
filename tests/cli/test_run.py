"""`run`: the companion in a terminal, and once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_import import transcript


@pytest.fixture
def user(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = home.parent / "user"
    made.mkdir()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return made


def test_once_takes_in_what_is_new_and_writes_the_context(run: Run, user: Path, home: Path) -> None:
    transcript(user / ".claude", "Rename the invoices")

    assert "2 new events in 1 session" in run("run", "--once").out
    assert "0 new events" in run("run", "--once").out
    assert "Rename the invoices" in (home / "context" / "context.md").read_text()


def test_once_as_data(run: Run, user: Path) -> None:
    transcript(user / ".claude", "Rename the invoices")

    result = run("run", "--once", "--json").json

    assert (result["events"], result["sessions"], result["troubles"]) == (2, 1, {})


def started(*arguments: str) -> subprocess.Popen[str]:
    program = str(Path(sys.executable).with_name("fazm-memory"))
    return subprocess.Popen(
        [program, "run", "--headless", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def lines_until(process: subprocess.Popen[str], last: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if line.startswith(last):
            return lines
    raise AssertionError(f"it ended before it said {last!r}: {lines}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_works_until_a_signal_and_ends_in_order(user: Path, number: signal.Signals) -> None:
    transcript(user / ".claude", "Rename the invoices")
    process = started()
    messages = lines_until(process, "Recording to ")

    second = started()
    refused = second.communicate(timeout=30)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)

    assert messages[0] == "Found claude-code (1 file)."
    assert messages[1].startswith("The timeline can be used while this is read")
    assert messages[2] == "✓ 2 events in 1 session imported."
    assert "fazm-memory setup" in "".join(messages)
    assert (second.returncode, refused[0]) == (15, "")
    assert f"already running (process {process.pid})" in refused[1]
    assert process.returncode == 0
    assert out.startswith("Stopped")
    assert err == ""


def test_on_a_machine_without_agents_it_says_so_and_what_to_do(user: Path) -> None:
    process = started()
    messages = "\n".join(lines_until(process, "Recording to "))
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=30)

    assert "No agent was found on this machine" in messages
    assert "fazm-memory record" in messages
