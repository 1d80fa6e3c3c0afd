"""What recurs, with its rhythm and where it comes from."""

from __future__ import annotations

import pytest

from fazm_memory.clock import parse_time
from fazm_memory.recall.fixes import command_name
from fazm_memory.recall.habits import content_words, rhythm_of

from .conftest import ClockedMemory


def moments(*days: str) -> list[int]:
    return [parse_time(f"{day}T09:30:00+00:00") for day in days]


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (("2026-11-02", "2026-11-03", "2026-11-04"), "daily, around 09:00"),
        (("2026-10-26", "2026-11-02", "2026-11-09"), "weekly on Monday, around 09:00"),
        (("2026-11-05", "2026-11-06", "2026-11-09", "2026-11-10"), "on weekdays, around 09:00"),
        (("2026-08-01", "2026-09-01", "2026-10-01", "2026-11-01"), "monthly, around 09:00"),
        (("2026-08-01", "2026-08-03", "2026-10-01"), "no rhythm yet"),
        (("2026-08-01", "2026-08-08"), "no rhythm yet"),
    ],
)
def test_a_rhythm_is_reported_only_when_there_is_one(
    days: tuple[str, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert rhythm_of(moments(*days)).text() == expected


@pytest.mark.parametrize(
    ("tool", "target", "command"),
    [
        ("Bash", "npm test -- --watch", "npm test"),
        ("Bash", "CI=1 /usr/bin/git push origin", "git push"),
        ("exec_command", "pytest -x tests", "pytest"),
        ("WebFetch", "https://x.example", "WebFetch"),
        ("Bash", "", "Bash"),
    ],
)
def test_a_command_is_known_without_its_arguments(tool: str, target: str, command: str) -> None:
    assert command_name(tool, target) == command


@pytest.fixture
def weeks(memory: ClockedMemory) -> ClockedMemory:
    """Three Mondays of filing, and a test run that needs the service each time."""
    for week, day in enumerate(("2026-10-26", "2026-11-02", "2026-11-09")):
        key = f"w{week}"
        memory.at(f"{day}T09:10:00+00:00")
        memory.say(key, "prompt", text=f"File the invoices of week {44 + week} please")
        moved = {"path": f"/w/paid/{week}.pdf", "change": "renamed", "from": f"/w/inv-{week}.pdf"}
        memory.say(key, "action", tool="Bash", input={"command": f"mv inv-{week}.pdf paid/"}, files=[moved])
        memory.say(key, "app", app="Preview", document=f"/w/inv-{week}.pdf")
        memory.say(key, "action", tool="Bash", input={"command": "make check"}, error="connection refused")
        memory.say(key, "action", tool="Bash", input={"command": "docker compose up -d"})
        memory.say(key, "action", tool="Bash", input={"command": "make check"})
    memory.say("once", "prompt", text="Write a poem about rain")
    return memory.at("2026-11-15T09:00:00+00:00")


def test_a_task_that_comes_back_has_its_rhythm_and_its_traces(weeks: ClockedMemory) -> None:
    [task] = weeks.recall.habits().tasks
    assert task.words == "File the invoices of week 46 please"
    assert task.rhythm.text() == "weekly on Monday, around 09:00"
    assert task.folders == ("/w",)
    for session, seq in task.traces:
        [event] = list(weeks.history.events(session, start=seq, stop=seq + 1))
        assert event["kind"] == "prompt"


def test_a_command_that_fails_first_is_reported_with_what_mends_it(weeks: ClockedMemory) -> None:
    [stumble] = weeks.recall.habits().recurring_failures
    assert (stumble.command, stumble.failures, stumble.mended) == ("make check", 3, 3)
    assert stumble.error == "connection refused"
    assert stumble.by == (("Bash docker compose up -d", 3),)


def test_the_context_tells_habits_with_their_evidence(weeks: ClockedMemory) -> None:
    text = weeks.recall.context("/w").text
    habits = text.partition("\nHABITS\n")[2].partition("\nRESUME")[0].splitlines()
    last = weeks.sessions.listing()[1]["id"][:8]
    assert [line.partition(" [")[0] for line in habits if line.startswith("- ")] == [
        '- "File the invoices of week 46 please" was asked 3 times in "/w": weekly on Monday, around 09:00',
        '- "make check" failed first 3 times ("connection refused"),'
        ' "docker compose up -d" solved it 3 times',
        '- "/w/paid" was changed in 3 sessions',
    ]
    assert all(f"{last}@" in line for line in habits if line.startswith("- "))
    assert {item["why"] for item in weeks.recall.context("/w").data["items"] if item["kind"] == "habit"} == {
        "recurs across sessions"
    }


def test_a_command_without_a_usual_solution_is_no_habit_of_a_context(memory: ClockedMemory) -> None:
    for nth, between in enumerate(("make a", "make b", "make c")):
        memory.say(f"s{nth}", "action", tool="Bash", input={"command": "pytest"}, error="1 failed")
        memory.say(f"s{nth}", "action", tool="Bash", input={"command": between})
        memory.say(f"s{nth}", "action", tool="Bash", input={"command": "pytest"})
    assert memory.recall.habits().recurring_failures
    assert "HABITS" not in memory.recall.context("/w").text


def test_things_that_recur_are_nodes_and_what_was_met_once_is_none(weeks: ClockedMemory) -> None:
    found = weeks.recall.habits()
    assert {(node.kind, node.name, node.count) for node in found.nodes} >= {
        ("folder", "/w/paid", 3),
        ("app", "Preview", 3),
        ("tool", "Bash", 3),
    }
    assert not any("poem" in node.name for node in found.nodes)
    assert ("task:File the invoices of week 46 please", "goes with", "folder:/w/paid", 3) in found.edges


def test_the_export_names_events_for_every_node(weeks: ClockedMemory) -> None:
    results = weeks.recall.habits().to_json()
    assert set(results) == {"sessions", "tasks", "failing_first", "nodes", "edges"}
    for node in results["nodes"]:
        for trace in node["events"]:
            assert weeks.sessions.get(trace["session"])["events"] > trace["seq"]


def test_an_empty_memory_has_no_habits(memory: ClockedMemory) -> None:
    assert memory.recall.habits().to_json()["nodes"] == []


def test_small_words_and_numbers_do_not_make_a_task() -> None:
    assert content_words("Please do the 3 reports of week 44") == {"please", "report", "week"}


def test_a_fork_is_no_second_time(memory: ClockedMemory) -> None:
    memory.say("one", "prompt", text="File the invoices please")
    memory.say("one", "action", tool="Bash", input={"command": "make check"}, error="connection refused")
    first = memory.rewind.fork("one")["id"]
    memory.rewind.fork(first)
    found = memory.recall.habits()
    assert (found.sessions, found.tasks, found.nodes, found.recurring_failures) == (1, (), (), ())
    memory.say("two", "prompt", text="File the invoices please")
    [task] = memory.recall.habits().tasks
    assert len(task.moments) == 2
