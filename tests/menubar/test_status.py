"""The status is gathered from a real store, and trouble with the store is part of it."""

from __future__ import annotations

from fazm_memory.menubar.menu import build_menu
from fazm_memory.menubar.status import DAY, HOUR, FrontApp, SystemState, gather_status
from fazm_memory.paths import PAUSE_FILE
from tests.menubar.conftest import MenuEnv


def test_a_memory_that_is_empty_has_a_status_too(env: MenuEnv) -> None:
    status = gather_status(env.memory, SystemState())
    assert (status.recording, status.last_event, status.sessions, status.attention) == (True, None, (), ())
    assert build_menu(status).icon == "recording"


def test_sessions_questions_and_the_last_event_are_reported(env: MenuEnv) -> None:
    session = env.work()
    question = env.memory.sessions.handoff(session, to="human", note="Which folder?")["question"]
    status = gather_status(env.memory, SystemState())
    assert [(one.id, one.title, one.folder) for one in status.sessions] == [
        (session, "Rename the invoices", "~")
    ]
    assert [(one.session, one.id, one.note) for one in status.questions] == [
        (session, question, "Which folder?")
    ]
    assert status.last_event is not None
    assert env.clock.at - status.last_event < HOUR


def test_a_pause_is_reported_with_its_end(env: MenuEnv) -> None:
    env.memory.recording.pause(HOUR)
    status = gather_status(env.memory, SystemState())
    assert status.recording is False
    assert status.paused_until is not None
    assert 0 < status.paused_until - status.now <= HOUR


def test_yesterday_has_a_headline(env: MenuEnv) -> None:
    env.work("s1", "Sort the photos")
    env.work("s2", "Rename the invoices")
    env.clock.at += DAY
    status = gather_status(env.memory, SystemState())
    assert (status.yesterday_name, status.yesterday) == ("Yesterday", "Rename the invoices, and 1 more")


def test_what_went_on_today_is_still_what_was_done_yesterday(env: MenuEnv) -> None:
    env.work("s1", "Sort the photos")
    env.clock.at += DAY
    env.work("s1", "Go on")
    status = gather_status(env.memory, SystemState())
    assert (status.yesterday_name, status.yesterday) == ("Yesterday", "Sort the photos")


def test_a_missing_permission_is_attention_with_the_way_to_mend_it(env: MenuEnv) -> None:
    status = gather_status(env.memory, SystemState(permitted=False))
    assert [one.permission for one in status.attention] == [True]
    assert "permissions" in build_menu(status).commands()
    assert gather_status(env.memory, SystemState(permitted=True)).attention == ()


def test_the_app_in_front_is_offered_until_it_is_excluded(env: MenuEnv) -> None:
    front = FrontApp("Notes", "com.example.notes")
    assert gather_status(env.memory, SystemState(front=front)).front == front
    env.memory.recording.exclude_app("Notes", "com.example.notes")
    assert gather_status(env.memory, SystemState(front=front)).front is None
    assert (
        gather_status(env.memory, SystemState(front=FrontApp("1Password", "com.1password.1password"))).front
        is None
    )


def test_a_store_that_cannot_be_used_is_attention_and_not_a_crash(env: MenuEnv) -> None:
    env.work()
    (env.config.home / PAUSE_FILE).write_text("not json")
    status = gather_status(env.memory, SystemState())
    assert (status.recording, build_menu(status).icon) == (False, "attention")
    assert "Nothing is recorded" in status.attention[0].what
    assert "resume" in status.attention[0].hint
