"""Why each fact is in the context or out of it: the reason is the one by which it was ranked."""

from __future__ import annotations

from fazm_memory.recall.context import Context
from fazm_memory.recall.items import KIND_REASONS, WEIGHTS

from .conftest import ClockedMemory


def why(context: Context, words: str) -> str:
    (found,) = [one["why"] for one in context.data["items"] if words in one["text"]]
    return str(found)


def rendered(memory: ClockedMemory) -> Context:
    memory.at("2026-11-11T10:00:00+00:00").say("old", "decision", what="by shop")
    memory.at("2026-11-14T10:00:00+00:00")
    memory.say("s", "prompt", text="tidy up")
    memory.say("s", "fact", source="cli", key="currency", value="EUR")
    memory.say("s", "action", tool="Bash", input={"command": "rm x"}, error="no such file")
    memory.say("s", "pending", id="p", what="the videos")
    memory.at("2026-11-15T08:00:00+00:00").say("now", "decision", what="by month")
    memory.say("now", "action", tool="Bash", input={"command": "make"}, error="no rule")
    memory.say("now", "action", tool="Bash", input={"command": "make"}, output="done")
    return memory.at("2026-11-15T09:00:00+00:00").recall.context("/w")


def test_the_reason_is_what_it_is_and_when(memory: ClockedMemory) -> None:
    context = rendered(memory)
    assert why(context, "the videos") == "still to do, yesterday, Saturday 14 November"
    assert why(context, "rm x") == "failed and unresolved, yesterday, Saturday 14 November"
    assert why(context, "by month") == "a decision, earlier today"
    assert why(context, 'Bash "make" error') == "failed at first, then worked, earlier today"
    assert why(context, "by shop") == "a decision, on Wednesday 11 November"
    assert why(context, "currency") == "your own preference, valid everywhere"


def test_what_is_distrusted_says_so_and_stands_lower(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T10:00:00+00:00").say("s", "fact", trust="web", key="fares", value="89 EUR")
    memory.say("s", "fact", trust="agent", key="tests", value="npm test")
    context = memory.at("2026-11-15T09:00:00+00:00").recall.context("/w")
    assert why(context, "fares").endswith("; untrusted origin, so it counts half")
    assert "doubtful" not in why(context, "tests")
    ranks = {one["id"].split(":")[-1]: one["rank"] for one in context.data["items"]}
    assert ranks["tests"] < ranks["fares"]


def test_what_did_not_fit_says_why_it_would_have_been_reported(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T10:00:00+00:00")
    for n in range(30):
        memory.say("s", "decision", what=f"choice {n} " + "long " * 25)
    context = memory.at("2026-11-15T09:00:00+00:00").recall.context("/w", budget=400)
    for one in context.data["items"]:
        assert one["why"].startswith("a decision, yesterday")
        assert (
            one["why"].endswith("; left out: more important facts filled the budget") is not (one["included"])
        )


def test_ranks_follow_the_order_in_which_room_is_given(memory: ClockedMemory) -> None:
    context = rendered(memory)
    last = max(context.data["items"], key=lambda one: one["rank"])
    first = min(context.data["items"], key=lambda one: one["rank"])
    memory.recall.choose_item(last["id"], "pin")
    memory.recall.choose_item(first["id"], "exclude")
    ranks = {one["id"]: one["rank"] for one in memory.recall.context("/w").data["items"]}
    assert (ranks[last["id"]], ranks[first["id"]]) == (1, None)
    assert sorted(rank for rank in ranks.values() if rank) == list(range(1, len(ranks)))


def test_every_kind_of_item_has_its_reason() -> None:
    assert set(KIND_REASONS) - {"names"} == set(WEIGHTS)
