"""The ways to resume a session, and that every surface offers and refuses the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from fazm_memory.agents import native_resume_command
from fazm_memory.cli.main import main
from fazm_memory.errors import InvalidTransition
from fazm_memory.mcp_server.session_tools import session_resume
from fazm_memory.mcp_server.tool import Caller
from fazm_memory.menubar.commands import perform
from fazm_memory.menubar.menu import Command
from fazm_memory.recall import ResumeOption
from fazm_memory.web.actions import resume as page_resume
from fazm_memory.web.requests import JsonBody
from tests.app.memory_fixture import MemoryFixture
from tests.menubar.recorded_actions import Remembering


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryFixture:
    monkeypatch.setenv("FAZM_MEMORY_HOME", str(tmp_path / "memory"))
    monkeypatch.setenv("FAZM_MEMORY_KEY", "file")
    return MemoryFixture(tmp_path / "memory")


def options(
    memory: MemoryFixture, folder: Path, agent: str = "claude-code", key: str | None = "a-1"
) -> list[ResumeOption]:
    session = memory.sessions.open(agent, key=key, workspace=str(folder))["id"]
    return memory.recall.resume_options(session, "")


def methods(found: list[ResumeOption]) -> list[str]:
    return [option.method for option in found]


def test_the_options_come_best_first(memory: MemoryFixture, tmp_path: Path) -> None:
    assert methods(options(memory, tmp_path)) == ["exact", "briefing", "clipboard"]
    assert methods(options(memory, tmp_path / "gone", key="a-2")) == ["briefing", "clipboard"]
    assert methods(options(memory, tmp_path, "fazm", "a-3")) == ["briefing", "clipboard"]
    assert methods(options(memory, tmp_path, "other", "a-4")) == ["clipboard"]
    assert methods(options(memory, tmp_path / "gone", "copilot", "a-5")) == ["briefing", "clipboard"]


@pytest.mark.parametrize("key", ["-p", "--dangerously-skip-permissions", "a b", "x" * 129, "$(id)"])
def test_an_id_that_could_be_an_option_is_never_passed_to_a_program(
    memory: MemoryFixture, tmp_path: Path, key: str
) -> None:
    found = options(memory, tmp_path, key=key)
    assert methods(found) == ["briefing", "clipboard"]
    assert "id" in found[0].why
    assert native_resume_command("claude-code", key, "/w") is None


@pytest.mark.parametrize("agent", ["fazm", "other", "claude-code", "codex", "gemini", "opencode"])
def test_every_option_but_the_best_says_why(memory: MemoryFixture, tmp_path: Path, agent: str) -> None:
    for option in options(memory, tmp_path / "gone", agent):
        assert option.reason
        assert option.folder is None


def test_every_surface_refuses_while_a_question_to_a_person_is_open(
    memory: MemoryFixture, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = memory.sessions.open("claude-code", key="a-1", workspace=str(tmp_path))["id"]
    question = memory.sessions.handoff(session, to="human", note="Which folder?")["question"]
    memory.sessions.move(session, "pause")
    with pytest.raises(InvalidTransition, match="Which folder") as refused:
        memory.recall.resume(session)
    error = refused.value

    with pytest.raises(InvalidTransition) as by_page:
        page_resume(memory, JsonBody({}), session)
    with pytest.raises(InvalidTransition) as by_mcp:
        session_resume(Caller(memory), {"session": session})
    for other in (by_page.value, by_mcp.value):
        assert other.to_json() == error.to_json()

    assert main(["resume", session]) == error.exit_code
    assert error.message in capfd.readouterr().err

    menu = Remembering(yes=False)
    perform(Command("resume", session), memory, menu)
    assert menu.did == [("ask", error.title, error.message)]
    assert memory.sessions.get(session)["lifecycle"] == "paused"
    assert list(memory.sessions.questions(memory.store.sessions.resolve(session))) == [question]


def test_the_menu_resumes_when_the_question_is_answered(memory: MemoryFixture, tmp_path: Path) -> None:
    session = memory.sessions.open("claude-code", key="a-1", workspace=str(tmp_path))["id"]
    memory.sessions.handoff(session, to="human", note="Which folder?")
    menu = Remembering(yes=True, words="the left one")
    perform(Command("resume", session), memory, menu)
    assert [name for name, *_ in menu.did] == ["ask", "ask", "copy", "terminal"]
    assert memory.sessions.open_questions() == []


def test_a_question_that_stays_open_keeps_the_menu_from_resuming(
    memory: MemoryFixture, tmp_path: Path
) -> None:
    session = memory.sessions.open("claude-code", key="a-1", workspace=str(tmp_path))["id"]
    memory.sessions.handoff(session, to="human", note="Which folder?")
    with pytest.raises(InvalidTransition):
        perform(Command("resume", session), memory, Remembering(yes=True, words=None))


@pytest.mark.parametrize("agent", ["claude-code", "other"])
def test_the_menu_and_the_terminal_give_the_same_reason(
    memory: MemoryFixture, tmp_path: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TERM", raising=False)
    session = memory.sessions.open(agent, key="a-1", workspace=str(tmp_path / "gone"))["id"]
    menu = Remembering()
    perform(Command("resume", session), memory, menu)
    ((_, told),) = menu.named("tell")
    assert told.endswith(f": {memory.recall.resume_offer(session)['why']}.")


def test_a_process_outside_of_a_terminal_does_not_say_that_a_program_is_missing(
    memory: MemoryFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An app that the system starts has a short PATH, and the terminal has another one."""
    session = memory.sessions.open("claude-code", key="a-1", workspace=str(tmp_path))["id"]
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("TERM", "xterm")
    assert memory.recall.resume_offer(session)["blocked"] == "claude is not installed here"
    monkeypatch.delenv("TERM")
    assert memory.recall.resume_offer(session)["blocked"] is None
