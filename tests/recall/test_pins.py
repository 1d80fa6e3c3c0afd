"""A pin lasts: what a person pinned is given first, also when a session's bounded state has long let go of
it, until it is forgotten, held back, gone back behind, done or taken back."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.model.state import BOUNDS
from fazm_memory.recall.context_file import Context
from tests.recall.conftest import Desk


def begun(desk: Desk, kind: str, **payload: Any) -> str:
    """A session of the 14th that says one thing first, which is then pinned; the item's id."""
    desk.at("2026-11-14T10:00:00+00:00").say("s", "prompt", text="tidy up")
    desk.say("s", kind, **payload)
    named = {"handoff": "question", "action": "failed", "prompt": "request"}.get(kind, kind)
    of = desk.session("s")["id"][:8]
    name = payload.get("key") or payload.get("id") or desk.session("s")["events"] - 1
    item = f"{of}:{named}:{name}"
    desk.choose(item, "pin")
    return item


def many(desk: Desk, kind: str, table: str, **payload: Any) -> None:
    """So many more of a kind that the state keeps none of the first."""
    for n in range(BOUNDS[table] + 5):
        desk.say("s", kind, **{name: str(value).replace("#", str(n)) for name, value in payload.items()})


def given(context: Context) -> list[str]:
    return [item.id for item in context.included]


def text_of(desk: Desk, item: str) -> list[str]:
    return [one.text for one in desk.context("/w").included if one.id == item]


MORE: list[tuple[str, str, dict[str, Any], dict[str, Any], str]] = [
    ("decision", "decisions_made", {"what": "by month", "why": "found so"}, {"what": "other #"},
     'decided "by month" because "found so" [agent]'),
    ("fact", "facts", {"key": "naming", "value": "date first"}, {"key": "other #", "value": "#"},
     'fact "naming" = "date first" [agent]'),
    ("pending", "pending_actions", {"id": "p", "what": "the rest"}, {"id": "other#", "what": "other #"},
     'still to do: "the rest" [agent]'),
    ("handoff", "questions", {"id": "q", "to": "human", "note": "which year?"},
     {"id": "other#", "to": "human", "note": "other #"}, 'question for the user: "which year?"'),
    ("action", "errors", {"tool": "Bash", "input": {"command": "make"}, "outcome": "error", "error": "no"},
     {"tool": "Bash", "input": "other #", "outcome": "error", "error": "no"},
     'Bash "make" error: "no"; not mended'),
    ("prompt", "requests", {"text": "never touch 2025"}, {"text": "other #"},
     'also asked: "never touch 2025" [user]'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "table", "first", "more", "text"), MORE, ids=[one[0] for one in MORE])
def test_what_is_pinned_outlives_the_bounds_of_the_state(
    desk: Desk, kind: str, table: str, first: dict[str, Any], more: dict[str, Any], text: str
) -> None:
    item = begun(desk, kind, **first)
    many(desk, kind, table, **more)
    for day in ("14T11", "15T09", "20T09"):  # told with its day, with the day before, and long after
        desk.at(f"2026-11-{day}:00:00+00:00")
        assert given(desk.context("/w"))[0] == item
        assert text_of(desk, item) == [text]
        desk.choose(item, None)
        assert item not in given(desk.context("/w"))
        desk.choose(item, "pin")


def test_a_pinned_answer_outlives_the_bounds_of_the_state(desk: Desk) -> None:
    begun(desk, "handoff", id="q", to="human", note="which year?")
    desk.answer("s", "q", "2025")
    item = f"{desk.session('s')['id'][:8]}:answered:q"
    desk.choose(item, "pin")
    for n in range(BOUNDS["answered"] + 1):
        desk.say("s", "handoff", id=f"o{n}", to="human", note="?")
        desk.answer("s", f"o{n}", "yes")
    assert given(desk.context("/w"))[0] == item
    (text,) = text_of(desk, item)
    assert text.startswith('question "which year?": answered "2025"')


