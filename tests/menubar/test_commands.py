"""What a click does, from the command to its effect in a real store."""

from __future__ import annotations

import json
import stat
from typing import get_args

import pytest

from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.menubar.commands import DOES, follow_link, pause_length, perform
from fazm_memory.menubar.labels import HOUR, MINUTE
from fazm_memory.menubar.menu import Command, Verb, menu
from fazm_memory.menubar.status import Surroundings, gather
from fazm_memory.model.clock import moment, parse
from tests.menubar.conftest import NOON, Desk
from tests.menubar.hands import Remembering


def test_every_verb_of_the_menu_does_something() -> None:
    assert set(DOES) == set(get_args(Verb))


def test_resume_opens_a_script_with_the_agents_own_command_in_its_folder(desk: Desk) -> None:
    session, hands = desk.work("the-agents-id"), Remembering()
    perform(Command("resume", session), desk.memory, hands)
    ((path,),) = hands.named("open")
    text = path.read_text()
    assert f"cd -- {desk.user} || exit 1" in text
    assert text.endswith("exec claude --resume the-agents-id\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert hands.named("tell") == []
    assert "Rename the invoices" in hands.named("copy")[0][0]


def test_when_the_folder_is_gone_a_new_session_gets_the_briefing_and_it_is_said(desk: Desk) -> None:
    session, hands = desk.work(workspace="/gone/away"), Remembering()
    perform(Command("resume", session), desk.memory, hands)
    ((path,),) = hands.named("open")
    assert "exec claude 'Fazm Memory: taking up session" in path.read_text()
    ((title, why),) = hands.named("tell")
    assert title == "A new session with a briefing"
    assert "the folder it worked in is gone: /gone/away" in why


def test_a_session_of_fazm_goes_on_in_fazm(desk: Desk) -> None:
    session, hands = desk.work(agent="fazm"), Remembering(fazm=True)
    perform(Command("resume", session), desk.memory, hands)
    ((messages,),) = hands.named("fazm")
    assert messages[:2] == (f"setWorkspace:{desk.user}", "newPopOutChat")
    assert messages[2].startswith("sendFollowUp:Please take up this task again.")
    assert hands.named("tell")[0][0] == "Continued in Fazm"


@pytest.mark.parametrize("agent", ["fazm", "some-agent"])
def test_when_nothing_else_works_the_briefing_is_on_the_clipboard(desk: Desk, agent: str) -> None:
    session, hands = desk.work(agent=agent), Remembering(fazm=False)
    perform(Command("resume", session), desk.memory, hands)
    assert "Rename the invoices" in hands.named("copy")[0][0]
    assert hands.named("tell")[0][0] == "The briefing is on the clipboard"
    assert hands.named("open") == []


def test_an_answer_in_words_is_the_persons_own(desk: Desk) -> None:
    session = desk.work()
    question = desk.memory.handoff(session, to="human", note="Which folder?")["question"]
    hands = Remembering(words="  The second one ")
    perform(Command("answer", session, question), desk.memory, hands)
    (told,) = desk.memory.events(session, kind="handoff.answer")
    assert (told["payload"]["answer"], told["actor"], told["source"]) == (
        "The second one",
        "person",
        "menubar",
    )
    perform(Command("answer", session, question), desk.memory, hands)
    assert hands.named("tell") == [("That question is no longer open", "Somebody has answered it meanwhile.")]


def test_no_words_are_no_answer(desk: Desk) -> None:
    session = desk.work()
    question = desk.memory.handoff(session, to="human", note="Which folder?")["question"]
    perform(Command("answer", session, question), desk.memory, Remembering(words=None))
    assert list(desk.memory.events(session, kind="handoff.answer")) == []


@pytest.mark.parametrize(
    ("command", "route"),
    [
        (Command("timeline"), "#/"),
        (Command("search"), "#/?search"),
        (Command("settings"), "#/settings"),
        (Command("yesterday"), f"#/day/{moment(NOON - 24 * HOUR):%Y-%m-%d}"),
    ],
)
def test_what_is_looked_at_opens_in_the_window(desk: Desk, command: Command, route: str) -> None:
    hands = Remembering()
    perform(command, desk.memory, hands)
    assert hands.did == [("show", route)]


def test_a_session_opens_in_the_window(desk: Desk) -> None:
    session, hands = desk.work(), Remembering()
    perform(Command("open", session[:8]), desk.memory, hands)
    assert hands.did == [("show", f"#/s/{session}")]


def test_the_context_is_copied_and_opened(desk: Desk) -> None:
    desk.work()
    hands = Remembering()
    perform(Command("context.copy"), desk.memory, hands)
    perform(Command("context.open"), desk.memory, hands)
    assert "Rename the invoices" in hands.named("copy")[0][0]
    assert "Rename the invoices" in hands.named("open")[0][0].read_text()


def test_while_paused_there_may_be_no_context_file_and_that_is_said(desk: Desk) -> None:
    desk.memory.pause_recording()
    hands = Remembering()
    perform(Command("context.open"), desk.memory, hands)
    assert hands.named("tell")[0][0] == "There is no context file"


@pytest.mark.parametrize(("span", "length"), [("15m", 15 * MINUTE), ("1h", HOUR), ("", None)])
def test_pause_and_resume_recording(desk: Desk, span: str, length: int | None) -> None:
    perform(Command("pause", span), desk.memory, Remembering())
    told = desk.memory.recording()
    assert told["recording"] is False
    if length is None:
        assert told["paused_until"] is None
    else:
        assert 0 <= parse(told["paused_until"]) - parse(told["paused_since"]) - length < 10_000
    perform(Command("record"), desk.memory, Remembering())
    assert desk.memory.recording()["recording"] is True


@pytest.mark.parametrize("hour", [0, 5, 12, 23])
def test_until_tomorrow_ends_in_the_morning_of_the_next_day(hour: int) -> None:
    now = parse(f"2026-03-04T{hour:02}:30:00")
    length = pause_length("tomorrow", now)
    assert length is not None
    assert f"{moment(now + length):%Y-%m-%d %H:%M}" == "2026-03-05 06:00"


def test_an_app_is_excluded_by_its_identifier(desk: Desk) -> None:
    perform(Command("exclude", "Chat", "com.example.chat"), desk.memory, Remembering())
    assert desk.memory.exclusions().app("Chat renamed", "com.example.chat")
    path = desk.config.home / "excluded-apps.json"
    assert json.loads(path.read_text()) == ["com.example.chat"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("span", "left"), [("5m", 1), ("1h", 0), ("today", 0)])
def test_forgetting_asks_and_takes_only_the_time_it_names(desk: Desk, span: str, left: int) -> None:
    desk.work("early", "The early one")
    desk.clock.at += 20 * MINUTE
    late = desk.work("late", "The late one")
    hands = Remembering()
    perform(Command("forget", span), desk.memory, hands)
    assert "This cannot be undone" in hands.named("ask")[0][1]
    kept = [event["payload"] for event in desk.memory.events(late, kind="prompt")]
    assert kept == [None]
    assert len(desk.memory.search("early")) >= left
    assert (desk.memory.search("early") == []) is (left == 0)


def test_nothing_is_forgotten_without_the_persons_word(desk: Desk) -> None:
    session = desk.work()
    perform(Command("forget", "1h"), desk.memory, Remembering(yes=False))
    assert [event["payload"]["text"] for event in desk.memory.events(session, kind="prompt")] == [
        "Rename the invoices"
    ]


def test_when_there_is_nothing_to_forget_nobody_is_asked(desk: Desk) -> None:
    desk.work()
    desk.clock.at += 2 * HOUR
    hands = Remembering()
    perform(Command("forget", "1h"), desk.memory, hands)
    assert hands.named("ask") == []
    assert hands.named("tell")[0][0] == "There is nothing to forget"


def test_connecting_shows_the_edits_first_and_makes_them_on_a_yes(desk: Desk) -> None:
    settings = desk.user / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    perform(Command("connect", "claude-code"), desk.memory, Remembering(yes=False))
    assert settings.read_text() == "{}"
    hands = Remembering()
    perform(Command("connect", "claude-code"), desk.memory, hands)
    assert str(settings) in hands.named("ask")[0][1]
    assert "hooks" in json.loads(settings.read_text())


def test_what_the_system_does_is_asked_of_it(desk: Desk) -> None:
    hands = Remembering()
    for command in (Command("permissions"), Command("login", "on"), Command("login"), Command("quit")):
        perform(command, desk.memory, hands)
    assert hands.did == [("permissions",), ("login", True), ("login", False), ("quit",)]


def test_trouble_and_the_version_are_told(desk: Desk) -> None:
    hands = Remembering()
    perform(Command("why", "The store is damaged", "recover it"), desk.memory, hands)
    perform(Command("about"), desk.memory, hands)
    assert hands.named("tell")[0] == ("The store is damaged", "recover it")
    assert hands.named("tell")[1][0].startswith("Fazm Memory ")


def test_every_click_of_a_full_menu_is_a_command_that_can_be_performed(desk: Desk) -> None:
    session = desk.work()
    desk.memory.handoff(session, to="human", note="Which?")
    status = gather(desk.memory, Surroundings(permitted=False, login=True))
    for command in menu(status).commands().values():
        perform(command, desk.memory, Remembering(words="yes"))
    assert desk.memory.verify().clean


def test_a_link_shows_a_session_and_asks_before_it_resumes_one(desk: Desk) -> None:
    session = desk.work()
    hands = Remembering(yes=False)
    follow_link(f"fazm-memory://open/{session}@2", desk.memory, hands)
    follow_link(f"fazm-memory://resume/{session}", desk.memory, hands)
    assert hands.named("show") == [(f"#/s/{session}@2",)]
    assert hands.named("ask")[0][0] == "Resume “Rename the invoices”?"
    assert hands.named("open") == []
    agreed = Remembering()
    follow_link(f"fazm-memory://resume/{session}", desk.memory, agreed)
    assert len(agreed.named("open")) == 1


def test_a_link_to_nothing_and_a_link_that_is_none_of_ours_are_refused(desk: Desk) -> None:
    with pytest.raises(NotFound):
        follow_link("fazm-memory://resume/abcdef0123", desk.memory, Remembering())
    with pytest.raises(InvalidInput):
        follow_link("fazm-memory://forget/all", desk.memory, Remembering())
