"""A pin lasts: what a person pinned is given first, also when a session's bounded state has long let go of
it, until it is forgotten, held back, gone back behind, done or taken back."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.recall.context import Context
from fazm_memory.session.state import BOUNDS
from tests.recall.conftest import ClockedMemory


def begun(memory: ClockedMemory, kind: str, **payload: Any) -> str:
    """A session of the 14th that says one thing first, which is then pinned; the item's id."""
    memory.at("2026-11-14T10:00:00+00:00").say("s", "prompt", text="tidy up")
    memory.say("s", kind, **payload)
    named = {"handoff": "question", "action": "failed", "prompt": "request"}.get(kind, kind)
    of = memory.sessions.get("s")["id"][:8]
    name = payload.get("key") or payload.get("id") or memory.sessions.get("s")["events"] - 1
    item = f"{of}:{named}:{name}"
    memory.recall.choose_item(item, "pin")
    return item


def many(memory: ClockedMemory, kind: str, table: str, **payload: Any) -> None:
    """So many more of a kind that the state keeps none of the first."""
    for n in range(BOUNDS[table] + 5):
        memory.say("s", kind, **{name: str(value).replace("#", str(n)) for name, value in payload.items()})


def given(context: Context) -> list[str]:
    return [item.id for item in context.included]


def text_of(memory: ClockedMemory, item: str) -> list[str]:
    return [one.text for one in memory.recall.context("/w").included if one.id == item]


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
     'Bash "make" error: "no"; unresolved'),
    ("prompt", "requests", {"text": "never touch 2025"}, {"text": "other #"},
     '"never touch 2025"'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "table", "first", "more", "text"), MORE, ids=[one[0] for one in MORE])
def test_what_is_pinned_outlives_the_bounds_of_the_state(
    memory: ClockedMemory, kind: str, table: str, first: dict[str, Any], more: dict[str, Any], text: str
) -> None:
    item = begun(memory, kind, **first)
    many(memory, kind, table, **more)
    for day in ("14T11", "15T09", "20T09"):  # told with its day, with the day before, and long after
        memory.at(f"2026-11-{day}:00:00+00:00")
        assert given(memory.recall.context("/w"))[0] == item
        assert text_of(memory, item) == [text]
        memory.recall.choose_item(item, None)
        assert (item in given(memory.recall.context("/w"))) is (kind == "prompt")
        memory.recall.choose_item(item, "pin")


def test_a_pinned_answer_outlives_the_bounds_of_the_state(memory: ClockedMemory) -> None:
    begun(memory, "handoff", id="q", to="human", note="which year?")
    memory.sessions.answer("s", "q", "2025")
    item = f"{memory.sessions.get('s')['id'][:8]}:answered:q"
    memory.recall.choose_item(item, "pin")
    for n in range(BOUNDS["answered"] + 1):
        memory.say("s", "handoff", id=f"o{n}", to="human", note="?")
        memory.sessions.answer("s", f"o{n}", "yes")
    assert given(memory.recall.context("/w"))[0] == item
    (text,) = text_of(memory, item)
    assert text.startswith('question "which year?": answered "2025"')


def test_what_is_pinned_goes_when_it_is_forgotten_quarantined_or_gone_back_behind(
    memory: ClockedMemory,
) -> None:
    item = begun(memory, "decision", what="by month")
    many(memory, "decision", "decisions_made", what="other #")
    memory.maintenance.quarantine("s", seq=2)
    assert text_of(memory, item) == []
    memory.maintenance.quarantine("s", seq=2, lift=True)
    assert len(text_of(memory, item)) == 1
    memory.rewind.apply("s", 2)
    many(memory, "decision", "decisions_made", what="again #")
    assert text_of(memory, item) == []
    memory.rewind.apply("s", 100)
    many(memory, "decision", "decisions_made", what="on #")
    assert len(text_of(memory, item)) == 1
    memory.maintenance.forget("s", seqs=[2])
    assert text_of(memory, item) == []


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
def test_what_is_pinned_and_done_is_not_reported_as_open(
    memory: ClockedMemory,
    kind: str,
    table: str,
    first: dict[str, Any],
    more: dict[str, Any],
    after: tuple[str, Any],
) -> None:
    item = begun(memory, kind, **first)
    many(memory, kind, table, **more)
    assert len(text_of(memory, item)) == 1
    memory.say("s", after[0], **after[1])
    assert text_of(memory, item) == []


def test_a_later_word_on_a_pinned_fact_is_what_is_reported(memory: ClockedMemory) -> None:
    item = begun(memory, "fact", key="naming", value="date first")
    memory.say("s", "fact", key="naming", value="date last")
    many(memory, "fact", "facts", key="other #", value="#")
    assert text_of(memory, item) == ['fact "naming" = "date last" [agent]']


def test_what_a_fork_inherited_stays_pinned_in_it(memory: ClockedMemory) -> None:
    begun(memory, "decision", what="by month")
    fork = memory.rewind.fork("s", at=3)["id"]
    item = f"{fork[:8]}:decision:2"
    memory.recall.choose_item(item, "pin")
    memory.sessions.append(fork, "prompt", text="go on")
    memory.sessions.append(fork, "prompt", text="and on")
    for n in range(BOUNDS["decisions_made"] + 5):
        memory.sessions.append(fork, "decision", what=f"other {n}")
    assert text_of(memory, item) == ['decided "by month" [agent]']
    memory.maintenance.forget("s", seqs=[2])
    assert text_of(memory, item) == []


@pytest.mark.parametrize("name", ["x", "decision", "decision:" + "9" * 5000], ids=["x", "kind", "digits"])
def test_a_choice_that_names_no_item_hinders_no_context(memory: ClockedMemory, name: str) -> None:
    kept = begun(memory, "decision", what="by month")
    memory.recall.choose_item(f"{kept.partition(':')[0]}:{name}", "pin")
    assert text_of(memory, kept) == ['decided "by month" [agent]']


def test_pins_come_before_all_else_and_what_of_them_does_not_fit_is_reported(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T10:00:00+00:00")
    for n in range(12):
        memory.say("s", "decision", what=f"choice {n} " + "long " * 25)
        memory.say(f"other {n % 4}", "prompt", text="a request that wants its heading " * 6)
    of = memory.sessions.get("s")["id"][:8]
    pins = [f"{of}:decision:{seq}" for seq in range(1, 13)]
    for item in pins[:2]:
        memory.recall.choose_item(item, "pin")
    results = memory.recall.context("/w", budget=400)
    assert sorted(given(results)[:2]) == pins[:2]
    assert "pinned" not in results.text
    rows = [line for line in results.text.splitlines() if "decided" in line]
    assert [one.partition('"')[2][:8] for one in rows[:2]] == ["choice 1", "choice 0"]
    for item in pins:
        memory.recall.choose_item(item, "pin")
    results = memory.recall.context("/w", budget=400)
    left = results.data["pins_left_out"]
    assert 0 < left < 12
    assert set(given(results)) < set(pins)
    assert (
        f"Left out for space: {results.data['left_out']}, {left} of them pinned by the user" in results.text
    )
    assert results.data["tokens"] <= 400
    why = {one["id"]: one["why"] for one in results.data["items"]}
    assert why[results.included[0].id] == "you pinned it"
    assert why[results.left_out[0].id] == "you pinned it, but all pins together do not fit"
