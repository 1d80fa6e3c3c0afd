"""The status is gathered from a real store, and trouble with the store is part of it."""

from __future__ import annotations

from fazm_memory.capture import recording
from fazm_memory.menubar.labels import DAY, HOUR
from fazm_memory.menubar.menu import menu
from fazm_memory.menubar.status import App, Surroundings, gather
from tests.menubar.conftest import Desk


def test_a_memory_that_is_empty_has_a_status_too(desk: Desk) -> None:
    status = gather(desk.memory, Surroundings())
    assert (status.recording, status.last_event, status.sessions, status.attention) == (True, None, (), ())
    assert menu(status).icon == "recording"


def test_sessions_questions_and_the_last_event_are_told(desk: Desk) -> None:
    session = desk.work()
    question = desk.memory.handoff(session, to="human", note="Which folder?")["question"]
    status = gather(desk.memory, Surroundings())
    assert [(one.id, one.title, one.folder) for one in status.sessions] == [
        (session, "Rename the invoices", "~")
    ]
    assert [(one.session, one.id, one.note) for one in status.questions] == [
        (session, question, "Which folder?")
    ]
    assert status.last_event is not None
    assert desk.clock.at - status.last_event < HOUR


def test_a_pause_is_told_with_its_end(desk: Desk) -> None:
    desk.memory.pause_recording(HOUR)
    status = gather(desk.memory, Surroundings())
    assert status.recording is False
    assert status.paused_until is not None
    assert 0 < status.paused_until - status.now <= HOUR


def test_yesterday_has_a_headline(desk: Desk) -> None:
    desk.work("s1", "Sort the photos")
    desk.work("s2", "Rename the invoices")
    desk.clock.at += DAY
    status = gather(desk.memory, Surroundings())
    assert (status.yesterday_name, status.yesterday) == ("Yesterday", "Rename the invoices, and 1 more")


def test_what_went_on_today_is_still_what_was_done_yesterday(desk: Desk) -> None:
    desk.work("s1", "Sort the photos")
    desk.clock.at += DAY
    desk.work("s1", "Go on")
    status = gather(desk.memory, Surroundings())
    assert (status.yesterday_name, status.yesterday) == ("Yesterday", "Sort the photos")


def test_a_missing_permission_is_attention_with_the_way_to_mend_it(desk: Desk) -> None:
    status = gather(desk.memory, Surroundings(permitted=False))
    assert [one.permission for one in status.attention] == [True]
    assert "permissions" in menu(status).commands()
    assert gather(desk.memory, Surroundings(permitted=True)).attention == ()


def test_the_app_in_front_is_offered_until_it_is_excluded(desk: Desk) -> None:
    front = App("Notes", "com.example.notes")
    assert gather(desk.memory, Surroundings(front=front)).front == front
    desk.memory.exclude_app("Notes", "com.example.notes")
    assert gather(desk.memory, Surroundings(front=front)).front is None
    assert gather(desk.memory, Surroundings(front=App("1Password", "com.1password.1password"))).front is None


def test_a_store_that_cannot_be_used_is_attention_and_not_a_crash(desk: Desk) -> None:
    desk.work()
    (desk.config.home / recording.FILE).write_text("not json")
    status = gather(desk.memory, Surroundings())
    assert (status.recording, menu(status).icon) == (False, "attention")
    assert "nothing is recorded" in status.attention[0].what
    assert "resume" in status.attention[0].hint
