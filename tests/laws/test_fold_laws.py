"""The fold is a fold: it can be cut anywhere, kept anywhere, and stays small whatever goes in."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fazm_memory.model import diff, payloads
from fazm_memory.model.events import Event
from fazm_memory.model.fold import delta, fold, initial
from fazm_memory.model.inheritance import interrupted
from fazm_memory.model.lifecycle import LIFECYCLES
from fazm_memory.model.state import BOUNDS, SessionState, from_snapshot, to_json, to_snapshot
from fazm_memory.model.trust import RANK
from tests.laws.strategies import histories
from tests.scribe import event


def start() -> SessionState:
    return initial("s")


def same(one: SessionState, other: SessionState) -> bool:
    """Equal to the byte: the order of the tables is part of a state, since the oldest goes first."""
    return one == other and to_snapshot(one) == to_snapshot(other)


@given(history=histories(), data=st.data())
def test_folding_in_two_parts_is_folding_at_once(history: list[Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(history)))
    assert same(fold(fold(start(), history[:cut]), history[cut:]), fold(start(), history))


@given(history=histories())
def test_folding_one_by_one_is_folding_at_once(history: list[Event]) -> None:
    state = start()
    for one in history:
        state = fold(state, [one])
    assert same(state, fold(start(), history))


@given(history=histories(), data=st.data())
def test_a_snapshot_and_the_tail_are_the_full_fold(history: list[Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(history)))
    kept = from_snapshot(to_snapshot(fold(start(), history[:cut])))
    assert same(fold(kept, history[cut:]), fold(start(), history))


@given(history=histories())
def test_folding_leaves_the_state_it_began_with_alone(history: list[Event]) -> None:
    before = fold(start(), history)
    kept = to_snapshot(before)
    fold(before, history)
    assert to_snapshot(before) == kept


@given(history=histories())
def test_a_fold_ends_after_its_last_event_in_a_life_that_exists(history: list[Event]) -> None:
    state = fold(start(), history)
    assert state.at == len(history)
    assert state.lifecycle in LIFECYCLES
    assert RANK[state.trust] <= min((RANK[one.trust] for one in history if one.payload), default=RANK["user"])
    assert state.counts.get("forgotten", 0) == sum(one.payload is None for one in history)


@given(history=histories())
def test_no_table_of_a_state_outgrows_its_bound(history: list[Event]) -> None:
    state = fold(start(), history)
    for name, bound in BOUNDS.items():
        assert len(getattr(state, name)) <= bound
        assert len(getattr(interrupted(state), name)) <= bound


def unordered(told: dict[str, Any]) -> dict[str, Any]:
    """Which file was touched last is no difference worth a word: lists are compared as sets."""
    return {key: sorted(map(str, one)) if isinstance(one, list) else one for key, one in told.items()}


@given(history=histories(max_size=12), data=st.data())
def test_a_diff_names_what_one_state_has_and_the_other_has_not(
    history: list[Event], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(history)))
    before, after = fold(start(), history[:cut]), fold(start(), history)
    told = diff.compare(before, after, history[cut:])
    assert (told["from"], told["to"]) == (cut, len(history))
    old, new = (unordered(to_json(state)) for state in (before, after))
    for key in set(old) - diff.NOT_COMPARED:
        said = any(key in told[side] for side in ("added", "removed", "changed"))
        assert said == (old[key] != new[key]), key


@given(history=histories(max_size=8))
def test_nothing_differs_between_a_state_and_itself(history: list[Event]) -> None:
    state = fold(start(), history)
    told = diff.compare(state, state)
    assert (told["added"], told["removed"], told["changed"], told["because"]) == ({}, {}, {}, [])


@given(history=histories(max_size=8))
def test_every_event_can_tell_its_own_delta(history: list[Event]) -> None:
    for one in history:
        assert set(delta(one)) <= set(to_json(start()))


ENOUGH = 17 * 471  # events after which every table is full


def endless(n: int) -> Any:
    """The n-th event of an agent that never stops and never repeats itself."""
    wide = "x" * 6_000
    return [
        payloads.Handoff(f"w{n}", "agent", wide),
        payloads.HandoffAnswer(f"w{n - 1}", wide),
        payloads.Action(
            f"tool {n}", outcome="error", error=wide, call_id=f"c{n}",
            files=(
                payloads.FileTouch(f"/w/{n}/a", "created", why=wide, inferred=True),
                payloads.FileTouch(f"/w/{n}/b", "read"),
            ),
        ),
        payloads.ActionStart(f"tool {n}", input=wide, call_id=f"s{n}"),
        payloads.Decision(wide, wide, (wide,) * 40),
        payloads.Fact(f"k{n}", wide),
        payloads.Fact(f"d{n}", {"deep": [wide] * 3}),
        payloads.Pending(f"p{n}", wide),
        payloads.FileChange(f"/v/{n}", "renamed", origin=f"/u/{n}", evidence=wide),
        payloads.Seen(f"/f/{n}", tuple(f"{k}.txt" for k in range(20))),
        payloads.Evicted((f"e{n}", f"e-{n}"), wide),
        payloads.Handoff(f"h{n}", "human", wide, {"title": wide}),
        payloads.AppSpan(f"app {n}", wide, wide),
        payloads.SessionTitle(wide),
        payloads.Gap(wide, "x", "y", wide),
        payloads.Usage(1, 2, 3),
        payloads.Prompt(wide),
    ][n % 17]  # fmt: skip


def test_a_state_stays_small_however_long_the_log_is() -> None:
    """All that can be cut is cut: what is left is names times bounds."""
    state = start()
    sizes = []
    for first in (0, ENOUGH):
        told = (event(endless(n), n, trust="web") for n in range(first, first + ENOUGH))
        state = fold(state, told)
        sizes.append(len(to_snapshot(state)))
    assert sizes[-1] <= sizes[0] * 1.05
    assert sizes[-1] < 2_500_000
    assert {name: len(getattr(state, name)) for name in BOUNDS} == BOUNDS


@settings(max_examples=20)
@given(history=histories(("prompt", "message", "decision", "fact"), max_size=10), seed=st.integers(0, 3))
def test_what_was_omitted_is_counted(history: list[Event], seed: int) -> None:
    bound = BOUNDS["errors"]
    more = [event(payloads.Action("t", outcome="error"), len(history) + n) for n in range(bound + seed)]
    state = fold(start(), [*history, *more])
    assert len(state.errors) == bound
    failures = state.counts["failures"]
    assert state.omitted.get("errors", 0) == failures - bound
