"""What is worth a notification: each thing once, and nothing on the first look."""

from __future__ import annotations

from dataclasses import replace

from fazm_memory.menubar.status import MOST, Problem, Question, SessionLine, Status, new_notices

NOW = 1_790_000_000_000_000
CALM = Status(NOW, sessions=(SessionLine("a1", "Rename the invoices", "fazm", "/w", "w", NOW),))
ASKED = replace(CALM, questions=(Question("a1", "q1", "Which folder?", "Rename the invoices"),))


def test_nothing_is_news_on_the_first_look_nor_when_nothing_changed() -> None:
    assert new_notices(None, ASKED) == []
    assert new_notices(ASKED, ASKED) == []


def test_a_question_is_reported_once_and_leads_to_its_session() -> None:
    (notice,) = new_notices(CALM, ASKED)
    assert (notice.id, notice.route) == ("question-a1-q1", "#/s/a1")
    assert notice.text == "Which folder?"


def test_trouble_is_reported_when_it_comes_and_not_when_it_goes() -> None:
    broken = replace(CALM, attention=(Problem("the store is damaged"),))
    (notice,) = new_notices(CALM, broken)
    assert (notice.title, notice.text) == ("Fazm Memory needs attention", "the store is damaged")
    assert new_notices(broken, CALM) == []


def test_a_session_that_ended_is_summed_up() -> None:
    ended = replace(CALM.sessions[0], lifecycle="closed", actions=12, failures=1, files=5)
    (notice,) = new_notices(CALM, replace(CALM, sessions=(ended,)))
    assert notice.title == "Done: Rename the invoices"
    assert notice.text == "12 actions, 5 files changed, 1 failed in w."
    assert new_notices(replace(CALM, sessions=(ended,)), replace(CALM, sessions=(ended,))) == []


def test_a_session_first_seen_when_it_had_ended_is_no_news() -> None:
    old = SessionLine("b2", "Of last year", "codex", None, None, NOW, lifecycle="closed")
    assert new_notices(CALM, replace(CALM, sessions=(*CALM.sessions, old))) == []


def test_a_pile_of_news_is_cut() -> None:
    many = tuple(Question("a1", f"q{n}", "Which?") for n in range(20))
    assert len(new_notices(CALM, replace(CALM, questions=many))) == MOST
