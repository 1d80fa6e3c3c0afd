"""The plan of bringing files back: what it does, what it refuses, what it cannot."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.model.rewinding import ABSENT, Hand, Held, Past, Plan, plan, step_from, step_json

AGENT, PERSON, UNKNOWN = Hand("agent", "s"), Hand("person", "s"), Hand("unknown")
OTHER = Hand("agent", "other")
OLD, NEW = Held("old"), Held("new")
LARGE = Held(reason="too large", identity="1:2:3:4")


def planned(*files: Past) -> list[tuple[str, str]]:
    return [(step.path, step.action) for step in plan(files, "s").steps]


def test_what_the_agent_changed_made_and_removed_goes_back() -> None:
    assert planned(
        Past("a", OLD, NEW, (AGENT,)), Past("b", ABSENT, NEW, (AGENT,)), Past("c", OLD, ABSENT, (AGENT,))
    ) == [("a", "restore"), ("b", "delete"), ("c", "recreate")]


def test_what_is_as_it_was_is_not_in_the_plan() -> None:
    assert planned(Past("a", OLD, OLD, (AGENT, PERSON)), Past("b", ABSENT, ABSENT, (AGENT,))) == []


def test_what_only_others_changed_is_left() -> None:
    assert planned(Past("a", OLD, NEW, (PERSON,)), Past("b", OLD, ABSENT, (OTHER,))) == [
        ("a", "keep"),
        ("b", "keep"),
    ]


def test_what_others_changed_too_is_refused_and_says_what_insisting_would_do() -> None:
    for other in (PERSON, UNKNOWN, OTHER):
        for hands in ((AGENT, other), (other, AGENT)):
            (step,) = plan([Past("a", OLD, NEW, hands)], "s").steps
            assert (step.action, step.would, step.by) == ("refuse", "restore", other.by)


def test_a_moved_file_is_renamed_back_even_when_its_content_is_not_kept() -> None:
    for held in (OLD, LARGE):
        (step,) = plan([Past("a", held, ABSENT, (AGENT,)), Past("sub/a", ABSENT, held, (AGENT,))], "s").steps
        assert (step.path, step.action, step.origin) == ("a", "rename_back", "sub/a")


def test_a_moved_file_that_a_person_touched_is_refused() -> None:
    files = [Past("a", OLD, ABSENT, (AGENT,)), Past("b", ABSENT, OLD, (AGENT, PERSON))]
    assert planned(*files) == [("a", "refuse")]


def test_what_was_not_kept_or_cannot_be_kept_first_is_said() -> None:
    steps = plan(
        [
            Past("a", None, NEW, (AGENT,)),
            Past("b", LARGE, ABSENT, (AGENT,)),
            Past("c", ABSENT, replace(LARGE, identity="9:9:9:9"), (AGENT,)),
            Past("d", OLD, NEW, (AGENT,), barred="it is a link"),
        ],
        "s",
    ).steps
    assert [step.action for step in steps] == ["cannot"] * 4
    assert "never read" in steps[0].why
    assert "too large" in steps[1].why
    assert "kept first: too large" in steps[2].why
    assert steps[3].why == "it is a link"


def test_renames_come_in_an_order_in_which_each_finds_its_name_free() -> None:
    one, two = Held("1"), Held("2")
    made = Plan(
        tuple(
            replace(step, path=path, origin=origin)
            for path, origin, step in zip(
                ("b", "a"), ("c", "b"),
                plan([Past("x", one, ABSENT, (AGENT,)), Past("y", ABSENT, one, (AGENT,)),
                      Past("v", two, ABSENT, (AGENT,)), Past("w", ABSENT, two, (AGENT,))], "s").steps,
                strict=True,
            )
        )
    )  # fmt: skip
    assert [(step.origin, step.path) for step in made.writes()] == [("b", "a"), ("c", "b")]


held = st.sampled_from([ABSENT, OLD, NEW, Held("third"), LARGE])
hands = st.lists(st.sampled_from([AGENT, PERSON, UNKNOWN, OTHER]), max_size=3).map(tuple)
pasts = st.lists(
    st.builds(Past, st.sampled_from("abcdef"), st.none() | held, held, hands), unique_by=lambda one: one.path
)


@given(pasts)
def test_nothing_is_written_that_others_changed_or_that_cannot_be_kept(files: list[Past]) -> None:
    made = plan(files, "s")
    known = {one.path: one for one in files}
    for step in made.steps:
        touched = [known[path] for path in (step.path, step.origin) if path is not None]
        if step.action in ("restore", "delete", "recreate", "rename_back"):
            assert all(hand == AGENT for one in touched for hand in one.hands)
        if step.does in ("restore", "delete"):
            assert known[step.path].now.digest is not None
    assert len({step.path for step in made.steps}) == len(made.steps)
    assert made.digest() == plan(reversed(files), "s").digest()


@given(pasts)
def test_a_step_survives_the_journal(files: list[Past]) -> None:
    for step in plan(files, "s").steps:
        assert step_from(step_json(step)) == step
