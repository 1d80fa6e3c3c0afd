"""What a click does, from the command to its effect in a real store."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from typing import get_args

import pytest

from fazm_memory.app.updates import Release
from fazm_memory.clock import parse_time, to_datetime
from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.menubar.commands import HANDLERS, follow_link, pause_length, perform
from fazm_memory.menubar.menu import Command, Verb, build_menu
from fazm_memory.menubar.status import HOUR, MINUTE, SystemState, gather_status
from fazm_memory.translation import set_language
from tests.menubar.conftest import NOON, MenuEnv
from tests.menubar.recorded_actions import Remembering


def test_every_verb_of_the_menu_does_something() -> None:
    assert set(HANDLERS) == set(get_args(Verb))


def test_resume_opens_a_script_with_the_agents_own_command_in_its_folder(env: MenuEnv) -> None:
    session, hands = env.work("the-agents-id"), Remembering()
    perform(Command("resume", session), env.memory, hands)
    ((path, terminal),) = hands.named("terminal")
    text = path.read_text()
    assert f"cd -- {env.user} || exit 1" in text
    assert "FAZM_MEMORY_RESUME='claude --resume the-agents-id\n" in text
    assert terminal == "auto"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert hands.named("tell") == []
    assert "Rename the invoices" in hands.named("copy")[0][0]


def test_when_the_folder_is_gone_a_new_session_gets_the_briefing_and_it_is_reported(env: MenuEnv) -> None:
    session, hands = env.work(workspace="/gone/away"), Remembering()
    perform(Command("resume", session), env.memory, hands)
    ((path, _),) = hands.named("terminal")
    assert "claude '\"'\"'Fazm Memory: taking up session" in path.read_text()
    ((title, why),) = hands.named("tell")
    assert title == "A new session with a briefing"
    assert "the folder it worked in is gone (/gone/away)" in why


def test_a_session_of_fazm_goes_on_in_fazm(env: MenuEnv) -> None:
    session, hands = env.work(agent="fazm"), Remembering(fazm=True)
    perform(Command("resume", session), env.memory, hands)
    ((key, folder, first),) = hands.named("fazm")
    assert (key, folder) == ("", str(env.user))
    assert first.startswith("Please take up this task again.")
    ((title, how),) = hands.named("tell")
    assert title == "Continued in Fazm"
    assert "a new one gets the briefing" in how


def test_a_session_whose_window_fazm_still_knows_goes_on_in_that_window(env: MenuEnv) -> None:
    session, hands = env.work("acp-1", agent="fazm"), Remembering(fazm=True)
    (env.user / ".fazm").mkdir()
    listed = [{"sessionId": "acp-1", "sessionKey": "detached-7", "cwd": str(env.user)}]
    (env.user / ".fazm" / "acp-sessions.json").write_text(json.dumps(listed))
    perform(Command("resume", session), env.memory, hands)
    assert hands.named("fazm")[0][0] == "detached-7"
    assert "in its own window" in hands.named("tell")[0][1]


def test_the_chosen_terminal_runs_the_script(env: MenuEnv) -> None:
    session, hands = env.work("the-agents-id"), Remembering()
    env.memory.config = replace(env.memory.config, terminal="ghostty")
    perform(Command("resume", session), env.memory, hands)
    assert hands.named("terminal")[0][1] == "ghostty"


@pytest.mark.parametrize("agent", ["fazm", "some-agent"])
def test_when_nothing_else_works_the_briefing_is_on_the_clipboard(env: MenuEnv, agent: str) -> None:
    session, hands = env.work(agent=agent), Remembering(fazm=False)
    perform(Command("resume", session), env.memory, hands)
    assert "Rename the invoices" in hands.named("copy")[0][0]
    assert hands.named("tell")[0][0] == "The briefing is on the clipboard"
    assert hands.named("terminal") == []


def test_an_answer_in_words_is_the_persons_own(env: MenuEnv) -> None:
    session = env.work()
    question = env.memory.sessions.handoff(session, to="human", note="Which folder?")["question"]
    hands = Remembering(words="  The second one ")
    perform(Command("answer", session, question), env.memory, hands)
    (result,) = env.memory.history.events(session, kind="handoff.answer")
    assert (result["payload"]["answer"], result["actor"], result["source"]) == (
        "The second one",
        "person",
        "menubar",
    )
    perform(Command("answer", session, question), env.memory, hands)
    assert hands.named("tell") == [("That question is no longer open", "It was answered meanwhile.")]


def test_no_words_are_no_answer(env: MenuEnv) -> None:
    session = env.work()
    question = env.memory.sessions.handoff(session, to="human", note="Which folder?")["question"]
    perform(Command("answer", session, question), env.memory, Remembering(words=None))
    assert list(env.memory.history.events(session, kind="handoff.answer")) == []


@pytest.mark.parametrize(
    ("command", "route"),
    [
        (Command("timeline"), "#/"),
        (Command("search"), "#/?search"),
        (Command("settings"), "#/settings"),
        (Command("yesterday"), f"#/day/{to_datetime(NOON - 24 * HOUR):%Y-%m-%d}"),
    ],
)
def test_what_is_looked_at_opens_in_the_window(env: MenuEnv, command: Command, route: str) -> None:
    hands = Remembering()
    perform(command, env.memory, hands)
    assert hands.did == [("show", route)]


def test_a_session_opens_in_the_window(env: MenuEnv) -> None:
    session, hands = env.work(), Remembering()
    perform(Command("open", session[:8]), env.memory, hands)
    assert hands.did == [("show", f"#/s/{session}")]


def test_the_context_is_copied_and_opened(env: MenuEnv) -> None:
    env.work()
    hands = Remembering()
    perform(Command("context.copy"), env.memory, hands)
    perform(Command("context.open"), env.memory, hands)
    assert "Rename the invoices" in hands.named("copy")[0][0]
    assert "Rename the invoices" in hands.named("open")[0][0].read_text()


def test_while_paused_there_may_be_no_context_file_and_that_is_reported(env: MenuEnv) -> None:
    env.memory.recording.pause()
    hands = Remembering()
    perform(Command("context.open"), env.memory, hands)
    assert hands.named("tell")[0][0] == "There is no context file"


@pytest.mark.parametrize(("span", "length"), [("15m", 15 * MINUTE), ("1h", HOUR), ("", None)])
def test_pause_and_resume_recording(env: MenuEnv, span: str, length: int | None) -> None:
    perform(Command("pause", span), env.memory, Remembering())
    result = env.memory.recording.status()
    assert result["recording"] is False
    if length is None:
        assert result["paused_until"] is None
    else:
        assert 0 <= parse_time(result["paused_until"]) - parse_time(result["paused_since"]) - length < 10_000
    perform(Command("record"), env.memory, Remembering())
    assert env.memory.recording.status()["recording"] is True


@pytest.mark.parametrize("hour", [0, 5, 12, 23])
def test_until_tomorrow_ends_in_the_morning_of_the_next_day(hour: int) -> None:
    now = parse_time(f"2026-03-04T{hour:02}:30:00")
    length = pause_length("tomorrow", now)
    assert length is not None
    assert f"{to_datetime(now + length):%Y-%m-%d %H:%M}" == "2026-03-05 06:00"


def test_an_app_is_excluded_by_its_identifier(env: MenuEnv) -> None:
    perform(Command("exclude", "Chat", "com.example.chat"), env.memory, Remembering())
    assert env.memory.recording.exclusions().app("Chat renamed", "com.example.chat")
    path = env.config.home / "excluded-apps.json"
    assert json.loads(path.read_text()) == ["com.example.chat"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("span", "left"), [("5m", 1), ("1h", 0), ("today", 0)])
def test_forgetting_asks_and_takes_only_the_time_it_names(env: MenuEnv, span: str, left: int) -> None:
    env.work("early", "The early one")
    env.clock.at += 20 * MINUTE
    late = env.work("late", "The late one")
    hands = Remembering()
    perform(Command("forget", span), env.memory, hands)
    assert "This cannot be undone" in hands.named("ask")[0][1]
    kept = [event["payload"] for event in env.memory.history.events(late, kind="prompt")]
    assert kept == [None]
    assert len(env.memory.recall.search("early")) >= left
    assert (env.memory.recall.search("early") == []) is (left == 0)


def test_nothing_is_forgotten_without_the_persons_word(env: MenuEnv) -> None:
    session = env.work()
    perform(Command("forget", "1h"), env.memory, Remembering(yes=False))
    assert [event["payload"]["text"] for event in env.memory.history.events(session, kind="prompt")] == [
        "Rename the invoices"
    ]


def test_when_there_is_nothing_to_forget_nobody_is_asked(env: MenuEnv) -> None:
    env.work()
    env.clock.at += 2 * HOUR
    hands = Remembering()
    perform(Command("forget", "1h"), env.memory, hands)
    assert hands.named("ask") == []
    assert hands.named("tell")[0][0] == "There is nothing to forget"


def test_connecting_shows_the_edits_first_and_makes_them_on_a_yes(env: MenuEnv) -> None:
    settings = env.user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    perform(Command("connect", "claude-code"), env.memory, Remembering(yes=False))
    assert settings.read_text() == "{}"
    hands = Remembering()
    perform(Command("connect", "claude-code"), env.memory, hands)
    assert str(settings) in hands.named("ask")[0][1]
    assert "hooks" in json.loads(settings.read_text())


def test_what_the_system_does_is_asked_of_it(env: MenuEnv) -> None:
    hands = Remembering()
    for command in (Command("permissions"), Command("login", "on"), Command("login"), Command("quit")):
        perform(command, env.memory, hands)
    assert hands.did == [("permissions",), ("login", True), ("login", False), ("quit",)]


def test_trouble_and_the_version_are_reported(env: MenuEnv) -> None:
    hands = Remembering()
    perform(Command("why", "The store is damaged", "recover it"), env.memory, hands)
    perform(Command("about"), env.memory, hands)
    assert hands.named("tell")[0] == ("The store is damaged", "recover it")
    assert hands.did[-1] == ("about",)


def test_every_click_of_a_full_menu_is_a_command_that_can_be_performed(env: MenuEnv) -> None:
    session = env.work()
    env.memory.sessions.handoff(session, to="human", note="Which?")
    status = gather_status(env.memory, SystemState(permitted=False, login=True))
    for command in build_menu(status).commands().values():
        perform(command, env.memory, Remembering(words="yes"))
    assert env.memory.maintenance.verify().clean


def test_a_link_shows_a_session_and_asks_before_it_resumes_one(env: MenuEnv) -> None:
    session = env.work()
    hands = Remembering(yes=False)
    follow_link(f"fazm-memory://open/{session}@2", env.memory, hands)
    follow_link(f"fazm-memory://resume/{session}", env.memory, hands)
    assert hands.named("show") == [(f"#/s/{session}@2",)]
    assert hands.named("ask")[0][0] == "Resume “Rename the invoices”?"
    assert hands.named("terminal") == []
    agreed = Remembering()
    follow_link(f"fazm-memory://resume/{session}", env.memory, agreed)
    assert len(agreed.named("terminal")) == 1


def test_a_link_to_nothing_and_a_link_that_is_none_of_ours_are_refused(env: MenuEnv) -> None:
    with pytest.raises(NotFound):
        follow_link("fazm-memory://resume/abcdef0123", env.memory, Remembering())
    with pytest.raises(InvalidInput):
        follow_link("fazm-memory://forget/all", env.memory, Remembering())


# -- updates, setup, shortcuts -----------------------------------------------------------------------------


def with_update(env: MenuEnv, monkeypatch: pytest.MonkeyPatch, release: Release | None) -> None:
    monkeypatch.setattr(type(env.memory.updates), "newer", lambda self: release)


def test_a_newer_version_is_shown_with_its_notes_and_only_its_page_is_opened(
    env: MenuEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_update(env, monkeypatch, Release("9.0", "Faster.", "https://example.org/9"))
    for yes, page in ((True, [("page", "https://example.org/9")]), (False, [])):
        system = Remembering(yes=yes)
        perform(Command("update"), env.memory, system)
        assert system.did == [("ask", "Version 9.0 is available", "Faster."), *page]
    with_update(env, monkeypatch, None)
    system = Remembering()
    perform(Command("update"), env.memory, system)
    assert [did[0] for did in system.did] == ["tell"]


def test_the_switch_for_updates_is_in_the_settings_file(env: MenuEnv) -> None:
    perform(Command("updates", ""), env.memory, Remembering())
    assert "updates = false" in (env.config.home / "config.toml").read_text()
    perform(Command("updates", "on"), env.memory, Remembering())
    assert "updates = true" in (env.config.home / "config.toml").read_text()


def test_the_setup_is_shown_again(env: MenuEnv) -> None:
    system = Remembering()
    perform(Command("setup"), env.memory, system)
    assert system.did == [("show", "#/setup")]


def test_the_shortcut_resumes_the_last_session_only_after_a_yes(env: MenuEnv) -> None:
    system = Remembering()
    perform(Command("resume.last"), env.memory, system)
    assert [did[0] for did in system.did] == ["tell"]
    env.work()
    system = Remembering(yes=False)
    perform(Command("resume.last"), env.memory, system)
    assert [did[0] for did in system.did] == ["ask"]


@pytest.mark.parametrize(
    ("agent", "key", "workspace"),
    [
        ("claude-code", "one", "/gone/away"), ("claude-code", "-x", None), ("goose", "one", "/gone/away"),
        ("some-agent", "one", None), ("fazm", "one", None), ("fazm", "one", "/gone/away"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("fazm", [True, False])
def test_the_reason_of_a_way_to_resume_is_in_the_users_language(
    env: MenuEnv, agent: str, key: str, workspace: str | None, fazm: bool
) -> None:
    session = env.work(key, agent=agent, **({} if workspace is None else {"workspace": workspace}))
    hands = Remembering(fazm=fazm)
    set_language("de")
    try:
        perform(Command("resume", session), env.memory, hands)
    finally:
        set_language("en")
    ((_, why),) = hands.named("tell")
    english = ("gone", "window", "session", "briefing", "answer", "command")
    assert [word for word in english if word in why.replace("/gone/away", "").split()] == []


def test_a_paused_session_that_is_resumed_from_the_menu_is_no_longer_paused(env: MenuEnv) -> None:
    session = env.work("the-agents-id")
    env.memory.sessions.move(session, "pause")
    perform(Command("resume", session), env.memory, Remembering())
    assert env.memory.sessions.get(session)["lifecycle"] == "resumed"