def test_what_is_pinned_goes_when_it_is_forgotten_held_back_or_gone_back_behind(desk: Desk) -> None:
    item = begun(desk, "decision", what="by month")
    many(desk, "decision", "decisions_made", what="other #")
    desk.quarantine("s", seq=2)
    assert text_of(desk, item) == []
    desk.quarantine("s", seq=2, lift=True)
    assert len(text_of(desk, item)) == 1
    desk.rewind("s", 2)
    many(desk, "decision", "decisions_made", what="again #")
    assert text_of(desk, item) == []
    desk.rewind("s", 100)
    many(desk, "decision", "decisions_made", what="on #")
    assert len(text_of(desk, item)) == 1
    desk.forget("s", seqs=[2])
    assert text_of(desk, item) == []


@pytest.mark.parametrize(
    ("kind", "table", "first", "more", "after"),
    [
        (*MORE[1][:4], ("fact.retract", {"key": "naming"})),
        (*MORE[2][:4], ("pending.done", {"id": "p"})),
        (*MORE[3][:4], ("handoff.answer", {"id": "q", "answer": "2025"})),
        (*MORE[4][:4], ("action", {"tool": "Bash", "input": {"command": "make"}})),
    ],
    ids=["fact", "pending", "question", "failed"],
)
def test_what_is_pinned_and_done_is_not_told_as_open(
    desk: Desk, kind: str, table: str, first: dict[str, Any], more: dict[str, Any], after: tuple[str, Any]
) -> None:
    item = begun(desk, kind, **first)
    many(desk, kind, table, **more)
    assert len(text_of(desk, item)) == 1
    desk.say("s", after[0], **after[1])
    assert text_of(desk, item) == []


def test_a_later_word_on_a_pinned_fact_is_what_is_told(desk: Desk) -> None:
    item = begun(desk, "fact", key="naming", value="date first")
    desk.say("s", "fact", key="naming", value="date last")
    many(desk, "fact", "facts", key="other #", value="#")
    assert text_of(desk, item) == ['fact "naming" = "date last" [agent]']


def test_what_a_fork_inherited_stays_pinned_in_it(desk: Desk) -> None:
    begun(desk, "decision", what="by month")
    fork = desk.fork("s", at=3)["id"]
    item = f"{fork[:8]}:decision:2"
    desk.choose(item, "pin")
    desk.tell(fork, "prompt", text="go on")
    desk.tell(fork, "prompt", text="and on")
    for n in range(BOUNDS["decisions_made"] + 5):
        desk.tell(fork, "decision", what=f"other {n}")
    assert text_of(desk, item) == ['decided "by month" [agent]']
    desk.forget("s", seqs=[2])
    assert text_of(desk, item) == []


@pytest.mark.parametrize("name", ["x", "decision", "decision:" + "9" * 5000], ids=["x", "kind", "digits"])
def test_a_choice_that_names_no_item_hinders_no_context(desk: Desk, name: str) -> None:
    kept = begun(desk, "decision", what="by month")
    desk.choose(f"{kept.partition(':')[0]}:{name}", "pin")
    assert text_of(desk, kept) == ['decided "by month" [agent]']


def test_pins_come_before_all_else_and_what_of_them_does_not_fit_is_said(desk: Desk) -> None:
    desk.at("2026-11-14T10:00:00+00:00")
    for n in range(12):
        desk.say("s", "decision", what=f"choice {n} " + "long " * 25)
        desk.say(f"other {n % 4}", "prompt", text="a request that wants its heading " * 6)
    of = desk.session("s")["id"][:8]
    pins = [f"{of}:decision:{seq}" for seq in range(1, 13)]
    for item in pins[:2]:
        desk.choose(item, "pin")
    told = desk.context("/w", budget=400)
    assert sorted(given(told)[:2]) == pins[:2]
    assert "pinned" not in told.text
    rows = [line for line in told.text.splitlines() if line.startswith("  - decided")]
    assert [one[13:21] for one in rows[:2]] == ["choice 1", "choice 0"]
    for item in pins:
        desk.choose(item, "pin")
    told = desk.context("/w", budget=400)
    left = told.data["pins_left_out"]
    assert 0 < left < 12
    assert set(given(told)) < set(pins)
    assert f"Left out for space: {told.data['left_out']}, {left} of them pinned by the user" in told.text
    assert told.data["tokens"] <= 400
    why = {one["id"]: one["why"] for one in told.data["items"]}
    assert why[told.included[0].id] == "you pinned it"
    assert why[told.left_out[0].id] == "you pinned it, but all pins together do not fit"
