"""Finding the place in a script from a conversation's history alone."""

from __future__ import annotations

from tests.e2e.model_server.plan import Cue, Utterance, call_id, find_cue, summary_at

PROMPT = "File the scans."
ASKED = Utterance(by_user=True, texts=("<reminder>Be brief.</reminder>", PROMPT))
CALLED = Utterance(by_user=False, call_ids=(call_id("toolu", 0),))


def test_a_prompt_alone_starts_its_script_and_each_turn_made_moves_it_on() -> None:
    assert find_cue([ASKED], [PROMPT]) == Cue(PROMPT, 0)
    assert find_cue([ASKED, CALLED], [PROMPT]) == Cue(PROMPT, 1)


def test_several_calls_of_one_turn_move_the_script_on_by_one() -> None:
    together = Utterance(by_user=False, call_ids=(call_id("toolu", 3), call_id("toolu", 3)))

    assert find_cue([ASKED, together], [PROMPT]) == Cue(PROMPT, 4)


def test_the_last_prompt_counts_in_a_conversation_that_was_resumed() -> None:
    again = Utterance(by_user=True, texts=("Are they there?",))

    assert find_cue([ASKED, CALLED, again], [PROMPT, "Are they there?"]) == Cue("Are they there?", 0)


def test_a_prompt_quoted_inside_other_text_does_not_start_its_script_again() -> None:
    quoted = Utterance(by_user=True, texts=(f"Yesterday you were asked: {PROMPT}",))

    assert find_cue([ASKED, CALLED, quoted], [PROMPT]) == Cue(PROMPT, 1)


def test_a_bookmark_leads_on_only_from_the_summary_a_client_made_of_the_past() -> None:
    bookmark = summary_at(Cue(PROMPT, 2))

    assert find_cue([Utterance(by_user=True, texts=(bookmark,), is_summary=True)], [PROMPT]) == Cue(PROMPT, 2)
    assert find_cue([ASKED, Utterance(by_user=True, texts=(bookmark,))], [PROMPT]) == Cue(PROMPT, 0)
