"""The fold is a fold: it can be cut anywhere, kept anywhere, and stays small whatever goes in."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fazm_memory.events import event as payloads
from fazm_memory.events.event import Event
from fazm_memory.events.kinds import LIFECYCLES, TRUST_RANK
from fazm_memory.session import diff
from fazm_memory.session.reducer import event_delta, fold, initial_state, interrupt_running
from fazm_memory.session.state import BOUNDS, SessionState, from_snapshot, state_to_json, to_snapshot
from tests.laws.strategies import histories
from tests.scribe import event


def start() -> SessionState:
    return initial_state("s")


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
    assert TRUST_RANK[state.trust] <= min(
        (TRUST_RANK[one.trust] for one in history if one.payload), default=TRUST_RANK["user"]
    )
    assert state.counts.get("forgotten", 0) == sum(one.payload is None for one in history)


@given(history=histories())
def test_no_table_of_a_state_outgrows_its_bound(history: list[Event]) -> None:
    state = fold(start(), history)
    for name, bound in BOUNDS.items():
        assert len(getattr(state, name)) <= bound
        assert len(getattr(interrupt_running(state), name)) <= bound


def unordered(results: dict[str, Any]) -> dict[str, Any]:
    """Which file was touched last is no difference worth a word: lists are compared as sets."""
    return {key: sorted(map(str, one)) if isinstance(one, list) else one for key, one in results.items()}


@given(history=histories(max_size=12), data=st.data())
def test_a_diff_names_what_one_state_has_and_the_other_has_not(
    history: list[Event], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(history)))
    before, after = fold(start(), history[:cut]), fold(start(), history)
    results = diff.compare(before, after, history[cut:])
    assert (results["from"], results["to"]) == (cut, len(history))
    old, new = (unordered(state_to_json(state)) for state in (before, after))
    for key in set(old) - diff.NOT_COMPARED:
        reply = any(key in results[side] for side in ("added", "removed", "changed"))
        assert reply == (old[key] != new[key]), key


@given(history=histories(max_size=8))
def test_nothing_differs_between_a_state_and_itself(history: list[Event]) -> None:
    state = fold(start(), history)
    result = diff.compare(state, state)
    assert (result["added"], result["removed"], result["changed"], result["because"]) == ({}, {}, {}, [])


@given(history=histories(max_size=8))
def test_every_event_can_tell_its_own_delta(history: list[Event]) -> None:
    for one in history:
        assert set(event_delta(one)) <= set(state_to_json(start()))


KINDS = 29
ENOUGH = KINDS * 471  # events after which every table is full


# Tables that only work in a repository fills.
OF_A_REPOSITORY = {
    "branches", "commits", "pull_requests", "references", "checks", "uncommitted", "notes", "unresolved",
    "turn_starts", "stashed", "settled", "heads",
}  # fmt: skip


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
        payloads.FolderListing(f"/f/{n}", tuple(f"{k}.txt" for k in range(20))),
        payloads.Evicted((f"e{n}", f"e-{n}"), wide),
        payloads.Handoff(f"h{n}", "human", wide, {"title": wide}),
        payloads.AppSpan(f"app {n}", wide, wide),
        payloads.SessionTitle(wide),
        payloads.Gap(wide, "x", "y", wide),
        payloads.Usage(1, 2, 3),
        payloads.Prompt(wide),
        payloads.Prompt(f"write down what we have so far in notes.md, as REF-{n} asks"),
        payloads.Action("Write", files=(payloads.FileTouch(f"/w/{n}.md", "created"),)),
        payloads.Branch(f"branch {n} {wide}"),
        payloads.Action("Bash", {"command": f"pytest test_{n}.py {wide}"}, wide),
        payloads.Action("Bash", {"command": f"git add none && git commit -m {wide}"}, f"[b {n:07x}] {wide}"),
        payloads.Action("Bash", {"command": f"gh pr view {n}"}),
        payloads.Plan(wide, text=wide),
        payloads.Todos(tuple(payloads.TodoItem(wide) for _ in range(150))),
        payloads.Artifact(f"a{n}", items=tuple(payloads.ArtifactItem(wide, note=wide) for _ in range(150))),
        payloads.Action("Fetch", {"url": f"https://host-{n}.example/{wide}"}, retry_of=max(0, n - 40)),
        payloads.BudgetPassed("tokens", 1.0, 2.0),
        payloads.Message(f"{wide}\n\n1. {wide}\n2. {wide}\n\nWhich {wide}?"),
    ][n % KINDS]  # fmt: skip


def test_a_state_stays_small_however_long_the_log_is() -> None:
    """All that can be cut is cut: what is left is names times bounds."""
    state = fold(start(), [event(payloads.SessionOpen("agent", workspace="/w"))])
    sizes = []
    for first in (0, ENOUGH):
        result = (event(endless(n), n, trust="web") for n in range(first, first + ENOUGH))
        state = fold(state, result)
        sizes.append(len(to_snapshot(state)))
    assert sizes[-1] <= sizes[0] * 1.05
    assert sizes[-1] < 2_900_000
    lengths = {name: len(getattr(state, name)) for name in BOUNDS}
    assert all(lengths[name] <= BOUNDS[name] for name in BOUNDS)
    assert {name for name in BOUNDS if lengths[name] < BOUNDS[name]} <= OF_A_REPOSITORY


@settings(max_examples=20)
@given(history=histories(("prompt", "message", "decision", "fact"), max_size=10), seed=st.integers(0, 3))
def test_what_was_omitted_is_counted(history: list[Event], seed: int) -> None:
    bound = BOUNDS["errors"]
    more = [event(payloads.Action("t", outcome="error"), len(history) + n) for n in range(bound + seed)]
    state = fold(start(), [*history, *more])
    assert len(state.errors) == bound
    failures = state.counts["failures"]
    assert state.omitted.get("errors", 0) == failures - bound
