"""One table for the life of a session: every move from every state has an answer."""

from __future__ import annotations

import pytest

from fazm_memory.events.event import KINDS
from fazm_memory.events.kinds import (
    KIND_MOVES,
    LIFECYCLES,
    MOVES,
    PAST_PARTICIPLES,
    REFUSALS,
    TRANSITIONS,
    Lifecycle,
    Move,
    after_move,
    move_of,
    refusal_reason,
)


@pytest.mark.parametrize("state", LIFECYCLES)
@pytest.mark.parametrize("move", MOVES)
def test_every_move_from_every_state_leads_on_or_is_refused_with_a_reason(
    state: Lifecycle, move: Move
) -> None:
    reached = after_move(state, move)
    if reached is None:
        assert len(refusal_reason(state, move).split()) >= 3
        assert (state, move) not in TRANSITIONS
    else:
        assert reached in LIFECYCLES
        assert (state, move) not in REFUSALS


def test_every_state_can_be_reached_from_the_beginning() -> None:
    reached: set[Lifecycle] = {"open"}
    for _ in LIFECYCLES:
        reached |= {to for (state, _move), to in TRANSITIONS.items() if state in reached}
    assert reached == set(LIFECYCLES)


def test_nothing_is_a_dead_end() -> None:
    for state in LIFECYCLES:
        assert any(after_move(state, move) not in (None, state) for move in MOVES), state


def test_a_day_in_the_life_of_a_session() -> None:
    state: Lifecycle = "open"
    lived = [state]
    day: list[Move] = ["activity", "pause", "resume", "activity", "close", "archive", "restore", "resume"]
    for move in day:
        reached = after_move(state, move)
        assert reached is not None
        state = reached
        lived.append(state)
    assert lived == [
        "open", "active", "paused", "resumed", "active", "closed", "archived", "closed", "resumed",
    ]  # fmt: skip


def test_a_session_put_aside_takes_no_activity() -> None:
    for state in ("paused", "closed", "archived"):
        assert after_move(state, "activity") is None
        assert refusal_reason(state, "activity") == REFUSALS[state, "activity"]


def test_every_lifecycle_kind_is_a_move_and_every_other_kind_is_activity() -> None:
    assert set(KIND_MOVES) <= set(KINDS)
    assert {move_of(kind) for kind in KIND_MOVES} == set(MOVES) - {"activity"}
    assert {move_of(kind) for kind in set(KINDS) - set(KIND_MOVES)} == {"activity"}


def test_every_move_has_a_word_for_its_being_done() -> None:
    assert set(PAST_PARTICIPLES) == set(MOVES)
