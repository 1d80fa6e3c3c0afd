"""The plan of bringing files back: what it does, what it refuses, what it cannot."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.rewind.plan import (
    ABSENT,
    Author,
    FileContent,
    FileHistory,
    RewindPlan,
    make_plan,
    step_from_json,
    step_json,
)
from fazm_memory.store import REWIND

AGENT, PERSON, UNKNOWN = Author("agent", "s"), Author("person", "s"), Author("unknown")
OTHER = Author("agent", "other")
OLD, NEW = FileContent("old"), FileContent("new")
LARGE = FileContent(reason="too large", identity="1:2:3:4")


def planned(*files: FileHistory) -> list[tuple[str, str]]:
    return [(step.path, step.action) for step in make_plan(files, "s").steps]


def test_what_the_agent_changed_made_and_removed_goes_back() -> None:
    assert planned(
        FileHistory("a", OLD, NEW, (AGENT,)),
        FileHistory("b", ABSENT, NEW, (AGENT,)),
        FileHistory("c", OLD, ABSENT, (AGENT,)),
    ) == [("a", "restore"), ("b", "delete"), ("c", "recreate")]


def test_what_is_as_it_was_is_not_in_the_plan() -> None:
    assert (
        planned(FileHistory("a", OLD, OLD, (AGENT, PERSON)), FileHistory("b", ABSENT, ABSENT, (AGENT,))) == []
    )


def test_what_only_others_changed_is_left() -> None:
    assert planned(FileHistory("a", OLD, NEW, (PERSON,)), FileHistory("b", OLD, ABSENT, (OTHER,))) == [
        ("a", "keep"),
        ("b", "keep"),
    ]


def test_what_others_changed_too_is_refused_and_says_what_insisting_would_do() -> None:
    for other in (PERSON, UNKNOWN, OTHER):
        for hands in ((AGENT, other), (other, AGENT)):
            (step,) = make_plan([FileHistory("a", OLD, NEW, hands)], "s").steps
            assert (step.action, step.would, step.by) == ("refuse", "restore", other.by)


def test_a_moved_file_is_renamed_back_even_when_its_content_is_not_kept() -> None:
    for held in (OLD, LARGE):
        (step,) = make_plan(
            [FileHistory("a", held, ABSENT, (AGENT,)), FileHistory("sub/a", ABSENT, held, (AGENT,))], "s"
        ).steps
        assert (step.path, step.action, step.origin) == ("a", "rename_back", "sub/a")


def test_a_moved_file_without_a_snapshot_is_renamed_back_if_nothing_changed_it_since() -> None:
    gone = FileHistory("a", None, ABSENT, (AGENT,))
    there = FileHistory("b", ABSENT, NEW, (AGENT,), moved_from="a")
    (step,) = make_plan([gone, there], "s").steps
    assert (step.path, step.action, step.origin) == ("a", "rename_back", "b")
    assert step.was == NEW
    again = replace(there, hands=(AGENT, Author(REWIND, "s"), Author(REWIND, "s")))  # taken back and undone
    assert planned(gone, again) == [("a", "rename_back")]


def test_a_moved_file_without_a_snapshot_is_never_removed() -> None:
    gone = FileHistory("a", None, ABSENT, (AGENT,))
    edited = FileHistory("b", ABSENT, NEW, (AGENT, AGENT), moved_from="a")
    assert planned(gone, edited) == [("a", "cannot"), ("b", "cannot")]
    assert planned(gone, replace(edited, hands=(AGENT,), claimed=True)) == [("a", "refuse")]


def test_a_moved_and_edited_file_with_a_snapshot_goes_back_to_its_old_content() -> None:
    gone = FileHistory("a", OLD, ABSENT, (AGENT,))
    edited = FileHistory("b", ABSENT, NEW, (AGENT, AGENT), moved_from="a")
    assert planned(gone, edited) == [("a", "recreate"), ("b", "delete")]


def test_a_moved_file_that_a_person_touched_is_refused() -> None:
    files = [FileHistory("a", OLD, ABSENT, (AGENT,)), FileHistory("b", ABSENT, OLD, (AGENT, PERSON))]
    assert planned(*files) == [("a", "refuse")]


def test_a_file_that_others_renamed_is_one_step_and_never_a_deletion() -> None:
    for other in (PERSON, UNKNOWN, OTHER):
        files = [FileHistory("a", OLD, ABSENT, (other,)), FileHistory("b", ABSENT, OLD, (other,))]
        (left,) = make_plan(files, "s").steps
        assert (left.path, left.action, left.origin) == ("a", "keep", "b")
        assert left.why.startswith("renamed since by ")
        (step,) = make_plan(files, "s", everyone=True).steps
        assert (step.action, step.would, step.origin) == ("refuse", "rename_back", "b")


def test_a_copy_made_by_a_person_is_not_the_file_that_the_agent_deleted() -> None:
    files = [FileHistory("a", OLD, ABSENT, (AGENT,)), FileHistory("b", ABSENT, OLD, (PERSON,))]
    assert planned(*files) == [("a", "recreate"), ("b", "keep")]


def test_what_was_not_kept_or_cannot_be_kept_first_is_reported() -> None:
    steps = make_plan(
        [
            FileHistory("a", None, NEW, (AGENT,)),
            FileHistory("b", LARGE, ABSENT, (AGENT,)),
            FileHistory("c", ABSENT, replace(LARGE, identity="9:9:9:9"), (AGENT,)),
            FileHistory("d", OLD, NEW, (AGENT,), barred="it is a link"),
        ],
        "s",
    ).steps
    assert [step.action for step in steps] == ["cannot"] * 4
    assert "No snapshot" in steps[0].why
    assert "too large" in steps[1].why
    assert "kept first: too large" in steps[2].why
    assert steps[3].why == "it is a link"


def test_renames_come_in_an_order_in_which_each_finds_its_name_free() -> None:
    one, two = FileContent("1"), FileContent("2")
    made = RewindPlan(
        tuple(
            replace(step, path=path, origin=origin)
            for path, origin, step in zip(
                ("b", "a"), ("c", "b"),
                make_plan([FileHistory("x", one, ABSENT, (AGENT,)), FileHistory("y", ABSENT, one, (AGENT,)),
                           FileHistory("v", two, ABSENT, (AGENT,)),
                           FileHistory("w", ABSENT, two, (AGENT,))], "s").steps,
                strict=True,
            )
        )
    )  # fmt: skip
    assert [(step.origin, step.path) for step in made.writes()] == [("b", "a"), ("c", "b")]


held = st.sampled_from([ABSENT, OLD, NEW, FileContent("third"), LARGE])
hands = st.lists(st.sampled_from([AGENT, PERSON, UNKNOWN, OTHER]), max_size=3).map(tuple)
pasts = st.lists(
    st.builds(FileHistory, st.sampled_from("abcdef"), st.none() | held, held, hands),
    unique_by=lambda one: one.path,
)


@given(pasts)
def test_nothing_is_written_that_others_changed_or_that_cannot_be_kept(files: list[FileHistory]) -> None:
    made = make_plan(files, "s")
    known = {one.path: one for one in files}
    for step in made.steps:
        touched = [known[path] for path in (step.path, step.origin) if path is not None]
        if step.action in ("restore", "delete", "recreate", "rename_back"):
            assert all(hand == AGENT for one in touched for hand in one.hands)
        if step.does in ("restore", "delete"):
            assert known[step.path].now.digest is not None
    assert len({step.path for step in made.steps}) == len(made.steps)
    assert made.digest() == make_plan(reversed(files), "s").digest()


@given(pasts)
def test_a_step_survives_the_journal(files: list[FileHistory]) -> None:
    for step in make_plan(files, "s").steps:
        assert step_from_json(step_json(step)) == step
