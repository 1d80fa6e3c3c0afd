"""`setup` in a terminal, in a script and as data; and the first start of `run`."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from fazm_memory.app.setup import LoginFile
from fazm_memory.clock import parse_time
from tests.cli.conftest import NOW, Run
from tests.cli.test_import import transcript


@pytest.fixture
def user(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with Claude Code, who used it yesterday, on a system without systemd."""
    made = home.parent / "user"
    path = transcript(made / ".claude", "Rename the invoices")
    yesterday = parse_time(NOW) / 1e6 - 86_400
    os.utime(path, (yesterday, yesterday))
    (made / ".claude" / "settings.json").write_text("{}")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("LANG", "C")
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("fazm_memory.app.setup.SYSTEMD_RUNNING", home / "nowhere")
    monkeypatch.setattr(LoginFile.__init__, "__defaults__", ("linux", home / "nowhere"))
    return made


def connected(user: Path) -> bool:
    return "hooks" in json.loads((user / ".claude" / "settings.json").read_text())


class Terminal:
    """A person who answers each question."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
        self.answers, self.questions = list(answers), list[str]()
        for stream in ("stdin", "stdout"):
            monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
        monkeypatch.setattr("builtins.input", self.ask)

    def ask(self, question: str) -> str:
        self.questions.append(question)
        return self.answers.pop(0)


def test_a_script_is_told_what_would_be_done_and_nothing_is(run: Run, user: Path) -> None:
    ran = run("setup", stdin=b"")
    assert "Connect your agents: claude-code" in ran.out
    assert f"changes {user / '.claude' / 'settings.json'}" in ran.out
    assert "Import your last month: 1 file of the last month" in ran.out
    assert "Nothing was changed" in ran.err
    assert not connected(user)
    assert run("sessions", "--json").json == []


def test_the_end_of_the_input_is_a_no(run: Run, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(question: str) -> str:
        raise EOFError

    Terminal(monkeypatch)
    monkeypatch.setattr("builtins.input", ended)
    ran = run("setup")
    assert (ran.code, ran.err) == (0, "")
    assert not connected(user)


def test_yes_does_every_suggested_step(run: Run, user: Path, home: Path) -> None:
    ran = run("setup", "--yes")
    assert ran.code == 0
    assert "2 events in 1 session imported" in ran.out
    assert connected(user)
    assert (home / "setup-done").exists()
    assert "Nothing is left to do." in run("setup", stdin=b"").err
    assert run("setup", "--remove").out == "Removed: claude-code.\n"
    assert not connected(user)


def test_only_the_named_step_is_done(run: Run, user: Path) -> None:
    run("setup", "--yes", "--only", "import")
    assert not connected(user)
    assert len(run("sessions", "--json").json) == 1


def test_as_data(run: Run, user: Path) -> None:
    steps = run("setup", "--json").json
    assert [(step["name"], step["state"]) for step in steps["steps"]] == [
        ("connect", "todo"),
        ("import", "todo"),
    ]
    assert steps["done"] == []
    done = run("setup", "--json", "--yes").json["done"]
    assert [(result["step"], result["ok"]) for result in done] == [("connect", True), ("import", True)]


def test_a_person_is_asked_for_each_step_and_may_skip_it(
    run: Run, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(monkeypatch, "s", "", "y")
    ran = run("setup")
    assert re.search(r"This adds \d+ lines to .*settings.json", ran.out)
    assert '"hooks": {' in ran.out  # the edit, when it was asked for
    assert [question.split("?")[0] for question in terminal.questions] == [
        "Connect claude-code",
        "Connect claude-code",
        "Import 1 file of the last month (1 MB to read)",
    ]
    assert not connected(user)
    assert len(run("sessions", "--json").json) == 1


def test_a_step_that_fails_is_reported_and_the_next_one_follows(run: Run, user: Path) -> None:
    (user / ".claude.json").write_text("{ broken")
    ran = run("setup", "--yes")
    assert ".claude.json" in ran.err
    assert "2 events in 1 session imported" in ran.out


def test_a_person_with_a_german_locale_reads_german(
    run: Run, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fazm_memory import translation

    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    try:
        preview = run("setup", stdin=b"")
        assert "Deine Agenten verbinden: claude-code" in preview.out
        assert f"ändert {user / '.claude' / 'settings.json'}" in preview.out
        assert "Es wurde nichts geändert" in preview.err
        terminal = Terminal(monkeypatch, "j", "ja")
        ran = run("setup")
        assert terminal.questions == [
            "claude-code verbinden? [j/N, s: Änderungen zeigen] ",
            "1 Datei des letzten Monats (1 MB zu lesen) einlesen? [j/N] ",
        ]
        assert re.search(r"Dies fügt \d+ Zeilen in .*settings.json ein und entfernt \d+\.", ran.out)
        assert "2 Ereignisse aus 1 Sitzung eingelesen." in ran.out
        assert run("setup", "--remove").out == "Entfernt: claude-code.\n"
    finally:
        translation.set_language("en")


def test_the_first_start_imports_shows_yesterday_and_offers_to_connect_once(
    run: Run, user: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from fazm_memory.app import Companion

    monkeypatch.setattr(Companion, "run", lambda self, started: started())
    first = run("run", "--headless", "--no-page", stdin=b"").out.splitlines()
    assert first[:4] == [
        "Found claude-code (1 file).",
        "✓ 2 events in 1 session imported.",
        "Yesterday: Rename the invoices. `fazm-memory context` shows what was done and what is open.",
        "Not connected yet: claude-code. `fazm-memory setup` connects them.",
    ]
    assert len(first) <= 8
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    again = run("run", "--headless", "--no-page", stdin=b"").out
    assert "Found" not in again


def test_the_first_start_at_a_terminal_connects_after_a_yes(
    run: Run, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fazm_memory.app import Companion

    monkeypatch.setattr(Companion, "run", lambda self, started: started())
    terminal = Terminal(monkeypatch, "y")
    run("run", "--headless", "--no-page")
    assert len(terminal.questions) == 1
    assert connected(user)
